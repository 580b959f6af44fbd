// Flips: how far each cost or prior can move, alone, before something else is recommended, and before
// the current choice is clearly no longer the cheapest. There are two readings: decisions are made anew for the moved number, as with the
// sliders, or today's decisions stay.

const CAN_DECIDE_ANEW = !TERMS && SYSTEMS.some((system) => system.candidate && system.way !== "fixed");
const FLIPPED = !TERMS; // with costs that differ between cases, the page shows margins instead
const READINGS = { anew: "if you decide anew", kept: "if today’s decisions stay" };
const FARTHEST = 20; // costs are searched up to this multiple of the largest
const MOST_MOVES = 12;
let reading = CAN_DECIDE_ANEW ? "anew" : "kept";

/**
 * What may be the cheapest and what is recommended under other stakes; with `kept`, systems keep
 * their current decisions.
 */
function standingAt(stakes, kept) {
  const { costs, prior } = stakes;
  const rivals = kept
    ? result.systems.map((system) => ({ ...system, cost: expectedCost(system.counts, costs, prior) + system.running }))
    : SYSTEMS.filter((system) => system.candidate && (!system.added || isMoved(prior))).map((system) =>
        withCosts(system, decide(system, stakes), stakes, NaN),
      );
  const inference = inferenceAt(rivals, stakes, kept ? reachable(result.costs) : null);
  if (!inference) return standingByEstimates(rivals, stakes);
  const verdict = () => verdictAt({ name: inference.best() }, inference.saves(), inference).keep ?? inference.verdict();
  return DATA.baseline ? { ...inference, verdict } : inference;
}

/** The same by the estimated costs alone, if the page cannot compute intervals. */
function standingByEstimates(systems, { costs, prior }) {
  const candidates = systems.filter((system) => system.candidate);
  const naive = naiveDecision(costs, prior);
  const best = candidates[lowestOf(candidates.map((system) => system.cost))[0] ?? 0];
  const namesModel = best.cost < naive.cost - TIE * Math.abs(naive.cost);
  const name = namesModel ? best.name : `always ${decisions[naive.decision]}`;
  return { verdict: () => name, possible: () => [name], isPossible: (other) => other === name };
}

// What moves --------------------------------------------------------------------------------------

/** The costs that can be moved: range, search steps, and the stakes with the cost changed. */
function costMoves() {
  const size = largest(state.costs.flat()) || 1;
  const least = mayGain() ? -FARTHEST * size : 0;
  const steps = [0.002, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6.5, 8, 10, 13, 16, FARTHEST];
  return classes.flatMap((_, k) =>
    decisions.map((__, d) => ({
      ...{ k, d, name: costName(k, d), now: state.costs[k][d], size, bounds: [least, FARTHEST * size] },
      steps: steps.map((step) => step * size),
      shift: (now, step) => now + step,
      between: (a, b) => (a + b) / 2,
      stakesAt: (value) => ({
        costs: state.costs.map((row, i) => row.map((cost, j) => (i === k && j === d ? value : cost))),
        prior: state.prior,
      }),
    })),
  );
}

const ABSENT = classes.filter((_, k) => !(sum(SYSTEMS[0].counts[k]) > 0)); // classes without cases
const absentNames = () => (ABSENT.length > 2 ? `${ABSENT[0]} and ${ABSENT.length - 1} more` : ABSENT.join(", "));

/** The classes whose priors can be moved and leave all costs known: none without cases comes in. */
const movableClasses = () =>
  TWO && ABSENT.length ? [] : movedClasses(classes.length).filter((k) => !ABSENT.includes(classes[k]));

/** The priors that can be moved, in steps of log-odds. */
function priorMoves() {
  return movableClasses().map((k) => ({
    ...{ k, d: null, name: priorName(k), now: state.prior[k], size: 1, bounds: [0.0002, 0.9998] },
    steps: range(36).map((i) => 0.04 * (i + 1) + 0.009 * i * i),
    shift: (now, step) => fromLogOdds(logOdds(clamped(now, [1e-6, 1 - 1e-6])) + step),
    between: (a, b) => fromLogOdds((logOdds(a) + logOdds(b)) / 2),
    stakesAt: (value) => ({ costs: state.costs, prior: priorWith(k, value) }),
  }));
}

