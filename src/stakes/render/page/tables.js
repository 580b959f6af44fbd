// Tables: what metrics would have picked and imply, what flips the verdict, and what does not move.

// Metrics -----------------------------------------------------------------------------------------

/** What the metrics say stays; what following them costs moves with the stakes. */
function showDisagreement() {
  const { metrics, models, values, picks } = DATA.disagreement;
  const own = (i) =>
    result.systems.filter((one) => one.model === i && one.candidate && !Number.isNaN(one.cost));
  const costs = MODELS.map((_, i) =>
    own(i).length ? Math.min(...own(i).map((one) => one.cost)) : NaN,
  );
  const least = Math.min(...costs.filter((cost) => !Number.isNaN(cost)));
  const best = costs.map(
    (cost) => cost <= least + TIE * Math.max(...costs.map((c) => Math.abs(c) || 0)),
  );
  saved.disagreement = [["metric", ...models, "picks", "costs more per case"]];
  const row = (name, said, chosen, look) => {
    const excess = costs.map((cost, i) => (best[i] ? 0 : cost - least)).filter((_, i) => chosen[i]);
    const regret = excess.length ? Math.max(...excess) : NaN;
    const chosenModels = models.filter((_, i) => chosen[i]);
    saved.disagreement.push([name, ...said, chosenModels.join("; "), regret]);
    const cells = said.map((value, i) =>
      figure(Number.isNaN(value) ? null : value, chosen[i] ? "picked" : null),
    );
    const last = figure(regret, regret > 0 ? "worse" : "fine");
    return { look, cells: [name, ...cells, words(chosenModels.join(", ")), last] };
  };
  const rows = [
    row("expected cost", costs, best, "best"),
    ...metrics.map((name, q) => row(name, numbers(values[q]), picks[q], null)),
  ];
  place("disagreement").replaceChildren(
    tableOf(["", ...models, words("picks"), "costs more"], rows),
  );
}

/** What a miss would have to cost, in false alarms, for a metric's threshold to be right. */
function showImplied() {
  const models = MODELS.filter((model) => model.hull && Math.min(...result.prior) > 0);
  const tables = models.map((model) => withPrior(model.table, result.prior));
  saved.implied = [["metric", "model", "threshold", "lowest cost ratio", "highest cost ratio"]];
  const rows = Object.keys(METRICS).map((metric) => ({
    cells: [metric, ...models.map((model, i) => impliedCell(metric, model, tables[i]))],
  }));
  const [alarm, miss] = BINARY ? excessCosts(result.costs) : [NaN, NaN];
  if (BINARY)
    rows.push({ look: "best", cells: ["your costs", ...models.map(() => figure(miss / alarm))] });
  const head = models.map((model) => swatched(model.name, model.look));
  place("implied").replaceChildren(tableOf(["the threshold that is best for", ...head], rows));
}

function impliedCell(metric, model, table) {
  const cut = metricCut(table, metric);
  const found = cut < 0 ? null : proportionsOfCut(table, model.hull, cut);
  const ratios = found ? [(1 - found[1]) / found[1], (1 - found[0]) / found[0]] : [NaN, NaN];
  const threshold = cut < 0 ? NaN : thresholdOfCut(table, cut);
  saved.implied.push([metric, model.name, threshold, ...ratios]);
  const lines = [
    ["best threshold", exact(threshold)],
    ["lowest ratio", exact(ratios[0])],
    ["highest ratio", exact(ratios[1])],
  ];
  const text = found ? `${short(ratios[0], 3)} to ${short(ratios[1], 3)}` : "none";
  return { text, title: `${metric} of ${model.name}`, lines };
}

// What would flip the verdict ---------------------------------------------------------------------

