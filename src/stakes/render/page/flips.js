// Flips: how far each cost or prior can move, alone, before the current choice is clearly no longer
// the cheapest. There are two readings: decisions are made anew for the moved number, as with the
// sliders, or today's decisions stay.

const CAN_DECIDE_ANEW = !TERMS && SYSTEMS.some((system) => system.candidate && system.way !== "fixed");
const FLIPPED = !TERMS; // with costs that differ between cases, the page shows margins instead
const READINGS = { anew: "if you decide anew", kept: "if today’s decisions stay" };
const FARTHEST = 20; // costs are searched up to this multiple of the largest
const MOST_MOVES = 12;
let reportedChoice = null;
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
  return inference || standingByEstimates(rivals, stakes);
}

/** The same by the estimated costs alone, if the page cannot compute intervals. */
function standingByEstimates(systems, { costs, prior }) {
  const candidates = systems.filter((system) => system.candidate);
  const naive = naiveDecision(costs, prior);
  const best = candidates[lowestOf(candidates.map((system) => system.cost))[0] ?? 0];
  const deploysModel = best.cost < naive.cost - TIE * Math.abs(naive.cost);
  const name = deploysModel ? best.name : `always ${decisions[naive.decision]}`;
  return { verdict: () => name, possible: () => [name], isPossible: (other) => other === name };
}

