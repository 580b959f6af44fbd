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
const TERMS = DATA.problem.terms; // what the costs of each case are linear in; else null
const REPORTED = { costs: numbers(DATA.problem.costs), prior: DATA.prior };
const LOOKS = 7; // colours with dashes
const TONES = 6; // colours of decisions
const SHADES = 4; // of one colour, for the systems of one model

const unpackedCases = (packed) => (typeof packed === "string" ? [...packed].map(Number) : packed);
const scoreTableFrom = ({ scores, negatives, positives }, holdsFor) => ({
  ...scoreTable(numbers(scores), [negatives, positives].map(unpackedCases)),
  holdsFor, // the prior for which its scores are posteriors
});

// Colours go round; of many models, the cheapest have different ones.
const MODEL_ORDER =
  DATA.models.length > LOOKS
    ? [
        ...new Set([
          ...DATA.systems
            .filter((system) => system.candidate)
            .sort((a, b) => number(a.cost[0]) - number(b.cost[0]))
            .map((system) => system.model),
          ...DATA.models.keys(),
        ]),
      ]
    : DATA.models.map((_, index) => index);

const MODELS = DATA.models.map((model, index) => {
  const table = model.table && scoreTableFrom(model.table, DATA.holds_for);
  const recalibrated = model.recalibrated && scoreTableFrom(model.recalibrated, DATA.prior);
  const hull = table && Math.min(...table.totals) > 0 ? hullCuts(table) : null;
  const binned = [model.table, model.recalibrated].some((source) => source && source.binned);
  const stakes = model.by_threshold && {
    thresholds: numbers(model.by_threshold.thresholds),
    sums: model.by_threshold.sums,
  };
  const anySystem = DATA.systems.find((system) => system.model === index); // all cost the same to run
  const running = anySystem ? anySystem.running : 0;
  const rank = MODEL_ORDER.indexOf(index);
  const look = `m${rank % LOOKS}`;
  return { ...model, table, recalibrated, hull, binned, stakes, running, look };
});
const SYSTEMS = DATA.systems.map((system) => ({
  ...system,
  counts: numbers(system.counts),
  reported: numbers(system.cost),
  reportedShare: numbers(system.normalized),
  chance: number(system.chance),
  threshold: number(system.threshold),
  look: MODELS[system.model].look,
}));
const CURVED = MODELS.some((model) => model.hull);
const STAKED = MODELS.some((model) => model.stakes && model.kind === "posteriors");
const NO_MODEL = DATA.no_model && {
  ...DATA.no_model,
  counts: numbers(DATA.no_model.counts),
  reported: numbers(DATA.no_model.cost),
  reportedShare: numbers(DATA.no_model.normalized),
  running: 0,
  look: "plain",
};
// Costs that no single number says, and what is paid beside decisions, are moved by factors.
const FACTORS = Boolean(TERMS) || SYSTEMS.some((system) => system.running);

const withUnit = (text) => (unit ? `${text} ${unit}` : text);
const money = (value) => withUnit(short(value));
const tone = (d) => `d${d % TONES}`;
const costName = (k, d) => `cost of ${decisions[d]} for ${classes[k]}`;
const termName = (t) => TERMS[t].replace(/^column\["([^"]*)"\]$/, "$1");
const priorName = (k) => `prior of ${classes[k]}`;

/** A sentence whose lines do not end between a number and its unit or its percent. */
function tied(text) {
  const escaped = (unit || "%").replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return withoutDirectionMarks(text)
    .replace(/(\d) (?=%)/g, "$1\u00a0")
    .replace(/([<>]) (?=\d)/g, "$1\u00a0")
    .replace(new RegExp(`([\\d∞]) (?=${escaped}(?!\\w))`, "g"), "$1\u00a0");
}

// Numbers without an interval of their own --------------------------------------------------------

/** A cost per case, with the decimals that the cost of the best system has. */
const costText = (value) =>
  result.places === null
    ? short(withoutNoise(value, result.naive.cost))
    : fixed(withoutNoise(value, result.naive.cost), result.places);
/** The same in a sentence, where nothing is 0 and little is not called nothing. */
function costInSentence(value) {
  const cost = withoutNoise(value, result.naive.cost);
  const text = costText(cost);
  return withUnit(/[1-9∞d]/.test(text) ? text : short(cost, 1));
}

