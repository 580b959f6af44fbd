// Tables: which models metrics would pick and the costs they imply, margins of the verdict, and the
// tables that do not follow the stakes.

// Metrics -----------------------------------------------------------------------------------------

/**
 * A function that pads what a format writes, so that numbers of several formats in one column align
 * at the decimal point; the samples have the decimals of each.
 */
function alignedFormat(...samples) {
  const fractionLength = (text) => (text.includes(".") ? text.length - text.indexOf(".") : 0);
  const widest = Math.max(...samples.map(fractionLength));
  return (format) => (value) => {
    const text = format(value);
    return /\d/.test(text) ? text + PAD.repeat(Math.max(0, widest - fractionLength(text))) : text;
  };
}

/** Cost of the cheapest candidate of each model; NaN if it has none of known cost. */
const leastCosts = () =>
  MODELS.map((_, i) => {
    const systems = result.systems.filter((system) => system.model === i && system.candidate && !Number.isNaN(system.cost));
    return systems.length ? Math.min(...systems.map((system) => system.cost)) : NaN;
  });

/** Columns of the picks: all models or, if there are many, the cheapest and then those that cost most to pick. */
function pickedColumns(costs, best, picks) {
  const all = range(costs.length);
  if (!CROWDED) return all;
  const mistakes = all.filter((i) => !best[i] && picks.some((chosen) => chosen[i]));
  return [...all.filter((i) => best[i]), ...mistakes.sort((a, b) => costs[b] - costs[a] || 0)].slice(0, CHARTED_MODELS);
}

/**
 * Picks of the metrics, the dearest mistakes first. Their values stay; what following them costs
 * depends on the stakes.
 */
function showDisagreement() {
  const { metrics, models, values, picks, more, clear } = DATA.disagreement;
  const anyCompared = clear.some((known) => known !== null);
  const inferenceHead = anyCompared ? [percent(DATA.level), "clearly"] : [];
  const costs = leastCosts();
  const least = Math.min(...costs.filter((cost) => !Number.isNaN(cost)));
  const best = costs.map((cost) => cost <= least + TIE * largest(costs));
  const columns = pickedColumns(costs, best, picks);
  const aligned = alignedFormat(costText(least), metricText(0));
  saved.disagreement = [["metric", ...models, "picks", "costs more per case"]];
  const row = (name, scores, chosen, look, format, index = null) => {
    const excess = costs.map((cost, i) => (best[i] ? 0 : cost - least)).filter((_, i) => chosen[i]);
    const regret = excess.length ? Math.max(...excess) : NaN;
    const chosenModels = models.filter((_, i) => chosen[i]);
    saved.disagreement.push([name, ...scores, chosenModels.join("; "), regret]);
    const cells = columns.map((i) =>
      Number.isNaN(scores[i]) ? "–" : numberCell(scores[i], chosen[i] ? "picked" : null, format(scores[i])),
    );
    const worse = regret > 0 && (result.changed || clear[index] !== false);
    const costsMore = numberCell(regret, worse ? "worse" : "fine", costText(regret));
    const isCompared = index !== null && clear[index] !== null;
    const reported = isCompared ? [intervalText(numbers(more[index])), yesOrNo(clear[index])] : ["", ""];
    const inferenceCells = result.changed && index !== null ? [UNKNOWN_CELL, UNKNOWN_CELL] : reported;
    return { look, regret, cells: [name, textCell(chosenModels.join(", ")), costsMore, ...(anyCompared ? inferenceCells : []), ...cells] };
  };
  const first = row("expected cost", costs, best, "best", aligned(costText));
  const others = metrics.map((name, index) => row(name, numbers(values[index]), picks[index], null, aligned((value) => metricText(value)), index));
  const rows = [first, ...others.sort((a, b) => b.regret - a.regret || 0)];
  const { namesModel, unaided } = result;
  const less = tied(`Picks among the models: ${unaided.name}, which needs none, costs ${costInSentence(least - unaided.cost)} less per case than the best of them.`);
  byId("disagreement").replaceChildren(
    tableOf(["metric", textCell("picks"), "costs more", ...inferenceHead, ...columns.map((i) => models[i])], rows),
    ...(!namesModel && unaided.cost < least && least < Infinity ? [html("p", { class: "hint foot" }, less)] : []),
  );
}

/** The cost ratio of a miss to a false alarm at which the best threshold of a metric is optimal. */
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
  byId("implied").replaceChildren(tableOf(["the threshold that is best for", ...head], rows));
}

