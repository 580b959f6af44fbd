// Reliability: how often each class was true at each probability, for two classes and for many.

/** A share of cases with Wilson's interval, as in Python's `wilson_bounds`. */
function wilson(hits, cases, level = DATA.level) {
  const threshold = squaredQuantile(level);
  const rate = hits / cases;
  const centre = (hits + threshold / 2) / (cases + threshold);
  const halfWidth = Math.sqrt(threshold * (cases * rate * (1 - rate) + threshold / 4)) / (cases + threshold);
  return [rate, rate === 0 ? 0 : centre - halfWidth, rate === 1 ? 1 : centre + halfWidth];
}

const DIAGONAL = { look: "plain", points: [[0, 0], [1, 1]] }; // where calibrated probabilities lie
const binWhisker = ({ mean, bounds }, look) => ({ x: mean, bounds, look });

/** The observed share of a bin as a dot; the tooltip has its interval if it is known. */
function binDot(name, { low, high, cases, mean, share, bounds }, look, hasInterval) {
  const lines = [
    ["mean probability", exactPercent(mean)],
    ["observed share", exactPercent(share)],
    ["cases", exact(cases)],
    ...(hasInterval ? [[percent(DATA.level), bounds.map((bound) => probabilityText(bound)).join(" to ")]] : []),
  ];
  return { x: mean, y: share, look, title: `${name}, ${probabilityText(low)} to ${probabilityText(high)}`, lines };
}

// Two classes -------------------------------------------------------------------------------------