function showMargins() {
  const { rivals } = result;
  const defined = rivals.every((one) => Number.isFinite(one.cost));
  const found = defined ? margins(rivals, result.costs, result.prior) : [];
  const name = ({ k, d }) => (d === null ? priorName(k) : costName(k, d));
  const rival = (i) => (i === null ? "" : rivals[i].name);
  const end = (point, i) =>
    i === null
      ? [{ text: "never", look: "fine" }, ""]
      : [figure(point), { text: swatched(rivals[i].name, rivals[i].look), look: "words" }];
  found.sort((a, b) => a.near - b.near || 0);
  const rows = found.slice(0, 12).map((one) => ({
    cells: [
      name(one),
      figure(one.value, "strong"),
      ...end(one.low, one.lowRival),
      ...end(one.high, one.highRival),
    ],
  }));
  const head = ["", "now", "flips below", "to", "flips above", "to"];
  place("margins").replaceChildren(
    tableOf(
      head.map((text) => (text === "to" ? words(text) : text)),
      rows,
    ),
  );
  place("margins-note").textContent =
    found.length > 12 ? `The nearest twelve of ${found.length}; the CSV has all.` : "";
  saved.margins = [
    head,
    ...found.map((one) => [
      name(one),
      one.value,
      one.low,
      rival(one.lowRival),
      one.high,
      rival(one.highRival),
    ]),
  ];
}

// What does not move ------------------------------------------------------------------------------

/** What each model has of a number, where any has it. */
function qualities() {
  const losses = new Set(MODELS.flatMap((one) => one.losses.map(([name]) => name)));
  const all = [
    ["AUC", (one) => one.auc && one.auc[0]],
    ["low", (one) => one.auc && one.auc[1]],
    ["high", (one) => one.auc && one.auc[2]],
    ["H", (one) => one.h],
    ["norm. log loss", (one) => one.log_loss],
    ["norm. Brier", (one) => one.brier],
    ["cost of miscalibration", (one) => one.wasted],
    ...[...losses].map((name) => [name, (one) => new Map(one.losses).get(name) ?? null]),
  ];
  const read = all.map(([name, of]) => ({
    name,
    loss: losses.has(name),
    values: MODELS.map((one) => number(of(one))),
  }));
  return read.filter(({ values }) => values.some((value) => value !== null));
}

function buildQuality() {
  const found = qualities();
  const table = (title, columns) =>
    tableOf(
      [title, ...columns.map(({ name }) => name)],
      MODELS.map((one, i) => ({
        cells: [swatched(one.name, one.look), ...columns.map(({ values }) => figure(values[i]))],
      })),
    );
  const losses = found.filter(({ loss }) => loss);
  place("quality").replaceChildren(
    table(
      "model",
      found.filter(({ loss }) => !loss),
    ),
  );
  if (losses.length) place("losses").replaceChildren(table("expected loss over all costs", losses));
  const advised = MODELS.filter((one) => one.advice);
  place("advice").replaceChildren(
    ...advised.map((one) => html("p", {}, html("b", {}, one.name), `: ${one.advice}.`)),
  );
  saved.quality = [
    ["model", ...found.map(({ name }) => name)],
    ...MODELS.map((one, i) => [one.name, ...found.map(({ values }) => values[i])]),
  ];
}

function buildSlices() {
  const [names, best] = [DATA.slice_systems, DATA.cheapest];
  const own = DATA.slices.map((one) => numbers(one.costs[best]));
  const top = Math.max(...own.flat().filter(Number.isFinite), 1e-300);
  const rows = DATA.slices.map((one, i) => {
    const [value, low, high] = own[i];
    const here = one.cheapest === null ? null : number(one.costs[one.cheapest][0]);
    const bar = drawBar({ value, low, high, top, look: "plain" });
    const cheapest = words(one.cheapest === null ? "–" : names[one.cheapest]);
    return {
      look: one.note ? "barred" : null,
      cells: [
        one.group,
        figure(one.cases),
        bar,
        figure(value, "strong"),
        ends(own[i]),
        cheapest,
        figure(here),
        words(one.note || ""),
      ],
    };
  });
  const head = [
    "",
    "cases",
    "",
    names[best],
    percent(DATA.level),
    words("cheapest here"),
    "at",
    "",
  ];
  place("slices").replaceChildren(tableOf(head, rows));
  saved.slices = [
    ["group", "cases", "system", "cost per case", "low", "high", "note"],
    ...DATA.slices.flatMap((one) =>
      one.costs.map((cost, i) => [one.group, one.cases, names[i], ...numbers(cost), one.note]),
    ),
  ];
}