/** The current recommendation. */
function choiceNow() {
  const { best, unaided, deploysModel } = result;
  return deploysModel ? best.name : unaided.name;
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

const ABSENT = classes.map((_, k) => !(sum(SYSTEMS[0].counts[k]) > 0)); // classes without cases

/** The classes whose priors can be moved and leave all costs known: none without cases comes in. */
const movableClasses = () =>
  TWO && ABSENT.some(Boolean) ? [] : movedClasses(classes.length).filter((k) => !ABSENT[k]);

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

/** A value rounded to few digits, away from the current value. */
function roundedAway(value, now, digits) {
  const power = powerOf(Math.abs(value - now)) - digits + 1;
  const powerOfTen = 10 ** Math.abs(power);
  const scaled = power < 0 ? value * powerOfTen : value / powerOfTen;
  const whole = value > now ? Math.ceil(scaled - 1e-9) : Math.floor(scaled + 1e-9);
  return power < 0 ? whole / powerOfTen : whole * powerOfTen;
}

/** Names of a choice: once the prior is moved, posteriors used as they are become moved ones. */
function namesWithMovedPrior(choice) {
  const system = SYSTEMS.find((other) => other.name === choice && other.way === "as is");
  return system ? [choice, `${MODELS[system.model].name} (moved)`] : [choice];
}

/**
 * The nearest value on one side at which a choice is no longer possible; null if it stays possible
 * over the whole range. First in growing steps, then by bisection; a generator, so that the page
 * can respond between steps.
 */
function* searchFlip(move, side, choice, kept) {
  const [least, most] = move.bounds;
  const isStillPossible = (standing) => namesWithMovedPrior(choice).some((name) => standing.isPossible(name));
  const stays = (value) => isStillPossible(standingAt(move.stakesAt(value), kept));
  let [near, far] = [move.now, null];
  for (const step of move.steps) {
    const value = clamped(move.shift(move.now, side * step), move.bounds);
    if (value === near || (value - move.now) * side <= 0) break;
    yield;
    if (!stays(value)) {
      far = value;
      break;
    }
    near = value;
  }
  if (far === null) return null;
  for (let step = 0; step < 9; step += 1) {
    const midpoint = move.between(near, far);
    yield;
    if (stays(midpoint)) near = midpoint;
    else far = midpoint;
  }
  // the roundest value beyond the flip, checked: what is printed must be true when it is typed in
  for (const digits of [2, 3, 4, 5, 6]) {
    const value = roundedAway(far, move.now, digits);
    if (value < least || value > most) continue;
    const standing = standingAt(move.stakesAt(value), kept);
    if (!isStillPossible(standing))
      return { value, possible: standing.possible(), verdict: standing.verdict() };
  }
  return null;
}

// Names -------------------------------------------------------------------------------------------

/** The model of a system, by their names. */
const modelOf = (name) => {
  const system = SYSTEMS.find((other) => other.name === name);
  return system ? MODELS[system.model].name : name;
};

/**
 * Names of models joined by “or”; the full name of the system if there is only one. Another rule of
 * the model that is the choice now has its full name, too.
 */
function inWords(names, choice = null) {
  const nameOf = (name) => (choice !== null && modelOf(name) === modelOf(choice) ? name : modelOf(name));
  const models = [...new Set(names.map(nameOf))];
  const shown = models.length === 1 && names.length === 1 ? names : models;
  const listed = shown.length > MOST_LISTED ? fewOf(shown, nameOf(choice ?? choiceNow())) : shown;
  return listed.length > 1 ? `${listed.slice(0, -1).join(", ")} or ${listed[listed.length - 1]}` : listed[0];
}

const MOST_LISTED = 5; // models that a sentence names

/** Many names in few: today's choice if it is one of them, how many other models, and constant decisions. */
function fewOf(names, choice) {
  const isConstant = (name) => name.startsWith("always ") && !MODELS.some((model) => model.name === name);
  const [models, constants] = [names.filter((name) => !isConstant(name)), names.filter(isConstant)];
  const counted = (some, most, kind) =>
    some.length > most + 1 ? [...some.slice(0, most), `${some.length - most} other ${kind}`] : some;
  const choiceFirst = [...models].sort((a, b) => Number(b === choice) - Number(a === choice));
  return [...counted(choiceFirst, constants.length ? 1 : 3, "models"), ...counted(constants, 2, "constant decisions")];
}

/** Names in the order of the report, so that equal sets read the same. */
const inOrder = (names) => {
  const indexOf = (name) => SYSTEMS.findIndex((system) => system.name === name);
  const unknownLast = (name) => (indexOf(name) < 0 ? SYSTEMS.length : indexOf(name));
  return [...names].sort((a, b) => unknownLast(a) - unknownLast(b));
};

const MORE_DIGITS = "00"; // never seen: they measure the room for longer numbers

/** A number as a reader would type it. */
const asTyped = (value) =>
  withMinusSigns(String(Number(value.toPrecision(9))).replace(/^-?\d{5,}/, (whole) => Number(whole).toLocaleString("en-US")));

// The table of flips ------------------------------------------------------------------------------

let knownFlips = null; // results of the last complete search, with the key of its stakes
let searchedKey = null; // key of the stakes of the search that is running

/** Show flips, zones and the sentence in the verdict: start a search, or reuse its results. */
function showFlips() {
  const defined = FLIPPED && Number.isFinite(result.best.cost);
  byId("flips-section").hidden = !defined;
  byId("nearest-flip").hidden = !defined && FLIPPED;
  if (!defined) return;
  const choice = choiceNow();
  byId("flips-hint").textContent = flipsHint();
  const key = JSON.stringify([state, reading, priorReach()]);
  if (knownFlips) {
    if (knownFlips.key === key) showFlipTable(knownFlips.rows, choice);
    for (const axis of zoneAxes()) drawZones(axis, knownFlips.zones.get(axis.of || axis.id));
  }
  if (searchedKey === key || (knownFlips && knownFlips.key === key && !searchedKey)) return;
  searchedKey = key;
  if (!knownFlips) showNearestChange("still being computed.");
  document.body.classList.add("working");
  const kept = reading === "kept";
  const results = { key, zones: new Map(), rows: movesNow().map((move) => ({ move, low: null, high: null })) };
  const search = function* (row) {
    row.low = yield* searchFlip(row.move, -1, choice, kept);
    row.high = yield* searchFlip(row.move, 1, choice, kept);
  };
  const pieces = results.rows.map(search);
  pieces.push(() => showFlipTable(results.rows, choice));
  for (const axis of zoneAxes()) pieces.push(...zonePieces(axis, kept, results.zones));
  runInPieces(pieces, () => {
    [knownFlips, searchedKey] = [results, null];
    saveZones();
    document.body.classList.remove("working");
  });
}

/** Explanation of how the flips were searched. */
function flipsHint() {
  const decided = {
    anew: `Bayes decisions follow the number that moves${onPaper ? "" : ", as with the sliders: type a value, and you get what is listed"}.`,
    kept: "All decisions stay as they are made now, and only their costs move.",
  }[reading];
  const limitation = CAN_DECIDE_ANEW ? "" : " On this page decisions cannot be made anew: evaluate again with other costs.";
  const certainty = JOINT
    ? "Today’s choice stays until the data can tell that something else is cheaper."
    : "By the costs on these cases alone: how sure they are elsewhere cannot be said from this page.";
  return tied(`Each number moved alone. ${decided} ${certainty}${limitation} The nearest first, by the factor on a number; moves from or to zero last. Costs up to ${FARTHEST} times the largest are searched${FEW_MOVED ? `; of all ${ALL_MOVES} numbers, the ${MOST_MOVES} that make another system as cheap soonest` : ""}.`);
}

/** All flips, the nearest first. */
function flipsByDistance(rows) {
  const flips = rows.flatMap(({ move, low, high }) =>
    [low, high].filter(Boolean).map((flip) => ({
      ...{ move, ...flip, relative: relativeMove(move, flip.value) },
      share: Math.abs(flip.value - move.now) / move.size,
    })),
  );
  return flips.sort(byNearness);
}

/** How a number moves at a flip, as a reader would type it; priors are in percent. */
const movesTo = ({ move, value }, from = "") =>
  `${value > move.now ? "rises" : "falls"} ${from}to ${move.d === null ? `${asTyped(inPercent(value))} %` : asTyped(value)}`;

/** How far that is from now: a multiple of the cost, or the other decision that costs as much. */
function farFromNow({ move: { k, d, now }, value }) {
  if (d === null) return "";
  if (now > 0 && value > 0) return value < 2 * now ? `, ${wholePercent(value / now)} of today’s` : `, ${short(value / now, 2)} times today’s`;
  const asMuch = decisions.filter((_, e) => e !== d && state.costs[k][e] === value);
  return asMuch.length ? `, as much as ${asMuch[0]}` : "";
}

const exactTextOf = ({ d }) => (d === null ? exactPercent : exact);
const nowText = ({ d, now }) => (d === null ? probabilityText(now) : pointText(now, 4));

/** Show the flips, the nearest first, and the numbers that never flip the verdict. */
function showFlipTable(rows, choice) {
  const flips = flipsByDistance(rows);
  const nearest = (row) => flips.findIndex(({ move }) => move === row.move);
  const neverLast = (row) => (nearest(row) < 0 ? flips.length : nearest(row));
  rows.sort((a, b) => neverLast(a) - neverLast(b));
  const never = rows.filter((row) => nearest(row) < 0).map((row) => row.move.name);
  const lines = (pad) => flips.map((flip) => ({
    cells: [
      flip.move.name,
      numberCell(flip.move.now, "strong", nowText(flip.move) + pad, exactTextOf(flip.move)),
      { text: tied(movesTo(flip)) + pad, title: exactTextOf(flip.move)(flip.value), lines: [], look: "words" },
      { text: html("span", {}, inWords(flip.possible, choice)), title: flip.possible.join(", "), lines: [], look: "words" },
    ],
  }));
  const table = (pad) => (flips.length ? [tableOf(["", "now", textCell("until it"), textCell("then")], lines(pad))] : []);
  const neverNote = html("p", { class: "hint foot" }, tied(`Moved alone, within the range searched, these change nothing: ${never.join("; ")}.`));
  const notes = never.length ? [neverNote] : [];
  showWithRoom(byId("flips"), [...table(""), ...notes], [...table(MORE_DIGITS), ...notes]);
  showNearest(flips, choice);
  const cellsOf = (flip) => (flip ? [flip.value, flip.verdict, flip.possible.join("; ")] : ["never", "", ""]);
  saved.flips = [
    ["number", "now", "below", "recommended", "may be the cheapest", "above", "recommended", "may be the cheapest"],
    ...rows.map((row) => [row.move.name, row.move.now, ...cellsOf(row.low), ...cellsOf(row.high)]),
  ];
}

const NEAR = Math.log(10); // a change of a number by a larger factor is not called near

/** The nearest flip as a sentence in the verdict. */
function showNearest([nearest], choice) {
  const when = READINGS[reading];
  if (!nearest) return showNearestChange(`none, ${when}: no number that is moved alone changes this within the range searched.`);
  const moves = `${movesTo(nearest, `from ${nowText(nearest.move)} `)}${farFromNow(nearest)}`;
  const stays = `${choice} stays the choice until the ${nearest.move.name} ${moves}; then ${inWords(nearest.possible, choice)}.`;
  return showNearestChange(nearest.relative <= NEAR ? `${when}, ${stays}` : `none near, ${when}: ${stays}`);
}

/** Connect the choice between decisions that follow a move and decisions that stay. */
function buildReadings() {
  byId("readings").hidden = !CAN_DECIDE_ANEW;
  for (const input of document.querySelectorAll("[name=reading]"))
    input.addEventListener("change", () => {
      reading = input.value;
      showRegions();
      showFlips();
    });
}