/** Decimals of the costs; under other stakes they are taken to be known as well, relatively. */
function costDecimals({ reported: [value, low, high], cost }, changed) {
  if (!changed) return supportedDecimals([value, low, high]);
  const half = Math.abs(((high - low) / 2 / value) * cost);
  return supportedDecimals([cost, cost - half, cost + half]);
}

/** A number without an interval, rounded to what so many cases can support: size / √n. */
const metricText = (value, size = 1) =>
  value === null || !(size > 0) ? short(value) : fixed(value, decimalsOf(size / DATA.cases ** 0.5));

/** A border on an axis of shares, of ratios or of scores. */
const pointText = (value, digits = 3) =>
  value > 0 && value < 1 ? proportionText(value, digits) : short(value, digits);

/**
 * Where a verdict flips, with two significant digits of the way to there from now.
 * What would read as 0, or is below 1 and would read as 1, keeps digits of its own.
 */
function flipText(point, now) {
  const scale = FACTORS ? 1 : largest(result.costs.flat());
  const distance = Math.abs(point - now);
  if (!(distance > NOISE * scale && distance < Infinity)) return short(withoutNoise(point, scale));
  const [text, zero, unity] = [point, 0, 1].map((value) => fixed(value, decimalsOf(distance)));
  const hidden = text === zero ? withoutNoise(point, scale) : text === unity && point < 1;
  return hidden ? pointText(point, 2) : text;
}

// The stakes and what follows from them -----------------------------------------------------------

const copyOf = ({ costs, prior }) => structuredClone({ costs, prior });
let state = copyOf(REPORTED);
let result = null;

const isMoved = (prior) => prior.some((share, k) => Math.abs(share - DATA.holds_for[k]) > 1e-9);

/** Posteriors of a table for a prior; those for the last prior are kept. */
function posteriorsOf(table, prior) {
  if (String(table.movedTo) !== String(prior)) {
    table.movedPosteriors = movedScores(table.scores, table.holdsFor, prior);
    table.movedTo = prior;
  }
  return table.movedPosteriors;
}

const isChanged = ({ costs, prior }) =>
  String([costs, prior]) !== String([REPORTED.costs, REPORTED.prior]);

/** Decisions of a system under these stakes, and its threshold where it has one. */
function decide(system, stakes) {
  const { costs, prior } = stakes;
  const model = MODELS[system.model];
  if (system.way === "tuned" && !isChanged(stakes)) return system; // the exact edge of its bin
  if (system.way === "tuned") {
    const cut = bestCut(model.table, costs, prior);
    if (cut < 0) return { counts: costs.map((row) => row.map(() => NaN)), threshold: NaN };
    return { counts: cutCounts(model.table, cut), threshold: thresholdOfCut(model.table, cut) };
  }
  if (TERMS || system.way === "fixed") return { counts: system.counts, threshold: system.threshold };
  const table = system.way === "recalibrated" ? model.recalibrated : model.table;
  const scores = system.way === "as is" ? table.scores : posteriorsOf(table, prior);
  const threshold = BINARY ? bayesThreshold(costs) : null;
  const codes = bayesCodes(scores, costs);
  return { counts: codedCounts(table, codes, costs), threshold, codes };
}

/** A system or what needs no model as it decides under these stakes, with what that costs. */
function withCosts(system, decided, stakes, span) {
  const { costs: stated, prior } = stakes;
  const costs = TERMS ? termCosts(stated, system.sums, decided.counts) : stated;
  const cost = expectedCost(decided.counts, costs, prior) + system.running;
  const known = TERMS ? (isChanged(stakes) ? NaN : system.reportedShare[0]) : null;
  const normalized = known ?? normalizedCost(decided.counts, costs, prior) + (system.running && system.running / span);
  return { ...system, ...decided, costs, cost, normalized };
}

/** What needs no model: a constant decision, or that by the costs of each case if it is cheaper. */
function bestWithoutModel(naive, noModel, slack) {
  if (noModel && noModel.cost < naive.cost - slack) {
    const said = "deciding without a model by each case’s costs and the prior";
    return { name: noModel.name, said, cost: noModel.cost };
  }
  const decision = decisions[naive.decision];
  return { name: `always ${decision}`, said: `always deciding ${decision}`, cost: naive.cost };
}

