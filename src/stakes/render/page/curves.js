// Curves: costs, losses and rates from the score tables, over all costs, thresholds and priors.

const hidden = new Set(); // models that the charts leave out
const COST_AXIS = inUnit("cost per case");
const GRID = range(241).map((i) => i / 240);

const visible = () => MODELS.filter((model, i) => model.hull && !hidden.has(i));
const PROBABLE = MODELS.some((model) => model.hull && model.kind === "posteriors");
const probable = () => visible().filter((model) => model.kind === "posteriors");
/** With many models, tables have columns only for those in the charts; downloads have all. */
const inTables = (i) => !CROWDED || !hidden.has(i);
const condition = (x, label, format = probabilityText) => (x >= 0 && x <= 1 ? [{ x, label: tied(`${label} ${format(x)}`) }] : []);
const proportion = () => (BINARY && !TERMS ? bayesThreshold(result.costs) : NaN);

const isWhole = ({ table }) => !table || table.weights.every((row) => row.every(Number.isInteger));
/** Why the page has no intervals for rates; null if every case counts as one. */
const RATES_UNKNOWN = DATA.clustered
  ? "cases come in clusters"
  : MODELS.every(isWhole)
    ? null
    : "weights are not whole numbers of cases";

/** The model whose interval is drawn: that of the cheapest system, or the first one shown. */
function bandedModel(models, known = BANDED) {
  const best = MODELS[result.best.model];
  return !known ? null : models.includes(best) ? best : models[0];
}

