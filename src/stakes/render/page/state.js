// State: the embedded data, the current stakes (costs and prior), and everything computed from them.

/** A number of the embedded data; JSON has no NaN and no infinities, so these arrive as text. */
const number = (value) =>
  typeof value === "string" ? { nan: NaN, inf: Infinity, "-inf": -Infinity }[value] : value;
const numbers = (values) =>
  values.map((value) => (Array.isArray(value) ? numbers(value) : number(value)));

const DATA = JSON.parse(byId("stakes-data").textContent);
const { classes, decisions, unit } = DATA.problem;
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const turned = [...classes, ...decisions, unit || "", ...DATA.models.map(({ name }) => name)].map(isolated).filter((name) => /[\u0590-\u08ff\ufb1d-\ufefc]/.test(name));
if (turned.length) turnedNames = new RegExp(turned.sort((a, b) => b.length - a.length).map(escaped).join("|"), "g");
const LAST = classes.length - 1; // the positive class if there are two
const TWO = classes.length === 2;
const BINARY = TWO && decisions.length === 2;
const TERMS = DATA.problem.terms; // the terms of costs that differ between cases; else null
const REPORTED = { costs: numbers(DATA.problem.costs), prior: DATA.prior };
const LOOKS = 7; // model colours, each with a dash pattern
const TONES = 6; // decision colours
const SHADES = 4; // shades of one colour, for the systems of one model

/** Counts of cases; a string has one digit for each. */
const unpackedCases = (packed) => (typeof packed === "string" ? [...packed].map(Number) : packed);

/** Scores; with a scale, the steps between them are written. */
function unpackedScores(written, scale) {
  if (scale === null) return written;
  const most = scale > 1 ? 1 : Infinity; // of probabilities, whose sum of steps may be rounded up
  let reached = 0;
  return written.map((step) => Math.min((reached += step) / scale, most));
}

const scoreTableFrom = ({ scores, scale, negatives, positives }, holdsFor) => ({
  ...scoreTable(unpackedScores(numbers(scores), scale), [negatives, positives].map(unpackedCases)),
  holdsFor, // the prior for which its scores are posteriors
});

/** Where decisions change; the data leave out what is usual. */
const changeFrom = ({ at, corrected = [], ...others }) => ({
  ...{ decisions: range(at.length + 1), on_column: true, digits: 3, percent: false },
  ...others,
  at: numbers(at),
  corrected: numbers(corrected),
});