/** A cell with the range of cost ratios for which the best threshold of a metric is optimal. */
function impliedCell(metric, model, table) {
  const cut = metricCut(table, metric);
  const proportions = cut < 0 ? null : proportionsOfCut(table, model.hull, cut);
  const ratios = proportions ? [(1 - proportions[1]) / proportions[1], (1 - proportions[0]) / proportions[0]] : [NaN, NaN];
  const threshold = cut < 0 ? NaN : thresholdOfCut(table, cut);
  saved.implied.push([metric, model.name, threshold, ...ratios]);
  const lines = [
    ["best threshold", exact(threshold)],
    ["lowest ratio", exact(ratios[0])],
    ["highest ratio", exact(ratios[1])],
  ];
  const text = proportions ? `${short(ratios[0], 3)} to ${short(ratios[1], 3)}` : "none";
  return { text, title: `${metric} of ${model.name}`, lines };
}

// Where another becomes as cheap ------------------------------------------------------------------

/** Margins at the current stakes, the nearest first. */
function marginsNow() {
  const { rivals } = result;
  const defined = rivals.every((rival) => Number.isFinite(rival.cost));
  const allMargins = defined ? margins(rivals, FACTORS ? null : result.costs, result.prior, mayGain()) : [];
  return allMargins.sort(byNearness);
}

const MOST_MARGINS = 12; // that the table shows
const MARGINS_HEAD = ["", "now", "as cheap below", "which", "as cheap above", "which"];
const movedName = ({ k, d }) => (d === null ? priorName(k) : costName(k, d));
const marginName = (margin) => `${FACTORS && margin.d !== null ? "factor on the " : ""}${movedName(margin)}`;

/** Rows of the download: every margin. */
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

/** Show the nearest margins, if the page has no flips. */
function showMargins() {
  saved.margins = marginsToSave;
  if (FLIPPED) return; // the page shows flips instead
  const { rivals } = result;
  const allMargins = marginsNow();
  const format = (point, { d, value }) => (d === null ? probabilityText(point) : flipText(point, value));
  const cellsOf = (point, i, margin) =>
    i === null
      ? [Number.isNaN(point) ? UNKNOWN_CELL : { text: "never", look: "fine" }, ""]
      : [numberCell(point, null, format(point, margin), exactTextOf(margin)), textCell(nameWithSwatch(rivals[i].name, rivals[i].look))];
  const rows = allMargins.slice(0, MOST_MARGINS).map((margin) => ({
    cells: [
      marginName(margin),
      numberCell(margin.value, "strong", margin.d === null ? probabilityText(margin.value) : short(margin.value), exactTextOf(margin)),
      ...cellsOf(margin.low, margin.lowRival, margin),
      ...cellsOf(margin.high, margin.highRival, margin),
    ],
  }));
  byId("margins-section").hidden = !rows.length;
  byId("margins").replaceChildren(
    tableOf(
      MARGINS_HEAD.map((text) => (text === "which" ? textCell(text) : text)),
      rows,
    ),
  );
  const { best, unaided, namesModel, changed } = result;
  const cheaperInSampleOnly = !changed && !namesModel && best.cost < unaided.cost;
  byId("margins-note").textContent = [
    allMargins.length > MOST_MARGINS ? `The nearest ${MOST_MARGINS} of ${allMargins.length}; the CSV has all.` : "",
    cheaperInSampleOnly ? `By the costs on these cases, where ${best.name} is the cheapest.` : "",
  ].join(" ");
  showNearestMargin(allMargins[0], format);
}

/** That nothing changes the verdict, or that it is not known because a class has no cases. */
const noChange = (when, searched = "") =>
  ABSENT.length
    ? `none is known, ${when}: there is no case of ${absentNames()}.`
    : `none, ${when}: no number that is moved alone changes this${searched}.`;

/** The sentence of the verdict about the nearest change. */
const showNearestChange = (sentence) => {
  const text = [html("b", {}, "Nearest change: "), tied(sentence)];
  // other stakes may add a factor, or that none is near
  showWithRoom(byId("nearest-flip"), text, [...text, " none near, 00000 times today’s 0000"]);
};

/** The nearest margin as a sentence in the verdict, where the page cannot search for flips. */
function showNearestMargin(margin, format) {
  const sides = margin
    ? [[margin.low, margin.lowRival], [margin.high, margin.highRival]].filter(([, rival]) => rival !== null)
    : [];
  const [point, rival] = sides.sort(([a], [b]) => Math.abs(a - margin.value) - Math.abs(b - margin.value))[0] ?? [];
  const [now, then] = margin ? [margin.value, point].map((value) => format(value, margin)) : [];
  const moves = point > margin?.value ? "rises above" : "falls below";
  const sentence =
    rival === undefined
      ? noChange("if today’s decisions stay")
      : `if today’s decisions stay, ${result.rivals[rival].name} costs as little once the ${movedName(margin)} ${moves} ${then} ${FACTORS && margin.d !== null ? "times today’s" : `(now ${now})`}.`;
  showNearestChange(sentence);
}