const ALL_MOVES = classes.length * decisions.length + movableClasses().length;
const FEW_MOVED = ALL_MOVES > 2 * MOST_MOVES; // a search for the flips of all numbers would take too long

/** All costs and priors, or those with the nearest margins if there are many. */
function movesNow() {
  const moves = [...costMoves(), ...priorMoves()];
  if (!FEW_MOVED) return moves;
  const near = margins(result.rivals, result.costs, result.prior, mayGain());
  const indexOf = ({ k, d }) => near.findIndex((margin) => margin.k === k && margin.d === d);
  return moves.sort((a, b) => byNearness(near[indexOf(a)], near[indexOf(b)])).slice(0, MOST_MOVES);
}

// Search for flips --------------------------------------------------------------------------------

/** A value rounded up or down to a power of ten. */
function roundedUpOrDown(value, power, up) {
  const powerOfTen = 10 ** Math.abs(power);
  const scaled = power < 0 ? value * powerOfTen : value / powerOfTen;
  const whole = up ? Math.ceil(scaled - 1e-9) : Math.floor(scaled + 1e-9);
  return power < 0 ? whole / powerOfTen : whole * powerOfTen;
}

/** A value rounded to few digits of its distance from the current value, away from it. */
const roundedAway = (value, now, digits) =>
  roundedUpOrDown(value, powerOf(Math.abs(value - now)) - digits + 1, value > now);

/**
 * The nearest value on one side at which something differs from now, rounded to few digits; null if
 * nothing does over the whole range. First in growing steps, then by bisection; a generator, so that
 * the page can respond between steps.
 */
function* searchFirst(move, side, differsAt, steps = move.steps) {
  const [least, most] = move.bounds;
  let [near, far] = [move.now, null];
  for (const step of steps) {
    const value = clamped(move.shift(move.now, side * step), move.bounds);
    if (value === near || (value - move.now) * side <= 0) break;
    yield;
    if (differsAt(value)) {
      far = value;
      break;
    }
    near = value;
  }
  if (far === null) return null;
  for (let step = 0; step < 9; step += 1) {
    const midpoint = move.between(near, far);
    yield;
    if (differsAt(midpoint)) far = midpoint;
    else near = midpoint;
  }
  // the roundest value beyond, checked: what is printed must be true when it is typed in
  for (const digits of [2, 3, 4, 5, 6]) {
    const value = roundedAway(far, move.now, digits);
    if (value >= least && value <= most && differsAt(value)) return value;
  }
  return null;
}

// Recommendations change and change back within short ranges, so that each step is divided; with many
// systems that would take too long.
const PARTS_OF_STEP = SYSTEMS.length > 30 ? 1 : 4;
const finerSteps = (steps) =>
  steps.flatMap((step, i) => range(PARTS_OF_STEP).map((part) => step - (1 - (part + 1) / PARTS_OF_STEP) * (step - (steps[i - 1] ?? 0))));

/**
 * What a number that moves to one side changes: `flip`, where the choice is ruled out, and `change`,
 * where something else is recommended. That comes first, most often as a close call.
 */
function* searchSide(move, side, choice, kept) {
  const names = kept ? [choice] : namesOfChoice(choice);
  const standing = memoized((value) => standingAt(move.stakesAt(value), kept));
  const isRuledOut = (value) => !names.some((name) => standing(value).isPossible(name));
  const ruledOut = yield* searchFirst(move, side, isRuledOut);
  const isOther = (value) => !names.includes(standing(value).verdict());
  const changed = yield* searchFirst(move, side, isOther, finerSteps(move.steps));
  const describedAt = (value) => value !== null && { value, possible: standing(value).possible(), verdict: standing(value).verdict() };
  const change = describedAt(changed) || null;
  return { flip: describedAt(ruledOut) || null, change: change && { ...change, isClear: isRuledOut(changed) } };
}
