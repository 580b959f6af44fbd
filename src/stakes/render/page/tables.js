// Tables: what metrics would have picked and imply, what flips the verdict, and what does not move.

// Metrics -----------------------------------------------------------------------------------------

/** What the metrics say stays; what following them costs moves with the stakes. */
function showDisagreement() {
  const { metrics, models, values, picks, more, clear } = DATA.disagreement;
  const sureness = [percent(DATA.level), "clearly"];
  const unknown = { text: "–", look: "unknown" };
  const yes = { true: "yes", false: "no" };
  const own = (i) =>
    result.systems.filter((one) => one.model === i && one.candidate && !Number.isNaN(one.cost));
  const costs = MODELS.map((_, i) =>
    own(i).length ? Math.min(...own(i).map((one) => one.cost)) : NaN,
  );
  const least = Math.min(...costs.filter((cost) => !Number.isNaN(cost)));
  const best = costs.map(
    (cost) => cost <= least + TIE * Math.max(...costs.map((c) => Math.abs(c) || 0)),
  );
  const room = (text) => (text.includes(".") ? text.length - text.indexOf(".") : 0);
  const widest = Math.max(room(costText(least)), room(metricText(0)));
  const inLine = (write) => (value) => {
    const text = write(value);
    return /\d/.test(text) ? text + PAD.repeat(Math.max(0, widest - room(text))) : text;
  };
  saved.disagreement = [["metric", ...models, "picks", "costs more per case"]];
  const row = (name, said, chosen, look, write, q = null) => {
    const excess = costs.map((cost, i) => (best[i] ? 0 : cost - least)).filter((_, i) => chosen[i]);
    const regret = excess.length ? Math.max(...excess) : NaN;
    const chosenModels = models.filter((_, i) => chosen[i]);
    saved.disagreement.push([name, ...said, chosenModels.join("; "), regret]);
    const written = said.map((value, i) =>
      Number.isNaN(value) ? "–" : numberCell(value, chosen[i] ? "picked" : null, write(value)),
    );
    const cells = written.filter((_, i) => inTables(i));
    const worse = regret > 0 && (result.changed || clear[q] !== false);
    const last = numberCell(regret, worse ? "worse" : "fine", costText(regret));
    const known = q === null || clear[q] === null ? ["", ""] : [intervalText(numbers(more[q])), yes[clear[q]]];
    const sure = result.changed && q !== null ? [unknown, unknown] : known;
    return { look, cells: [name, textCell(chosenModels.join(", ")), last, ...sure, ...cells] };
  };
  const rows = [
    row("expected cost", costs, best, "best", inLine(costText)),
    ...metrics.map((name, q) => row(name, numbers(values[q]), picks[q], null, inLine((value) => metricText(value)), q)),
  ];
  place("disagreement").replaceChildren(
    tableOf(["metric", textCell("picks"), "costs more", ...sureness, ...models.filter((_, i) => inTables(i))], rows),
  );
}

