// Curves: costs, losses and rates from the score tables, over all costs, thresholds and priors.

const hidden = new Set(); // models that the charts leave out
const COST_AXIS = inUnit("cost per case");
const GRID = range(241).map((i) => i / 240);

// models with curves that are shown, and those among them whose scores are probabilities
const visible = () => MODELS.filter((model, i) => model.hull && !hidden.has(i));
const PROBABLE = MODELS.some((model) => model.hull && model.kind === "posteriors");
const probable = () => visible().filter((model) => model.kind === "posteriors");
/** With many models, tables have columns only for those in the charts; downloads have all. */
const inTables = (i) => !CROWDED || !hidden.has(i);
/** A mark at the current value of an axis of shares, unless it lies outside. */
const condition = (x, label, format = probabilityText) => (x >= 0 && x <= 1 ? [{ x, label: tied(`${label} ${format(x)}`) }] : []);
/** The cost proportion of the current stakes; NaN where they have none. */
const proportion = () => (BINARY && !TERMS ? bayesThreshold(result.costs) : NaN);

const isWhole = ({ table }) => !table || table.weights.every((row) => row.every(Number.isInteger));
/** Why the page has no intervals for rates; null if every case counts as one. */
const RATES_UNKNOWN = DATA.clustered
  ? "cases come in clusters"
  : !DATA.weighted && MODELS.every(isWhole)
    ? null
    : "cases have weights";

/** The model whose interval is drawn: that of the cheapest system, or the first one shown. */
function bandedModel(models, known = BANDED) {
  const best = MODELS[result.best.model];
  return known ? models.find((model) => model.index === best.index) ?? models[0] : null;
}

/** Whether a system decides by recalibrated probabilities. */
const isRecalibrated = ({ rule, posterior }) => posterior && rule.includes("recalibrated");

/**
 * Before these models the cheapest system, if it decides by recalibrated probabilities that the page
 * has: as a model with its scores.
 */
function withWinner(models) {
  const { best } = result;
  const model = MODELS[best.model];
  const { recalibrated } = model;
  if (!isRecalibrated(best) || !recalibrated || !models.includes(model) || Math.min(...recalibrated.totals) <= 0) return models;
  recalibrated.hull ??= hullCuts(recalibrated);
  return [{ ...model, name: best.name, look: `${model.look} winner`, table: recalibrated, hull: recalibrated.hull, isWinner: true }, ...models];
}

/** What the thick line of a chart is. */
function winnerText(models) {
  const winner = models.find(({ isWinner }) => isWinner);
  return winner ? ` Thick: ${bestInWords()}, ${winner.name}.` : "";
}

/** What the band of a chart is, or why there is none. */
function bandText(name, extra = "") {
  if (!BANDED) return ` No band: ${whyUnsure()}.`;
  const others = visible().length > 1 && !onPaper ? "; the tooltip has those of the other lines" : "";
  return name ? tied(` Band: ${percent(DATA.level)} interval of ${name} at each point${extra}${others}.`) : "";
}

/** A line for the chart from a function of x, with its interval at x if that is known. */
const curve = (model, top, at, bounds, banded) => ({
  ...(BANDED ? { bounds, banded: model === banded } : {}),
  name: model.name,
  label: model.name,
  look: model.look,
  at,
  points: GRID.map((x) => [x * top, at(x * top)]),
});

/** The line of the best constant decision, from its cost as a function of x. */
const constantLine = (cost, top) => ({
  name: "best constant decision",
  look: "plain",
  at: cost,
  points: GRID.map((x) => [x * top, cost(x * top)]),
});
const NARROWEST_SHADE = 4; // pixels: less cannot be seen

/** Where a constant decision costs no more than any line, as far as that is wide enough to be seen in a chart. */
function shadedParts(host, naive, lines, top) {
  const width = widthOfHost(host) - MARGIN.left - MARGIN.right;
  return constantIsCheapest(naive, lines).filter(([low, high]) => ((high - low) / top) * width >= NARROWEST_SHADE);
}

const shadedText = (shaded) => (shaded.length ? " Shaded: a constant decision costs no more." : "");

/** Show all curves that the tallies of this report allow. */
function showCurves() {
  byId("chips").replaceChildren(...modelChips(showCurves, (model) => model.hull));
  if (!TERMS) (BINARY ? showCostCurves : showPriorCurves)();
  else if (STAKED) showThresholds();
  showRoc();
  if (!PROBABLE) return;
  showNetBenefit();
  showReliability();
}