// Colours are reused when there are many models; the cheapest models get distinct ones.
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
  const anySystem = DATA.systems.find((system) => system.model === index); // systems of a model cost the same to run
  const running = anySystem ? anySystem.running : 0;
  const rank = MODEL_ORDER.indexOf(index);
  const look = `m${rank % LOOKS}`;
  return { ...model, index, table, recalibrated, hull, binned, stakes, running, look };
});
const SYSTEMS = DATA.systems.map((system) => ({
  ...system,
  counts: numbers(system.counts),
  reported: numbers(system.cost),
  reportedShare: numbers(system.normalized),
  chance: number(system.chance),
  threshold: number(system.threshold),
  change: system.change && changeFrom(system.change),
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
// Costs that differ between cases, or come with running costs, are varied by factors that multiply
// them: no single number could be moved.
const FACTORS = Boolean(TERMS) || SYSTEMS.some((system) => system.running);

const withUnit = (text) => (unit ? `${text} ${unit}` : text);
const inUnit = (name) => (unit ? `${name}, ${unit}` : name);
const money = (value) => withUnit(short(value));
const tone = (d) => `d${d % TONES}`;
const costName = (k, d) => `cost of ${decisions[d]} for ${classes[k]}`;
const termName = (t) => TERMS[t].replace(/^column\["([^"]*)"\]$/, "$1");
const priorName = (k) => `prior of ${classes[k]}`;

/** A sentence with no-break spaces between a number and its unit or percent sign. */
function tied(text) {
  return isolated(
    text
      .replace(/(\d) (?=%)/g, "$1\u00a0")
      .replace(/([<>]) (?=\d)/g, "$1\u00a0")
      .replace(new RegExp(`([\\d∞]) (?=${escaped(unit || "%")}(?!\\w))`, "g"), "$1\u00a0"),
  );
}

// Numbers without an interval of their own --------------------------------------------------------

/** A cost per case, with as many decimals as the cost of the best system. */
const costText = (value) =>
  result.places === null
    ? short(withoutNoise(value, result.naive.cost))
    : fixed(withoutNoise(value, result.naive.cost), result.places);
/** The same in a sentence, with its unit; a small cost does not read as 0. */
function costInSentence(value) {
  const cost = withoutNoise(value, result.naive.cost);
  const text = result.places === null ? plain(cost) : costText(cost);
  return withUnit(/[1-9∞d]/.test(text) ? text : smallAmount(cost, result.best.cost));
}

/** Decimals for costs; under changed stakes the relative width of the interval is assumed to stay. */
function costDecimals({ reported: [value, low, high], cost }, changed) {
  if (!changed) return supportedDecimals([value, low, high]);
  const half = Math.abs(((high - low) / 2 / value) * cost);
  return supportedDecimals([cost, cost - half, cost + half]);
}

/** A number without an interval, rounded as if its standard error were size / √n. */
const metricText = (value, size = 1) =>
  value === null || !(size > 0) ? short(value) : fixed(value, decimalsOf(size / DATA.cases ** 0.5));

/** A boundary on an axis of shares, ratios or scores. */
const pointText = (value, digits = 3) =>
  value > 0 && value < 1 ? proportionText(value, digits) : short(value, digits);

/**
 * The value at which a verdict flips, with two significant digits of its distance from the current
 * value. A value that would read as 0, or one below 1 that would read as 1, keeps more digits.
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

/** Posteriors of a score table, moved to a prior; the last result is cached. */
function posteriorsOf(table, prior) {
  if (String(table.movedTo) !== String(prior)) {
    table.movedPosteriors = movedScores(table.scores, table.holdsFor, prior);
    table.movedTo = prior;
  }
  return table.movedPosteriors;
}

const isChanged = ({ costs, prior }) =>
  String([costs, prior]) !== String([REPORTED.costs, REPORTED.prior]);

/** Whether costs may move below zero: if the report states a gain, or the reader set one. */
const mayGain = () => [REPORTED, state].some(({ costs }) => hasGains(costs));

/** Decisions of a system under these stakes, and where they change. */
function decide(system, stakes) {
  const { costs, prior } = stakes;
  const model = MODELS[system.model];
  // the report knows the exact threshold, the page only bins
  if (system.way === "tuned" && !isChanged(stakes)) return system;
  if (system.way === "tuned") {
    const cut = bestCut(model.table, costs, prior);
    if (cut < 0) return { counts: codedCounts(model.table, null, costs), threshold: NaN };
    const threshold = thresholdOfCut(model.table, cut);
    return { counts: cutCounts(model.table, cut), threshold, change: { ...system.change, at: [threshold], digits: digitsOf([threshold], model.table) } };
  }
  if (TERMS || DATA.limits.length || system.way === "fixed") return { counts: system.counts, threshold: system.threshold };
  const table = system.way === "recalibrated" ? model.recalibrated : model.table;
  const scores = system.way === "as is" ? table.scores : posteriorsOf(table, prior);
  const change = isChanged(stakes) ? changeAt(system, stakes) : system.change;
  const codes = bayesCodes(scores, costs);
  return { counts: codedCounts(table, codes, costs), threshold: BINARY ? change.at[0] : null, change, codes };
}

/**
 * A system with its decisions under these stakes and what they cost. `span` is the cost of the best
 * constant decision above perfect decisions, by which running costs are normalized.
 */
function withCosts(system, decided, stakes, span) {
  const { prior } = stakes;
  const costs = TERMS ? termCosts(stakes.costs, system.sums, decided.counts) : stakes.costs;
  const cost = expectedCost(decided.counts, costs, prior) + system.running;
  // perfect decisions about cases with their own costs are known at the stakes of the report only
  const reported = TERMS ? (isChanged(stakes) ? NaN : system.reportedShare[0]) : null;
  const normalized = reported ?? normalizedCost(decided.counts, costs, prior) + (system.running && system.running / span);
  return { ...system, ...decided, costs, cost, normalized };
}

const LIMITED = DATA.limits.length > 0;
/** Whether always deciding the same keeps every limit. */
const keepsLimits = (d) => DATA.limits.every(({ decision, bound, sign }) => sign * (Number(decision === d) - bound) <= 0);

/** The cheapest constant decision among those that keep the limits; among all if none does. */
function allowedConstant(costs, prior) {
  const free = naiveDecision(costs, prior);
  const allowed = decisions.map((_, d) => d).filter(keepsLimits);
  if (!allowed.length || allowed.includes(free.decision)) return free;
  const [first, ...others] = allowed.map((decision) => ({ decision, cost: sum(prior.map((share, k) => (share ? share * costs[k][decision] : 0))) }));
  return others.reduce((best, other) => (other.cost < best.cost ? other : best), first);
}

/** The cheapest option without a model: a constant decision, or deciding by each case's costs. */
function bestWithoutModel(naive, noModel, slack) {
  // everything breaks a limit, or cases have costs of their own and a class has none
  if ((LIMITED && DATA.unaided === null) || Number.isNaN(naive.cost)) return { name: null, phrase: null, cost: NaN };
  if (noModel && noModel.cost < naive.cost - slack) {
    const phrase = "deciding without a model by each case’s costs and the prior";
    return { name: noModel.name, phrase, cost: noModel.cost };
  }
  const decision = decisions[naive.decision];
  return { name: `always ${decision}`, phrase: `always deciding ${decision}`, cost: naive.cost };
}

/** Systems in the order of the table: those that may be deployed, the best first, then the bounds. */
function rankedSystems(systems, naive) {
  const undefinedLast = (system) => Number(Number.isNaN(system.cost));
  const sorted = [...systems].sort((a, b) => undefinedLast(a) - undefinedLast(b) || a.cost - b.cost || 0);
  const candidates = systems.filter((system) => system.candidate);
  const deployable = candidates.length ? candidates : systems;
  const tiedBest = lowestOf(deployable.map((system) => system.cost)).map((i) => deployable[i]);
  // of those that tie, one that decides without looking, or the first
  const constant = tiedBest.length > 1 ? tiedBest.find((system) => isAlways(system, naive.decision)) : undefined;
  const best = constant ?? tiedBest[0] ?? deployable[0];
  const bounds = sorted.filter((system) => !deployable.includes(system));
  const others = sorted.filter((system) => deployable.includes(system) && system !== best);
  return { deployable, best, others, bounds };
}

/** Everything that the page shows, computed from costs and prior. */
function evaluate(stakes) {
  const { prior } = stakes;
  const [{ sums, counts }] = SYSTEMS;
  const costs = TERMS ? meanCosts(stakes.costs, sums, counts) : stakes.costs;
  const changed = isChanged(stakes); // if not, the report's own verdict is shown
  const naive = allowedConstant(costs, prior);
  const perfect = TERMS ? (changed ? NaN : number(DATA.perfect)) : perfectCost(costs, prior);
  const span = naive.cost - perfect;
  const systems = SYSTEMS.filter((system) => !system.added || isMoved(prior)).map((system) =>
    withCosts(system, decide(system, stakes), stakes, span),
  );
  const noModel = NO_MODEL && withCosts(NO_MODEL, { counts: NO_MODEL.counts }, stakes, span);
  const { deployable, best: cheapest, others, bounds } = rankedSystems(systems, naive);
  const constant = constantRules(systems[0].counts, costs, prior, decisions);
  const slack = TIE * Math.abs(naive.cost);
  const unaided = bestWithoutModel(naive, noModel, slack);
  const inference = inferenceAt(systems, stakes);
  const saves = inference ? inference.saves() : cheapest.cost < unaided.cost - slack;
  const named = changed ? saves && (inference ? inference.best() : simplestOf(cheapest, systems, unaided)) : DATA.verdict.system;
  const best = systems.find((system) => system.name === named) ?? cheapest;
  const rivals = [cheapest, ...others].filter((system) => system !== best);
  const otherModels = rivals.filter((system) => system.model !== best.model);
  const verdict = changed ? verdictAt(best, saves, inference) : DATA.verdict;
  return {
    costs,
    prior,
    systems,
    ranked: [cheapest, ...others, ...bounds],
    bounds,
    rivals: [
      ...deployable,
      ...(noModel ? [noModel] : []),
      ...constant.filter((rule) => !deployable.some((system) => system.name === rule.name)),
    ], // everything that could be deployed
    best,
    rival: (otherModels.length ? otherModels : rivals).find((system) => !Number.isNaN(system.cost)),
    naive,
    cheapestConstant: naiveDecision(costs, prior),
    noModel,
    unaided,
    verdict,
    namesModel: verdict.kind !== "none",
    perfect,
    changed,
    places: changed && inference ? supportedDecimals(inference.cost(best.name)) : costDecimals(best, changed),
    inference,
  };
}

/** Without intervals: the simplest rule of the cheapest model that costs hardly more. */
function simplestOf(cheapest, systems, unaided) {
  const ofModel = systems.filter((system) => system.candidate && system.model === cheapest.model);
  return (ofModel.find((system) => system.cost - cheapest.cost < ALIKE * (unaided.cost - cheapest.cost)) ?? cheapest).name;
}

/** Whether the best system is shown to cost less than the incumbent, or no more than the margin allows. */
function isNoWorse(inference, { name, margin, relative }) {
  const [, low] = inference.against(name);
  return low > 0 || (margin > 0 && low + (relative ? margin * inference.cost(name)[0] : margin) >= 0);
}

/**
 * The verdict under changed stakes. The incumbent stays unless the best system is shown to cost less,
 * or what needs no model is. Of an earlier report only its cost is known, so that it stays here.
 */
function verdictAt(best, saves, inference) {
  const { baseline } = DATA;
  const comparable = baseline?.paired && inference;
  const isBetter = comparable && best.name !== baseline.name && isNoWorse(inference, baseline);
  const isDropped = isBetter || (comparable && inference.clearlyLoses(baseline.name));
  const kept = baseline?.paired ? baseline.name : DATA.verdict.keep;
  // without intervals nothing is shown or not shown
  const keep = baseline && (inference || !baseline.paired) && !isDropped ? kept : null;
  if (keep || !saves) return { kind: "none", keep };
  const saving = inference && inference.saving();
  const isShown = !inference || saving[1] > 0 || (isBetter && saving[0] > 0);
  return isShown ? { kind: "deploy" } : { kind: "try", doubt: "not yet shown to pay" };
}

/** The system whose rule is shown: the incumbent where it stays, else the best one. */
const systemInUse = ({ systems, best, verdict }) => systems.find((system) => system.name === verdict.keep) ?? best;

/** What the best system is: the cheapest of all unless something without a model is cheaper. */
const bestInWords = () => (result.namesModel ? "the cheapest system" : "the best of the models");

/** Set new stakes; costs or prior that are left out stay as they are. */
function setStakes(changes) {
  state = copyOf({ ...state, ...changes });
  result = evaluate(state);
}

/** A cost as a problem file writes it: a number, a quoted sum of terms, or a distribution. */
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
      : []), // otherwise the file, like the report, leaves it to the data
    "",
  ].join("\n");
}