/** What the band of a chart is, or why there is none. */
function bandText(name, extra = "") {
  if (!BANDED) return ` No band: ${whyUnsure()}.`;
  const others = visible().length > 1 ? "; the tooltip has those of the other lines" : "";
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
  const level = (name, cost) => ({
    name,
    label: name,
    look: "plain",
    at: () => cost,
    points: [
      [0, cost],
      [1, cost],
    ],
  });
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
  const corner = [
    [0, 0],
    [prior[1], top],
    [1, 0],
  ];
  const models = driven ? probable() : visible();
  const banded = bandedModel(models);
  const lines = models.map(lossLine);
  byId("cost-curve-note").textContent =
    " Shaded: not looking costs no more." +
    bandText(banded?.name, driven ? "" : ", as if its thresholds had not been chosen on these cases");
  drawChart(byId("cost-curve"), {
    title: "Loss over the cost proportion",
    x: { label: "cost proportion", domain: [0, 1] },
    y: { label: "loss per case, both costs summing to 2", domain: [0, top * 1.12] },
    shaded: constantIsCheapest(naive, lines),
    series: [{ name: "not looking", look: "plain", at: naive, points: corner }, ...lines],
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
  const able = reachable(costs);
  const countsAt = (model, share) => movedCounts(model.table, costs, ranges, DATA.holds_for, share);
  const banded = bandedModel(probable());
  const lines = probable().map((model) => {
    const at = (share) => expectedCost(countsAt(model, share), costs, [1 - share, share]) + model.running;
    const bounds = (share) =>
      intervalOfCounts(countsAt(model, share), costs, [1 - share, share], able).map((end) => end + model.running);
    return curve(model, top, at, bounds, banded);
  });
  byId("cost-curve-note").textContent = ` Shaded: not looking costs no more.${bandText(banded?.name)}`;
  drawChart(byId("cost-curve"), {
    title: `Cost per case over the prior of ${classes[1]}, decisions adjusted`,
    x: shareAxis(priorName(LAST), [0, top]),
    y: { label: COST_AXIS, domain: [Math.min(0, ...heights), 1.15 * Math.max(...heights, 1e-12)] },
    shaded: constantIsCheapest(naive, lines),
    series: [
      {
        name: "not looking",
        look: "plain",
        at: naive,
        points: GRID.map((x) => [x * top, naive(x * top)]),
      },
      ...lines,
    ],
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

/** Show ROC curves with their hulls and the points at which the systems decide. */
function showRoc() {
  const [alarm, miss] = BINARY && !TERMS ? excessCosts(result.costs) : [NaN, NaN];
  const slope = (alarm * result.prior[0]) / (miss * result.prior[1]);
  const [series, touches] = [[], []];
  const banded = bandedModel(visible(), !RATES_UNKNOWN);
  for (const model of visible()) {
    const point = (j) => rocPoint(model.table, j);
    const points = (cuts) => cuts.map(point).reverse();
    const all = range(model.table.scores.length + 1);
    series.push({ look: `${model.look} hull`, points: points(model.hull) });
    series.push({ ...rocBand(model.table, model === banded), name: model.name, label: model.name, look: model.look, points: points(all) });
    touches.push(
      ...model.hull.map((j) => ({ model, j, height: point(j)[1] - slope * point(j)[0] })),
    );
  }
  const best = touches.reduce(
    (best, touch) => (best && best.height >= touch.height ? best : touch),
    null,
  );
  const touched = best && Number.isFinite(best.height) && slope >= 0;
  if (touched)
    series.push({
      look: "tangent",
      points: [
        [0, best.height],
        [1, best.height + slope],
      ],
    });
  const seen = touched
    ? `The dashed line of equal cost, slope ${short(slope, 3)}, touches the hull of ${best.model.name} at threshold ` +
      `${cutFormat({ raw: best.model.kind !== "posteriors" })(thresholdOfCut(best.model.table, best.j))}. Dots are the systems’ decisions.`
    : TERMS
      ? "Pale: the convex hull. Every case has its own costs, so that no point suits them all."
      : "Pale: the convex hull. Dots: where the probabilities change the decision.";
  byId("roc-note").textContent = tied(seen + rocBandText(banded?.name));
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
  return name ? ` Band: at each threshold of ${name} both rates lie in it with ${percent(DATA.level)} confidence, had it not been chosen on these cases.` : "";
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
  const far = roundUp(Math.min(1, Math.max(5 * prior[1], 0.02, 1.6 * c || 0)));
  const all = (p) => (p < 1 ? prior[1] - (prior[0] * p) / (1 - p) : -Infinity);
  const banded = bandedModel(probable());
  const series = probable().map((model) => {
    const scores = posteriorsOf(model.table, prior);
    // the benefit of a hit is a cost of −1, and an alarm costs the odds of the threshold
    const bounds = (p) => {
      if (p >= 1) return [NaN, NaN];
      const spans = intervalOfCounts(cutCounts(model.table, cutAbove(scores, p)), [[0, p / (1 - p)], [0, -1]], prior);
      return spans.map((end) => -end).reverse();
    };
    const line = curve(model, far, (p) => netBenefit(model.table, scores, prior, p), bounds, banded);
    return { ...line, points: line.points.filter(([p]) => p < 1) }; // it jumps at 1
  });
  byId("net-benefit-note").textContent = bandText(banded?.name);
  drawChart(byId("net-benefit"), {
    title: "Net benefit over the threshold probability",
    x: shareAxis("threshold probability", [0, far]),
    y: { label: "net benefit, in true positives per case", domain: [-0.18 * top, 1.05 * top] },
    series: [
      {
        name: "act on all",
        look: "plain",
        at: all,
        points: GRID.map((x) => [x * far, all(x * far)]),
      },
      {
        look: "plain",
        points: [
          [0, 0],
          [far, 0],
        ],
      },
      ...series,
    ],
    marks: condition(c, "yours"),
    dots: [],
  });
}

/** Show reliability diagrams, by isotonic regression and in tenths. */
function showReliability() {
  const { prior } = result;
  const models = probable();
  const far = probabilityReach(models, prior);
  const shown = [...recalibratedWinner(), ...models.map((model) => ({ model, name: model.name, look: model.look }))].map(
    (line) => {
      const table = line.table ?? line.model.table;
      return { ...line, table, scores: posteriorsOf(table, prior), hull: line.hull ?? line.model.hull };
    },
  );
  const first = shown.find(({ model }) => model === MODELS[result.best.model]) ?? shown[0];
  const tenths = first ? tenthsOf(first.table, first.scores, prior, far) : [];
  const most = Math.max(...tenths.map(({ cases }) => cases)) || 1;
  const bins = tenths.filter(({ mean, share }) => Number.isFinite(mean + share)); // the others are empty
  const known = !RATES_UNKNOWN;
  byId("reliability-note").textContent = tied(reliabilityNote(first, most));
  drawChart(byId("reliability"), {
    title: "Observed share over the probability",
    x: shareAxis(`probability of ${classes[1]}`, [0, far]),
    y: shareAxis(`share that is ${classes[1]}; below: cases`, [0, far]),
    cases: tenths.map(({ low, high, cases }) => ({ low, high, cases, share: cases / most })),
    counted: true,
    whiskers: known ? bins.map((bin) => binWhisker(bin, first.model.look)) : [],
    series: [
      {
        look: "plain",
        points: [
          [0, 0],
          [1, 1],
        ],
      },
      ...shown.map(({ table, hull, scores, name, look }) => ({
        name,
        label: name,
        look,
        points: reliabilityBlocks(table, hull, scores, prior).flatMap(({ low, high, share }) => [
          [low, share],
          [high, share],
        ]),
      })),
    ],
    marks: [],
    dots: bins.filter(({ share }) => share <= far).map((bin) => binDot(first.name, bin, first.model.look, known)),
  });
}

/** The recalibrated probabilities by which the cheapest system decides, if it uses any. */
function recalibratedWinner() {
  const { best } = result;
  const model = MODELS[best.model];
  if (best.way !== "recalibrated" || !visible().includes(model) || Math.min(...model.recalibrated.totals) <= 0) return [];
  model.recalibrated.hull ??= hullCuts(model.recalibrated);
  return [{ model, name: best.name, look: `${model.look} winner`, table: model.recalibrated, hull: model.recalibrated.hull }];
}

/** Explanation of the bars, the dots and the thick line of the reliability diagram. */
function reliabilityNote(first, most) {
  if (!first) return "";
  const thick = first.look.endsWith(" winner") ? ` Thick: the cheapest system, ${first.name}.` : "";
  const whiskers = RATES_UNKNOWN ? `. No intervals: ${RATES_UNKNOWN}.` : `; whiskers: its ${percent(DATA.level)} interval.`;
  return (
    ` Bars: cases with such a probability by ${first.name}, at most ${short(most)}.` +
    ` Dots: the share observed in each tenth of the axis${whiskers}${thick}`
  );
}

/**
 * Tenths of an axis of probabilities: their cases, the mean probability, and the share of positives
 * with its interval. Under a prior other than that of the data, the odds are moved.
 */
function tenthsOf({ weights, totals }, scores, prior, far) {
  const tenths = range(10).map((i) => ({ low: (far * i) / 10, high: (far * (i + 1)) / 10, cases: 0, hits: 0, mass: 0, moment: 0 }));
  scores.forEach((score, i) => {
    const tenth = tenths[Math.min(9, Math.floor((10 * score) / far))];
    if (!tenth || score > far) return;
    const mass = sum(prior.map((share, k) => (share * weights[k][i]) / totals[k]));
    tenth.cases += weights[0][i] + weights[1][i];
    tenth.hits += weights[1][i];
    tenth.mass += mass;
    tenth.moment += mass * score;
  });
  const ratios = priorRatios(totals.map((total) => total / sum(totals)), prior);
  return tenths.map(({ low, high, cases, hits, mass, moment }) => {
    const [share, ...bounds] = wilson(hits, cases).map((end) => movedBy(end, ratios));
    return { low, high, cases, mean: moment / mass, share, bounds };
  });
}

/** A round probability above which half of the models have hardly any cases. */
function probabilityReach(models, prior) {
  const highest = models.map((model) => {
    const weight = (i) =>
      sum(prior.map((share, k) => (share * model.table.weights[k][i]) / model.table.totals[k]));
    let left = 0.02;
    const last = range(model.table.scores.length).findLastIndex((i) => (left -= weight(i)) < 0);
    return posteriorsOf(model.table, prior)[Math.max(0, last)];
  });
  highest.sort((a, b) => a - b);
  return roundUp(highest[highest.length >> 1] ?? 1);
}

// Where each system wins, its decisions as they are now -------------------------------------------

/** Show the ranges of prior and cost proportion in which each system is the cheapest. */
function showRegions() {
  const { prior, rivals } = result;
  const lines = rivals.map((rival, i) => priorLine(rival, prior, LAST, i));
  const top = priorReach();
  saved.regions = [["axis", "low", "high", "cheapest"]];
  const parts = lowest(lines);
  if (reading === "anew") drawPriorCurves(top);
  else drawPriorLines(lines, new Set(parts.flatMap((part) => part.names)), top);
  if (FLIPPED) byId("regions-hint").textContent = zonesHint();
  band("prior-band", priorName(LAST), parts, {
    bounds: [0, top],
    now: prior[LAST],
    format: probabilityText,
    formatExact: exactPercent,
    inset: drawn["prior-chart"].inset,
  });
  if (!BINARY || FACTORS) return;
  const byProportion = lowest(rivals.map(({ counts }, i) => proportionLine(counts, prior, i)));
  band("proportion-band", "cost proportion", byProportion, { bounds: [0, 1], now: proportion() });
  const ratio = (c) => (c < 1 ? c / (1 - c) : Infinity);
  const ratios = byProportion.map((part) => ({ ...part, low: ratio(part.low), high: ratio(part.high) }));
  const reach = reachOfRatios([...ratios.map((part) => part.high), ratio(proportion())]);
  band("ratio-band", "false alarm : miss", ratios, {
    bounds: [-reach, reach],
    now: proportion() >= 0 && proportion() <= 1 ? ratio(proportion()) : NaN,
    place: (r) => Math.max(-reach, Math.min(reach, Math.log10(r))),
    format: ratioText,
  });
}

const lowest = (lines) =>
  lines.some((line) => Number.isFinite(line.start + line.end)) ? lowestLines(lines) : [];

/** The exponent of ten, of either sign, up to which cost ratios are drawn. */
const reachOfRatios = (ratios) =>
  Math.min(6, Math.ceil(Math.max(2, ...ratios.map((r) => largest([Math.log10(r)]) + 0.3))));

/** A cost ratio as it is said in a sentence. */
function ratioText(ratio) {
  if (!(ratio > 0) || !Number.isFinite(ratio)) return short(ratio);
  return ratio < 1 ? `1 : ${short(1 / ratio, 3)}` : `${short(ratio, 3)} : 1`;
}

/** Shades of one hue, for the systems of one model. */
function shade(rival) {
  const alike = result.rivals.filter(({ look }) => look === rival.look);
  return `${rival.look} s${alike.indexOf(rival) % SHADES}`;
}

/** A band and, below it, every part in words. */
function band(id, axis, parts, { place: at = (x) => x, format = pointText, formatExact = exact, now, ...spec }) {
  const { rivals } = result;
  const names = (part) => part.names.map((i) => rivals[i].name);
  saved.regions.push(...parts.map((part) => [axis, part.low, part.high, names(part).join("; ")]));
  const shown = parts.map((part) => ({
    low: at(part.low),
    high: at(part.high),
    label: names(part).join(", ") || "undefined",
    look: part.names.length ? shade(rivals[part.names[0]]) : "plain",
    edge: format(part.high),
    span: `${format(part.low)} to ${format(part.high)}`,
    lines: [
      ["from", formatExact(part.low)],
      ["to", formatExact(part.high)],
    ],
  }));
  if (FLIPPED) return; // zones take their place
  const title = `Cheapest over the ${axis}, with the decisions as they are made now`;
  drawBand(byId(id), { ...spec, now: at(now), title, parts: shown });
  byId(id).append(partsInWords(shown));
}

const partsInWords = (parts) =>
  html(
    "ol",
    { class: "parts" },
    parts.map(({ label, look, span }) =>
      html(
        "li",
        {},
        html("i", { class: `block ${look}` }),
        html("b", {}, label),
        html("span", {}, ` ${span}`),
      ),
    ),
  );

const PRIOR_STEPS = range(61).map((i) => i / 60);

/** A note on what the chart of costs over the prior shows. */
function showPriorNote(series) {
  const line = series.find(({ banded }) => banded);
  const few = CROWDED && reading === "anew" ? " Lines: the models that the charts show." : "";
  byId("prior-note").textContent = tied(`Shaded: not looking costs no more than any line.${few}${bandText(line?.name)}`);
}

/** Cost over the prior, with the current decisions: a straight line for each system. */
function drawPriorLines(lines, winners, top) {
  const { costs, prior, rivals } = result;
  const rest = 1 - prior[LAST] || 1;
  const priorAt = (x) => prior.map((share, k) => (k === LAST ? x : (share / rest) * (1 - x)));
  const naive = (x) => naiveDecision(costs, priorAt(x)).cost;
  const at = (line) => (x) => (1 - x) * line.start + x * line.end;
  const heights = GRID.map((x) => naive(x * top)).filter(Number.isFinite);
  const systemLines = lines.filter((_, i) => "reported" in rivals[i]);
  const able = BANDED ? reachable(costs) : null;
  const boundsOf = (system) => (x) => {
    const stakes = { costs: state.costs, prior: priorAt(x) };
    return intervalOfSystem({ ...system, cost: expectedCost(system.counts, costs, stakes.prior) + system.running }, stakes, able);
  };
  const series = systemLines.map((line, i) => ({
    ...(BANDED && winners.has(i) && "model" in rivals[i] ? { bounds: boundsOf(rivals[i]), banded: rivals[i] === result.best } : {}),
    name: winners.has(i) ? rivals[i].name : null,
    label: winners.has(i) ? rivals[i].name : null,
    look: `${rivals[i].look}${winners.has(i) ? "" : " faint"}`,
    at: at(line),
    points: PRIOR_STEPS.map((step) => [step * top, at(line)(step * top)]),
  }));
  showPriorNote(series);
  drawChart(byId("prior-chart"), {
    title: `Cost per case over the ${priorName(LAST)}, decisions as they are`,
    ratio: 0.4,
    x: shareAxis(priorName(LAST), [0, top]),
    y: { label: COST_AXIS, domain: [Math.min(0, ...heights), 1.5 * Math.max(...heights, 1e-12)] },
    shaded: constantIsCheapest(naive, series),
    series: [
      {
        name: "best without looking",
        label: "not looking",
        look: "plain",
        at: naive,
        points: GRID.map((x) => [x * top, naive(x * top)]),
      },
      ...series,
    ],
    marks: condition(prior[LAST], "now"),
    dots: [],
  });
}