/** Show reliability diagrams, by isotonic regression and in tenths. */
function showReliability() {
  const { prior } = result;
  const models = probable();
  const end = probabilityReach(models, prior);
  const shown = withWinner(models).map((model) => ({ ...model, scores: posteriorsOf(model.table, prior) }));
  const first = shown.find(({ index }) => index === result.best.model) ?? shown[0];
  const tenths = first ? tenthsOf(first.table, first.scores, prior, end) : [];
  const mostCases = Math.max(...tenths.map(({ cases }) => cases)) || 1;
  const bins = tenths.filter(({ mean, share }) => Number.isFinite(mean + share)); // the others are empty
  const top = Math.max(end, roundUp(Math.max(0, ...bins.map(({ share }) => share)))); // every dot is in the frame
  byId("reliability-note").textContent = tied(reliabilityNote(first, mostCases));
  drawChart(byId("reliability"), {
    title: "Observed share over the probability",
    x: shareAxis(`probability of ${classes[1]}`, [0, end]),
    y: shareAxis(`share that is ${classes[1]}; below: cases`, [0, top]),
    cases: tenths.map(({ low, high, cases }) => ({ low, high, cases, share: cases / mostCases })),
    counted: true,
    whiskers: !RATES_UNKNOWN ? bins.map((bin) => binWhisker(bin, MODELS[first.index].look)) : [],
    series: [
      DIAGONAL,
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
    dots: bins.map((bin) => binDot(first.name, bin, MODELS[first.index].look, !RATES_UNKNOWN)),
  });
}

/** Explanation of the bars, the dots and the thick line of the reliability diagram. */
function reliabilityNote(first, mostCases) {
  if (!first) return "";
  const thick = winnerText([first]);
  const whiskers = RATES_UNKNOWN ? `. No intervals: ${RATES_UNKNOWN}.` : `; whiskers: its ${percent(DATA.level)} interval.`;
  return (
    ` Bars: cases to which ${first.name} gives such a probability, at most ${short(mostCases)}.` +
    ` Dots: the share observed in each tenth of the axis${whiskers}${thick}`
  );
}

/**
 * Tenths of an axis of probabilities: their cases, the mean probability, and the share of positives
 * with its interval. Under a prior other than that of the data, the odds are moved.
 */
function tenthsOf({ weights, totals }, scores, prior, end) {
  const tenths = range(10).map((i) => ({ low: (end * i) / 10, high: (end * (i + 1)) / 10, cases: 0, hits: 0, mass: 0, moment: 0 }));
  scores.forEach((score, i) => {
    const tenth = tenths[Math.min(9, Math.floor((10 * score) / end))];
    if (!tenth || score > end) return;
    const mass = sum(prior.map((share, k) => (share * weights[k][i]) / totals[k]));
    tenth.cases += weights[0][i] + weights[1][i];
    tenth.hits += weights[1][i];
    tenth.mass += mass;
    tenth.moment += mass * score;
  });
  const ratios = priorRatios(totals.map((total) => total / sum(totals)), prior);
  return tenths.map(({ low, high, cases, hits, mass, moment }) => {
    const [share, ...bounds] = wilson(hits, cases).map((value) => movedBy(value, ratios));
    return { low, high, cases, mean: moment / mass, share, bounds };
  });
}

/** A round probability above which half of the models have hardly any cases. */
function probabilityReach(models, prior) {
  const highest = models.map((model) => {
    const weight = (i) =>
      sum(prior.map((share, k) => (share * model.table.weights[k][i]) / model.table.totals[k]));
    let share = 0.02; // of the cases, which lies above
    const last = range(model.table.scores.length).findLastIndex((i) => (share -= weight(i)) < 0);
    return posteriorsOf(model.table, prior)[Math.max(0, last)];
  });
  highest.sort((a, b) => a - b);
  return roundUp(highest[highest.length >> 1] ?? 1);
}

// Many classes ------------------------------------------------------------------------------------

const BINNED_CLASSES = MODELS.some((model) => model.class_bins);
let pickedClass = null; // the class that the reader picked; null for the one that costs most

/** Lines of the diagram: the cheapest system first, if it decides by recalibrated probabilities; then all models shown. */
function binnedLines() {
  const models = MODELS.filter((model, i) => model.class_bins && !hidden.has(i));
  const lines = models.map(({ name, look, class_bins }) => ({ name, look, bins: class_bins }));
  const { best } = result;
  const { look, recalibrated_bins: bins, name } = MODELS[best.model];
  if (!isRecalibrated(best) || !bins || !lines.some((line) => line.name === name)) return lines;
  return [{ name: best.name, look: `${look} winner`, bins, isWinner: true }, ...lines];
}

/** The class that is shown: the reader's choice, or the one that costs most under the best system. */
function shownClass() {
  if (pickedClass !== null) return pickedClass;
  return classParts(costParts(result.best.counts, regretOf(result.best.costs), result.prior))[0].k;
}

/** Show how reliable the probabilities of one class are, model by model. */
function showClassReliability() {
  const k = shownClass();
  const lines = binnedLines();
  const best = lines.find(({ isWinner, name }) => isWinner || name === MODELS[result.best.model].name) ?? lines[0];
  byId("class-pick").value = String(k);
  byId("class-chips").replaceChildren(...modelChips(showClassReliability, (model) => model.class_bins));
  const bins = best ? best.bins[k].map(binOf) : [];
  const mostCases = Math.max(...bins.map(({ cases }) => cases));
  byId("class-reliability-note").textContent = tied(classNote(k, best, mostCases));
  drawChart(byId("class-reliability"), {
    title: `Observed share over the probability of ${classes[k]}`,
    x: shareAxis(`probability of ${classes[k]}`, [0, 1]),
    y: shareAxis(`share that is ${classes[k]}; below: cases`, [0, 1]),
    ratio: 0.55,
    cases: bins.map(({ low, high, cases }) => ({ low, high, share: cases / mostCases, cases })),
    counted: true,
    whiskers: BANDED ? bins.map((bin) => binWhisker(bin, best.look)) : [],
    series: [
      DIAGONAL,
      ...lines.map((line) => ({
        name: line.name,
        label: line.name,
        look: line.look,
        points: line.bins[k].map(([, cases, hits, mean]) => [mean, hits / cases]),
      })),
    ],
    marks: [],
    dots: lines.flatMap((line) => line.bins[k].map((bin) => binDot(line.name, binOf(bin), line.look, BANDED))),
  });
  saved.reliability = reliabilityToSave;
}

/** A tenth of the probabilities, from its embedded form: `share` is observed and has an interval. */
function binOf([b, cases, hits, mean]) {
  const [share, ...bounds] = wilson(hits, cases);
  return { low: b / 10, high: (b + 1) / 10, cases, mean, share, bounds };
}

/** Explanation of the diagram of one class. */
function classNote(k, best, mostCases) {
  if (!best) return "No model is shown.";
  const whiskers = BANDED ? ` Whiskers: ${percent(DATA.level)} intervals of ${best.name}.` : "";
  return (
    `How often a case was ${classes[k]} where its probability was in each tenth; calibrated probabilities follow the diagonal.` +
    ` Bars: cases of ${best.name} in each tenth, at most ${short(mostCases)}.${whiskers}${winnerText([best])}` +
    " On these cases, with the probabilities as they came, or recalibrated for the class shares of these cases," +
    " whatever the costs and the prior; these only decide which system is thick and which class comes first."
  );
}

/** Rows of the download: every model, class and tenth of the probabilities. */
function reliabilityToSave() {
  const kinds = MODELS.flatMap(({ name, class_bins, recalibrated_bins }) => [
    [name, class_bins],
    [`${name} (recalibrated)`, recalibrated_bins],
  ]);
  const rows = kinds.flatMap(([name, all]) =>
    (all ?? []).flatMap((bins, k) =>
      bins.map(binOf).map(({ low, high, cases, mean, share, bounds }) => [name, classes[k], low, high, cases, mean, share, ...(BANDED ? bounds : ["", ""])]),
    ),
  );
  return [["model", "class", "from", "to", "cases", "mean probability", "observed share", "low", "high"], ...rows];
}

/** Connect the list of classes. */
function buildClassPicker() {
  if (!BINNED_CLASSES) return;
  const picker = byId("class-pick");
  picker.append(...classes.map((label, k) => html("option", { value: k }, label)));
  picker.addEventListener("change", () => {
    pickedClass = Number(picker.value);
    showClassReliability();
  });
}