/** A button for each model, which shows or hides it; with many models, a list to add from. */
function modelChips(show, hasCurve) {
  const chips = MODELS.map((model, i) => {
    const chip = html(
      "button",
      { type: "button", class: "chip", "aria-pressed": String(!hidden.has(i)), title: model.name },
      html("i", { class: `swatch ${model.look}` }),
      shortened(model.name, 48),
    );
    chip.addEventListener("click", () => {
      const host = chip.parentNode;
      if (!hidden.delete(i)) hidden.add(i);
      show();
      [...host.children].find((other) => other.title === chip.title)?.focus();
    });
    return chip;
  });
  return CROWDED ? fewChips(chips, show, hasCurve) : chips;
}

/** With many models: a button for each that is shown, and a list to add from. */
function fewChips(chips, show, hasCurve) {
  const others = range(MODELS.length).filter((i) => hidden.has(i) && hasCurve(MODELS[i]));
  const list = html(
    "select",
    { "aria-label": "show another model" },
    html("option", { value: "" }, "show another …"),
    others.map((i) => html("option", { value: i }, MODELS[i].name)),
  );
  list.addEventListener("change", () => {
    const host = list.parentNode;
    hidden.delete(Number(list.value));
    show();
    host.querySelector("select").focus();
  });
  return [...chips.filter((_, i) => !hidden.has(i)), list];
}

/** Cost per case if all cases share one threshold although their costs differ. */
function showThresholds() {
  const { naive, noModel } = result;
  const level = (name, cost) => ({ name, label: name, look: "plain", at: () => cost, points: [[0, cost], [1, cost]] });
  const shown = probable().filter((model) => model.stakes);
  const series = shown.map((model) => thresholdCurve(model));
  const heights = [naive.cost, ...series.flatMap(({ points }) => points.map((point) => point[1]))];
  const [low, high] = [Math.min(0, ...heights), largest(heights) || 1];
  drawChart(byId("cost-curve"), {
    title: "Cost per case over the threshold",
    x: shareAxis(`threshold on the probability of ${classes[1]}`, [0, 1]),
    y: { label: COST_AXIS, domain: [low, Math.min(1.05 * high, 2 * Math.abs(naive.cost) || high)] },
    series: [
      level(`always ${decisions[naive.decision]}`, naive.cost),
      ...(noModel ? [level(noModel.name, noModel.cost)] : []),
      ...series,
    ],
    marks: [],
    dots: [],
  });
}

/** The cost as a step function of the threshold: it changes where the threshold passes a score. */
function thresholdCurve(model) {
  const { thresholds, sums } = model.stakes;
  const costs = thresholdCosts(sums, state.costs, result.prior).map((cost) => cost + model.running);
  const at = (x) => costs[Math.max(0, cutAbove(thresholds, x) - 1)];
  const inside = range(costs.length).filter((j) => thresholds[j] > 0 && thresholds[j] < 1);
  const steps = inside.flatMap((j) => [
    [thresholds[j], costs[j - 1]],
    [thresholds[j], costs[j]],
  ]);
  const points = [[0, at(0)], ...steps, [1, at(1)]];
  return { name: model.name, label: model.name, look: model.look, at, points };
}

/** Loss over the cost proportion, for two decisions. */
function showCostCurves() {
  const { prior } = result;
  const driven = byId("driven").checked;
  const cutOf = (model) => {
    if (!driven) return (c) => lossCut(model.table, model.hull, prior, c);
    const scores = posteriorsOf(model.table, prior);
    return (c) => cutAbove(scores, c);
  };
  const lossLine = (model) => {
    const cut = cutOf(model);
    const bounds = (c) => intervalOfCounts(cutCounts(model.table, cut(c)), [[0, 2 * c], [2 * (1 - c), 0]], prior);
    return curve(model, 1, (c) => lossAtCut(model.table, cut(c), prior, c), bounds, banded);
  };
  const naive = (c) => 2 * Math.min(c * prior[0], (1 - c) * prior[1]);
  const top = 2 * prior[0] * prior[1] || 0.01;
  const corners = [[0, 0], [prior[1], top], [1, 0]];
  const models = withWinner(driven ? probable() : visible());
  const banded = bandedModel(models);
  const lines = models.map(lossLine);
  const shaded = shadedParts(byId("cost-curve"), naive, lines, 1);
  byId("cost-curve-note").textContent =
    winnerText(models) +
    shadedText(shaded) +
    bandText(banded?.name, driven ? "" : ", as if its thresholds had not been chosen on these cases");
  drawChart(byId("cost-curve"), {
    title: "Loss over the cost proportion",
    x: { label: "cost proportion", domain: [0, 1] },
    y: { label: "loss per case, both costs summing to 2", domain: [0, top * 1.12] },
    shaded,
    series: [{ ...constantLine(naive, 1), points: corners }, ...lines],
    marks: condition(proportion(), "yours", pointText),
    dots: [],
  });
}