/** What a miss would have to cost, in false alarms, for a metric's threshold to be right. */
function showImplied() {
  const models = MODELS.filter((model, i) => model.hull && inTables(i) && Math.min(...result.prior) > 0);
  const tables = models.map((model) => withPrior(model.table, result.prior));
  saved.implied = [["metric", "model", "threshold", "lowest cost ratio", "highest cost ratio"]];
  const rows = Object.keys(METRICS).map((metric) => ({
    cells: [metric, ...models.map((model, i) => impliedCell(metric, model, tables[i]))],
  }));
  const [alarm, miss] = BINARY ? excessCosts(result.costs) : [NaN, NaN];
  if (BINARY)
    rows.push({ look: "best", cells: ["your costs", ...models.map(() => numberCell(miss / alarm))] });
  const head = models.map((model) => nameWithSwatch(model.name, model.look));
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

// Where another becomes as cheap ------------------------------------------------------------------

function marginsNow() {
  const { rivals } = result;
  const defined = rivals.every((one) => Number.isFinite(one.cost));
  const found = defined ? margins(rivals, FACTORS ? null : result.costs, result.prior) : [];
  return found.sort((a, b) => a.near - b.near || 0);
}

const MARGINS_HEAD = ["", "now", "as cheap below", "which", "as cheap above", "which"];
const marginName = ({ k, d }) => (d === null ? priorName(k) : `${FACTORS ? "factor on the " : ""}${costName(k, d)}`);

function marginsToSave() {
  const rival = (i) => (i === null ? "" : result.rivals[i].name);
  return [
    MARGINS_HEAD,
    ...marginsNow().map((margin) => [
      ...[marginName(margin), margin.value],
      ...[margin.low, rival(margin.lowRival), margin.high, rival(margin.highRival)],
    ]),
  ];
}

function showMargins() {
  saved.margins = marginsToSave;
  if (FLIPPED) return; // flips take their place
  const { rivals } = result;
  const found = marginsNow();
  const say = (point, { d, value }) => (d === null ? probabilityText(point) : flipText(point, value));
  const end = (point, i, one) =>
    i === null
      ? [{ text: "never", look: "fine" }, ""]
      : [numberCell(point, null, say(point, one), exactTextOf(one)), { text: nameWithSwatch(rivals[i].name, rivals[i].look), look: "words" }];
  const rows = found.slice(0, 12).map((one) => ({
    cells: [
      marginName(one),
      numberCell(one.value, "strong", one.d === null ? probabilityText(one.value) : short(one.value), exactTextOf(one)),
      ...end(one.low, one.lowRival, one),
      ...end(one.high, one.highRival, one),
    ],
  }));
  place("margins-section").hidden = !rows.length;
  place("margins").replaceChildren(
    tableOf(
      MARGINS_HEAD.map((text) => (text === "which" ? textCell(text) : text)),
      rows,
    ),
  );
  const { best, unaided, looking, changed } = result;
  const lucky = !changed && !looking && best.cost < unaided.cost;
  place("margins-note").textContent = [
    found.length > 12 ? `The nearest twelve of ${found.length}; the CSV has all.` : "",
    lucky ? `By the costs on these cases, where ${best.name} is the cheapest.` : "",
  ].join(" ");
  showNearestMargin(found[0], marginName, say);
}

/** The nearest of them in a sentence, in the verdict, where decisions cannot be made anew. */
function showNearestMargin(one, name, say) {
  const sides = one
    ? [[one.low, one.lowRival], [one.high, one.highRival]].filter(([, rival]) => rival !== null)
    : [];
  const [point, rival] = sides.sort(([a], [b]) => Math.abs(a - one.value) - Math.abs(b - one.value))[0] ?? [];
  const [now, then] = one ? [one.value, point].map((value) => say(value, one)) : [];
  const said =
    rival === undefined
      ? "none, if today’s decisions stay: no number that is moved alone changes this."
      : `if today’s decisions stay, ${result.rivals[rival].name} costs as little when the ${name(one)} ${point > one.value ? "rises" : "falls"} to ${then} (now ${now}).`;
  place("nearest-flip").replaceChildren(html("b", {}, "Nearest change: "), tied(said));
}

// What does not move ------------------------------------------------------------------------------

/** What each model has of a number, where any has it, with the text that is shown. */
function qualities() {
  const losses = [...new Set(MODELS.flatMap((one) => one.losses.map(([name]) => name)))];
  const lossOf = (name) => (one) => new Map(one.losses).get(name) ?? null;
  const tops = losses.map((name) => largest(MODELS.map((one) => number(lossOf(name)(one)) ?? NaN)));
  const size = Math.min(...tops.filter((top) => top > 0));
  const areas = MODELS.map((one) => (one.auc ? numbers(one.auc) : [NaN, NaN, NaN]));
  const written = measuredColumn(areas);
  const area = (place) => (value, i) => (Number.isNaN(value) ? "–" : written[i][place]);
  const metric = (value) => metricText(value);
  const wasted = (value) => (value === null ? "–" : value > 0 ? costText(value) : "none");
  const all = [
    ["AUC", (one) => one.auc && one.auc[0], area(0)],
    ["low", (one) => one.auc && one.auc[1], area(1)],
    ["high", (one) => one.auc && one.auc[2], area(2)],
    ["H", (one) => one.h, metric],
    ["norm. log loss", (one) => one.log_loss, metric],
    ["norm. Brier", (one) => one.brier, metric],
    ["cost of miscalibration", (one) => one.wasted, wasted],
    ...losses.map((name) => [name, lossOf(name), (value) => metricText(value, size)]),
  ];
  const read = all.map(([name, of, write]) => ({
    name,
    loss: losses.includes(name),
    values: MODELS.map((one) => number(of(one))),
    write,
  }));
  return read.filter(({ values }) => values.some((value) => value !== null));
}

function buildQuality() {
  const found = qualities();
  const cell = ({ values, write }, i) =>
    values[i] === null ? "–" : numberCell(values[i], null, write(values[i], i));
  const table = (title, columns) =>
    tableOf(
      [title, ...columns.map(({ name }) => name)],
      range(MODELS.length)
        .filter((i) => columns.some(({ values }) => values[i] !== null))
        .map((i) => ({
          cells: [
            nameWithSwatch(MODELS[i].name, MODELS[i].look),
            ...columns.map((column) => cell(column, i)),
          ],
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
  const there = DATA.slices.map((one) =>
    one.cheapest === null ? [NaN, NaN, NaN] : numbers(one.costs[one.cheapest]),
  );
  const written = measuredColumn([...own, ...there]);
  const top = Math.max(...own.flat().filter(Number.isFinite), 1e-300);
  const told = (value, [text], look = null) =>
    Number.isNaN(value) ? "–" : numberCell(value, look, text);
  const rows = DATA.slices.map((one, i) => {
    const [value, low, high] = own[i];
    const bar = drawBar({ value, low, high, top, look: "plain" });
    const cheapest = textCell(one.cheapest === null ? "–" : names[one.cheapest]);
    return {
      look: one.note ? "barred" : null,
      cells: [
        one.group,
        numberCell(one.cases),
        bar,
        told(value, written[i], "strong"),
        boundsText(own[i], written[i]),
        cheapest,
        told(there[i][0], written[own.length + i]),
        { true: "yes", false: "no" }[one.clear] ?? "",
        textCell(one.note || ""),
      ],
    };
  });
  const head = [
    "",
    "cases",
    "",
    "cost",
    percent(DATA.level),
    textCell("cheapest here"),
    "at",
    "clearly",
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