// What does not follow the stakes -----------------------------------------------------------------

/** Columns of the table of quality: values by model and their format; empty ones are left out. */
function qualities() {
  const losses = [...new Set(MODELS.flatMap((model) => model.losses.map(([name]) => name)))];
  const lossOf = (name) => (model) => new Map(model.losses).get(name) ?? null;
  const tops = losses.map((name) => largest(MODELS.map((model) => number(lossOf(name)(model)) ?? NaN)));
  const size = Math.min(...tops.filter((top) => top > 0));
  const areas = MODELS.map((model) => (model.auc ? numbers(model.auc) : [NaN, NaN, NaN]));
  const areaTexts = measuredColumn(areas);
  const area = (position) => (value, i) => (Number.isNaN(value) ? "–" : areaTexts[i][position]);
  const metric = (value) => metricText(value);
  const wasted = (value) => (value === null ? "–" : value > 0 ? costText(value) : "none");
  const columns = [
    ["AUC", (model) => model.auc && model.auc[0], area(0)],
    ["low", (model) => model.auc && model.auc[1], area(1)],
    ["high", (model) => model.auc && model.auc[2], area(2)],
    ["H", (model) => model.h, metric],
    ["norm. log loss", (model) => model.log_loss, metric],
    ["norm. Brier", (model) => model.brier, metric],
    ["cost of miscalibration", (model) => model.wasted, wasted],
    ...losses.map((name) => [name, lossOf(name), (value) => metricText(value, size)]),
  ];
  const withValues = columns.map(([name, valueOf, format]) => ({
    name,
    loss: losses.includes(name),
    values: MODELS.map((model) => number(valueOf(model))),
    format,
  }));
  return withValues.filter(({ values }) => values.some((value) => value !== null));
}

/** Build the tables of the quality of the scores. */
function buildQuality() {
  const allColumns = qualities();
  const order = CROWDED ? modelsByCost() : range(MODELS.length); // a long table begins with the cheapest
  const cell = ({ values, format }, i) =>
    values[i] === null ? "–" : numberCell(values[i], null, format(values[i], i));
  const table = (title, columns) =>
    tableOf(
      [title, ...columns.map(({ name }) => name)],
      order
        .filter((i) => columns.some(({ values }) => values[i] !== null))
        .map((i) => ({
          cells: [
            nameWithSwatch(MODELS[i].name, MODELS[i].look),
            ...columns.map((column) => cell(column, i)),
          ],
        })),
    );
  const losses = allColumns.filter(({ loss }) => loss);
  byId("quality").replaceChildren(
    table(
      "model",
      allColumns.filter(({ loss }) => !loss),
    ),
  );
  if (losses.length) byId("losses").replaceChildren(table("expected loss over all costs", losses));
  saved.quality = [
    ["model", ...allColumns.map(({ name }) => name)],
    ...MODELS.map((model, i) => [model.name, ...allColumns.map(({ values }) => values[i])]),
  ];
}

/** Build the table of costs in each slice. */
function buildSlices() {
  const [names, best] = [DATA.slice_systems, DATA.cheapest];
  const costs = DATA.slices.map((slice) => numbers(slice.costs[best]));
  const cheapestCosts = DATA.slices.map((slice) =>
    slice.cheapest === null ? [NaN, NaN, NaN] : numbers(slice.costs[slice.cheapest]),
  );
  const texts = measuredColumn([...costs, ...cheapestCosts]);
  const top = Math.max(...costs.flat().filter(Number.isFinite), 1e-300);
  const costCell = (value, [text], look = null) =>
    Number.isNaN(value) ? "–" : numberCell(value, look, text);
  const rows = DATA.slices.map((slice, i) => {
    const [value, low, high] = costs[i];
    const bar = drawBar({ value, low, high, top, look: "plain" });
    const cheapest = textCell(slice.cheapest === null ? "–" : names[slice.cheapest]);
    return {
      look: slice.note ? "barred" : null,
      cells: [
        slice.group,
        numberCell(slice.cases),
        bar,
        costCell(value, texts[i], "strong"),
        boundsText(costs[i], texts[i]),
        cheapest,
        costCell(cheapestCosts[i][0], texts[costs.length + i]),
        yesOrNo(slice.clear),
        textCell(slice.note || ""),
      ],
    };
  });
  const head = ["", "cases", "", "cost", percent(DATA.level), textCell("cheapest here"), "at", "clearly", ""];
  byId("slices").replaceChildren(tableOf(head, rows));
  saved.slices = [
    ["group", "cases", "system", "cost per case", "low", "high", "note"],
    ...DATA.slices.flatMap((slice) =>
      slice.costs.map((cost, i) => [slice.group, slice.cases, names[i], ...numbers(cost), slice.note]),
    ),
  ];
}