/** Cost over the prior, with posteriors and decisions adjusted to it, for any number of decisions. */
function showPriorCurves() {
  const { costs, prior } = result;
  const top = priorReach();
  const ranges = decisionRanges(costs);
  const naive = (share) => naiveDecision(costs, [1 - share, share]).cost;
  const heights = GRID.map((x) => naive(x * top)).filter(Number.isFinite);
  const reachableNow = reachable(costs);
  const countsAt = (model, share) => movedCounts(model.table, costs, ranges, model.table.holdsFor, share);
  const models = withWinner(probable());
  const banded = bandedModel(models);
  const lines = models.map((model) => {
    const at = (share) => expectedCost(countsAt(model, share), costs, [1 - share, share]) + model.running;
    const bounds = (share) =>
      intervalOfCounts(countsAt(model, share), costs, [1 - share, share], reachableNow).map((bound) => bound + model.running);
    return curve(model, top, at, bounds, banded);
  });
  const shaded = shadedParts(byId("cost-curve"), naive, lines, top);
  byId("cost-curve-note").textContent = winnerText(models) + shadedText(shaded) + bandText(banded?.name);
  drawChart(byId("cost-curve"), {
    title: `Cost per case over the prior of ${classes[1]}, decisions adjusted`,
    x: shareAxis(priorName(LAST), [0, top]),
    y: { label: COST_AXIS, domain: [Math.min(0, ...heights), 1.15 * Math.max(...heights, 1e-12)] },
    shaded,
    series: [constantLine(naive, top), ...lines],
    marks: condition(prior[1], "now"),
    dots: [],
  });
}

/** The upper end of an axis of priors: well beyond the stated prior and that of the data. */
function priorReach() {
  if (byId("whole").checked) return 1;
  const reach = Math.max(
    4 * REPORTED.prior[LAST],
    1.5 * DATA.holds_for[LAST],
    1.25 * result.prior[LAST],
  );
  return roundUp(Math.min(1, reach));
}

/** Slope of the lines of equal cost in a ROC diagram; NaN where costs do not define one. */
function equalCostSlope() {
  const [alarm, miss] = BINARY && !TERMS ? excessCosts(result.costs) : [NaN, NaN];
  return (alarm * result.prior[0]) / (miss * result.prior[1]);
}

/** Where the cheapest line of equal cost touches the hull of a visible model; null if none does. */
function touchingPoint(slope) {
  const touches = visible().flatMap((model) =>
    model.hull.map((j) => {
      const [alarms, hits] = rocPoint(model.table, j);
      return { model, j, height: hits - slope * alarms };
    }),
  );
  const highest = touches.reduce((best, touch) => (best && best.height >= touch.height ? best : touch), null);
  return highest && Number.isFinite(highest.height) && slope >= 0 ? highest : null;
}

/** What the pale lines, the dots and the dashed line of the ROC diagram are. */
function rocText(touch, slope) {
  if (!touch)
    return TERMS
      ? "Pale: the convex hull. Every case has its own costs, so that no point suits them all."
      : "Pale: the convex hull. Dots: where the probabilities change the decision.";
  const { model, j } = touch;
  const threshold = cutFormat({ raw: model.kind !== "posteriors" })(thresholdOfCut(model.table, j));
  return (
    `The dashed line of equal cost, slope ${short(slope, 3)}, touches the hull of ${model.name} at threshold ` +
    `${threshold}. Dots are the systems’ decisions.`
  );
}

/** Show ROC curves with their hulls and the points at which the systems decide. */
function showRoc() {
  const slope = equalCostSlope();
  const series = [];
  const banded = bandedModel(visible(), !RATES_UNKNOWN);
  for (const model of visible()) {
    const points = (cuts) => cuts.map((j) => rocPoint(model.table, j)).reverse();
    const allCuts = range(model.table.scores.length + 1);
    series.push({ look: `${model.look} hull`, points: points(model.hull) });
    series.push({ ...rocBand(model.table, model === banded), name: model.name, label: model.name, look: model.look, points: points(allCuts) });
  }
  const touch = touchingPoint(slope);
  if (touch) series.push({ look: "tangent", points: [[0, touch.height], [1, touch.height + slope]] });
  byId("roc-note").textContent = tied(rocText(touch, slope) + rocBandText(banded?.name));
  drawChart(byId("roc"), {
    title: "ROC curves: hit rate over false-alarm rate",
    x: shareAxis("false-alarm rate", [0, 1]),
    y: shareAxis("hit rate", [0, 1]),
    series,
    marks: [],
    dots: visible().flatMap(operatingPoints),
  });
}