/** Everything that follows from costs and prior. */
function evaluate(stakes) {
  const { prior } = stakes;
  const [{ sums, counts }] = SYSTEMS;
  const costs = TERMS ? meanCosts(stakes.costs, sums, counts) : stakes.costs;
  const changed = isChanged(stakes); // else the report knows what to expect of the one it chose
  const naive = naiveDecision(costs, prior);
  const perfect = TERMS ? (changed ? NaN : number(DATA.perfect)) : perfectCost(costs, prior);
  const span = naive.cost - perfect;
  const systems = SYSTEMS.filter((system) => !system.added || isMoved(prior)).map((system) =>
    withCosts(system, decide(system, stakes), stakes, span),
  );
  const noModel = NO_MODEL && withCosts(NO_MODEL, { counts: NO_MODEL.counts }, stakes, span);
  const undefinedLast = (system) => Number(Number.isNaN(system.cost));
  const sorted = [...systems].sort((a, b) => undefinedLast(a) - undefinedLast(b) || a.cost - b.cost || 0);
  const candidateSystems = systems.filter((system) => system.candidate);
  const deployable = candidateSystems.length ? candidateSystems : systems;
  const best = deployable[lowestOf(deployable.map((system) => system.cost))[0] ?? 0]; // the first of those that tie
  const bounds = sorted.filter((system) => !deployable.includes(system));
  const others = sorted.filter((system) => deployable.includes(system) && system !== best);
  const candidates = [best, ...others];
  const blind = constantRules(systems[0].counts, costs, prior, decisions);
  const foreign = others.filter((system) => system.model !== best.model);
  const slack = TIE * Math.abs(naive.cost);
  const unaided = bestWithoutModel(naive, noModel, slack);
  const sure = changed ? inferenceAt(systems, stakes) : null;
  const lower = sure ? sure.saving()[0] > 0 : best.cost < unaided.cost - slack;
  return {
    costs,
    prior,
    systems,
    ranked: [...candidates, ...bounds],
    bounds,
    rivals: [
      ...deployable,
      ...(noModel ? [noModel] : []),
      ...blind.filter((rule) => !candidates.some((system) => system.name === rule.name)),
    ], // all that could be deployed
    best,
    rival: (foreign.length ? foreign : others).find((system) => !Number.isNaN(system.cost)),
    naive,
    noModel,
    unaided,
    looking: changed ? lower : DATA.verdict.deploy !== null,
    perfect,
    changed,
    places: sure ? supportedDecimals(sure.cost(best.name)) : costDecimals(best, changed),
    sure: sure || inferenceAt(systems, stakes),
  };
}

/** New stakes; what is left out stays. */
function setStakes(changes) {
  state = copyOf({ ...state, ...changes });
  result = evaluate(state);
}

/** A cost as a problem file has it: a number, a sum of terms in quotes, or a distribution. */
function costToml(cost, k, d) {
  const belief = DATA.problem.beliefs.find(([row, column]) => row === k && column === d);
  if (belief && String(cost) === String(REPORTED.costs[k][d]))
    return `{ ${Object.entries(belief[2]).map(([name, value]) => `${name} = ${JSON.stringify(value)}`).join(", ")} }`;
  if (!TERMS) return cost;
  const factor = (t) => (/^(\w+|column\["[^"]*"\])$/.test(TERMS[t]) ? TERMS[t] : `(${TERMS[t]})`);
  const term = (a, t) => (t ? (a === 1 ? TERMS[t] : `${a}*${factor(t)}`) : `${a}`);
  const parts = cost.map((a, t) => (Number.isNaN(a) ? null : term(a, t))).filter((text) => text);
  return parts.length === 1 && !Number.isNaN(cost[0]) ? cost[0] : JSON.stringify(parts.join(" + "));
}

/** The stakes as a problem file. */
function stakesToml() {
  const entry = (name, value) => `${JSON.stringify(name)} = ${value}`;
  const row = (costs, k) => `{ ${costs.map((cost, d) => entry(decisions[d], costToml(cost, k, d))).join(", ")} }`;
  return [
    ...(unit ? [`unit = ${JSON.stringify(unit)}`] : []),
    `classes = ${JSON.stringify(classes)}`,
    `decisions = ${JSON.stringify(decisions)}`,
    "\n[costs]",
    ...state.costs.map((costs, k) => entry(classes[k], row(costs, k))),
    ...(DATA.prior_stated || String(state.prior) !== String(REPORTED.prior)
      ? ["\n[prior]", ...state.prior.map((share, k) => entry(classes[k], share))]
      : []), // else it is that of the data, in the file as in the report
    "",
  ].join("\n");
}
