// State: the embedded data, the stakes as they are now, and everything that follows from them.

const number = (value) =>
  typeof value === "string" ? { nan: NaN, inf: Infinity, "-inf": -Infinity }[value] : value;
const numbers = (values) =>
  values.map((value) => (Array.isArray(value) ? numbers(value) : number(value)));

const DATA = JSON.parse(place("stakes-data").textContent);
const { classes, decisions, unit } = DATA.problem;
const LAST = classes.length - 1; // the positive class, where there are two
const TWO = classes.length === 2;
const BINARY = TWO && decisions.length === 2;
const REPORTED = { costs: DATA.problem.costs, prior: DATA.prior };
const LOOKS = 7; // colours with dashes
const TONES = 6; // colours of decisions
const SHADES = 4; // of one colour, for the systems of one model

const embedded = ({ scores, negatives, positives }, holdsFor) => ({
  ...scoreTable(numbers(scores), [negatives, positives]),
  holdsFor, // the prior for which its scores are posteriors
});

const MODELS = DATA.models.map((model, index) => {
  const table = model.table && embedded(model.table, DATA.holds_for);
  const recalibrated = model.recalibrated && embedded(model.recalibrated, DATA.prior);
  const hull = table && Math.min(...table.totals) > 0 ? hullCuts(table) : null;
  const binned = [model.table, model.recalibrated].some((one) => one && one.binned);
  return { ...model, table, recalibrated, hull, binned, look: `m${index % LOOKS}` };
});
const SYSTEMS = DATA.systems.map((one) => ({
  ...one,
  counts: numbers(one.counts),
  reported: numbers(one.cost),
  chance: number(one.chance),
  threshold: number(one.threshold),
  look: MODELS[one.model].look,
}));
const CURVED = MODELS.some((model) => model.hull);

const money = (value) => (unit ? `${short(value)} ${unit}` : short(value));
const tone = (d) => `d${d % TONES}`;
const costName = (k, d) => `cost of ${decisions[d]} for ${classes[k]}`;
const priorName = (k) => `prior of ${classes[k]}`;

const copyOf = ({ costs, prior }) => ({ costs: costs.map((row) => [...row]), prior: [...prior] });
let state = copyOf(REPORTED);
let result = null;

const isMoved = (prior) => prior.some((share, k) => Math.abs(share - DATA.holds_for[k]) > 1e-9);

/** Posteriors of a table for a prior; those for the last prior are kept. */
function posteriorsOf(table, prior) {
  if (String(table.heldFor) !== String(prior)) {
    table.held = movedScores(table.scores, table.holdsFor, prior);
    table.heldFor = prior;
  }
  return table.held;
}

const isChanged = ({ costs, prior }) =>
  String([costs, prior]) !== String([REPORTED.costs, REPORTED.prior]);

/** Decisions of a system under these stakes, and its threshold where it has one. */
function decide(system, given) {
  const { costs, prior } = given;
  const model = MODELS[system.model];
  if (system.way === "tuned" && !isChanged(given)) return system; // the exact edge of its bin
  if (system.way === "tuned") {
    const cut = bestCut(model.table, costs, prior);
    if (cut < 0) return { counts: costs.map((row) => row.map(() => NaN)), threshold: NaN };
    return { counts: cutCounts(model.table, cut), threshold: thresholdOfCut(model.table, cut) };
  }
  if (system.way === "fixed") return { counts: system.counts, threshold: system.threshold };
  const table = system.way === "recalibrated" ? model.recalibrated : model.table;
  const scores = system.way === "as is" ? table.scores : posteriorsOf(table, prior);
  const threshold = BINARY ? bayesThreshold(costs) : null;
  return { counts: bayesCounts(table, scores, costs), threshold };
}

/** Everything that follows from costs and prior. */
function evaluate(given) {
  const { costs, prior } = given;
  const systems = SYSTEMS.filter((one) => !one.added || isMoved(prior)).map((one) => {
    const made = decide(one, given);
    const cost = expectedCost(made.counts, costs, prior);
    return { ...one, ...made, cost, normalized: normalizedCost(made.counts, costs, prior) };
  });
  const last = (one) => Number(Number.isNaN(one.cost));
  const ranked = [...systems].sort((a, b) => last(a) - last(b) || a.cost - b.cost || 0);
  const candidates = ranked.filter((one) => one.candidate);
  const naive = naiveDecision(costs, prior);
  const blind = constantRules(systems[0].counts, costs, prior, decisions);
  const [best, ...others] = candidates;
  const foreign = others.filter((one) => one.model !== best.model);
  const slack = TIE * Math.abs(naive.cost);
  return {
    costs,
    prior,
    systems,
    ranked,
    rivals: [
      ...systems.filter((one) => one.candidate),
      ...blind.filter((rule) => !candidates.some((one) => one.name === rule.name)),
    ], // all that could be deployed
    best,
    rival: (foreign.length ? foreign : others).find((one) => !Number.isNaN(one.cost)),
    naive,
    looking: !(best.cost >= naive.cost - slack), // whether not looking is dearer
    perfect: perfectCost(costs, prior),
    changed: isChanged(given),
  };
}

/** New stakes; what is left out stays. */
function setStakes(given) {
  state = copyOf({ ...state, ...given });
  result = evaluate(state);
}

/** The stakes as a problem file. */
function stakesToml() {
  const entry = (name, value) => `${JSON.stringify(name)} = ${value}`;
  const row = (costs) => `{ ${costs.map((cost, d) => entry(decisions[d], cost)).join(", ")} }`;
  return [
    ...(unit ? [`unit = ${JSON.stringify(unit)}`] : []),
    `classes = ${JSON.stringify(classes)}`,
    `decisions = ${JSON.stringify(decisions)}`,
    "\n[costs]",
    ...state.costs.map((costs, k) => entry(classes[k], row(costs))),
    "\n[prior]",
    ...state.prior.map((share, k) => entry(classes[k], share)),
    "",
  ].join("\n");
}