/** The band of a ROC curve, computed on first use: it depends neither on the costs nor on the prior. */
function rocBand(table, banded) {
  if (RATES_UNKNOWN) return {};
  const borders = () => (table.rocBorders ??= rocBorders(table));
  return { banded, borders, bounds: (x) => borders().map((border) => heightAt(border, x)) };
}

/**
 * The lower and the upper border of the band. At a threshold the two rates are independent: if the
 * level of each Wilson interval is the square root of the level, both hold jointly at the level. The
 * borders join the corners of these boxes, so that each box lies between them.
 */
function rocBorders({ below, totals, scores }) {
  const boxes = range(scores.length + 1)
    .map((j) => [0, 1].map((k) => wilson(totals[k] - below[k][j], totals[k], Math.sqrt(DATA.level))))
    .reverse(); // in the order of increasing rates
  return [
    [[0, 0], ...boxes.map(([alarms, hits]) => [alarms[2], hits[1]])],
    [...boxes.map(([alarms, hits]) => [alarms[1], hits[2]]), [1, 1]],
  ];
}

/** What the band of a ROC curve is, or why there is none. */
function rocBandText(name) {
  if (RATES_UNKNOWN) return ` No band: ${RATES_UNKNOWN}.`;
  return name ? ` Band: at each threshold of ${name}, both rates lie in it with ${percent(DATA.level)} confidence, as if the threshold had not been chosen on these cases.` : "";
}

/** Points of the ROC curve at which the systems of a model change their decision. */
function operatingPoints(model) {
  if (TERMS) return [];
  const ordered = decisionRanges(result.costs).map((part) => part.decision); // by increasing probability
  const orderOf = (system) => (system.way === "tuned" ? range(decisions.length) : ordered);
  const systems = result.systems.filter((system) => MODELS[system.model] === model && system.way !== "fixed");
  const way = isMoved(result.prior) ? "moved" : "as is";
  const shown = BINARY ? systems : systems.filter((system) => system.way === way);
  const dots = shown.flatMap((system) =>
    range(orderOf(system).length - 1).map((i) => {
      const above = orderOf(system).slice(i + 1);
      const [x, y] = decisionRates(system.counts).map((row) => sum(above.map((d) => row[d])));
      const lines = [
        ["false-alarm rate", probabilityText(x, 6)],
        ["hit rate", probabilityText(y, 6)],
      ];
      return { x, y, look: model.look, title: system.name, lines };
    }),
  );
  return dots.filter((dot) => Number.isFinite(dot.x + dot.y));
}

/** Show net benefit over the threshold probability. */
function showNetBenefit() {
  const { prior } = result;
  const c = proportion();
  const top = prior[1] || 0.01;
  const end = roundUp(Math.min(1, Math.max(5 * prior[1], 0.02, 1.6 * c || 0)));
  const all = (p) => (p < 1 ? prior[1] - (prior[0] * p) / (1 - p) : -Infinity);
  const models = withWinner(probable());
  const banded = bandedModel(models);
  const series = models.map((model) => {
    const scores = posteriorsOf(model.table, prior);
    // the benefit of a hit is a cost of −1, and an alarm costs the odds of the threshold
    const bounds = (p) => {
      if (p >= 1) return [NaN, NaN];
      const costBounds = intervalOfCounts(cutCounts(model.table, cutAbove(scores, p)), [[0, p / (1 - p)], [0, -1]], prior);
      return costBounds.map((bound) => -bound).reverse();
    };
    const line = curve(model, end, (p) => netBenefit(model.table, scores, prior, p), bounds, banded);
    return { ...line, points: line.points.filter(([p]) => p < 1) }; // it jumps at 1
  });
  byId("net-benefit-note").textContent = winnerText(models) + bandText(banded?.name);
  drawChart(byId("net-benefit"), {
    title: "Net benefit over the threshold probability",
    x: shareAxis("threshold probability", [0, end]),
    y: { label: "net benefit, in true positives per case", domain: [-0.18 * top, 1.05 * top] },
    series: [
      { ...constantLine(all, end), name: "act on all" },
      { look: "plain", points: [[0, 0], [end, 0]] },
      ...series,
    ],
    marks: condition(c, "yours"),
    dots: [],
  });
}
