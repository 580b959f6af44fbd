// The table of flips, and the sentence about the nearest change in the verdict.

const MORE_DIGITS = "00"; // never seen: they measure the room for longer numbers

/** A number as a reader would type it. */
const asTyped = (value) =>
  withMinusSigns(String(Number(value.toPrecision(9))).replace(/^-?\d{5,}/, (whole) => Number(whole).toLocaleString("en-US")));

let knownFlips = null; // results of the last complete search, with the key of its stakes
let searchedKey = null; // key of the stakes of the search that is running

/** What the results of a search depend on. */
const flipsKey = () => JSON.stringify([state, reading, priorReach()]);
const areFlipsKnown = () => knownFlips?.key === flipsKey();

/** Say at once that what was found for other stakes is being searched again. */
function showFlipsAge() {
  if (!areFlipsSought() || areFlipsKnown()) return;
  document.body.classList.add("searching-flips", "searching-zones");
  showNearestChange("still being computed.");
}

/** Whether flips can be found: costs are defined, and not all zero. */
const areFlipsSought = () =>
  FLIPPED && Number.isFinite(result.best.cost) && (FACTORS || largest(result.costs.flat()) > 0);

/** Leave nothing that was found for other stakes where nothing can be. */
function forgetFlips() {
  runInPieces([], () => {}); // ends the search
  [knownFlips, searchedKey] = [null, null];
  document.body.classList.remove("searching-flips", "searching-zones");
  for (const id of ["prior-band", "proportion-band", "ratio-band"]) byId(id).replaceChildren();
  saved.zones = [ZONES_HEAD];
}

/** Show flips, zones and the sentence in the verdict: start a search, or reuse its results. */
function showFlips() {
  const sought = areFlipsSought();
  byId("flips-section").hidden = !sought;
  byId("nearest-flip").hidden = !sought && FLIPPED;
  if (!sought) return FLIPPED && forgetFlips();
  const choice = choiceNow();
  byId("flips-hint").textContent = flipsHint();
  const key = flipsKey();
  if (areFlipsKnown()) showFlipTable(knownFlips.rows, choice);
  if (knownFlips) for (const axis of zoneAxes()) drawZones(axis, knownFlips.zones.get(axis.of || axis.id));
  if (areFlipsKnown()) document.body.classList.remove("searching-flips", "searching-zones");
  if (searchedKey === key || (areFlipsKnown() && !searchedKey)) return;
  searchedKey = key;
  showFlipsAge();
  const kept = reading === "kept";
  const results = { key, zones: new Map(), rows: movesNow().map((move) => ({ move, low: null, high: null })) };
  const search = function* (row) {
    row.low = yield* searchSide(row.move, -1, choice, kept);
    row.high = yield* searchSide(row.move, 1, choice, kept);
  };
  const pieces = results.rows.map(search);
  pieces.push(() => {
    document.body.classList.remove("searching-flips");
    showFlipTable(results.rows, choice);
  });
  for (const axis of zoneAxes()) pieces.push(...zonePieces(axis, kept, results.zones));
  runInPieces(pieces, () => {
    [knownFlips, searchedKey] = [results, null];
    saveZones();
    document.body.classList.remove("searching-zones");
  });
}

/** Explanation of how the flips were searched. */
function flipsHint() {
  const decided = {
    anew: `Bayes decisions follow the number that moves${onPaper ? "" : ", as with the sliders: type a value, and you get what is listed"}.`,
    kept: `All decisions stay as they are made now, and only their costs move${CAN_DECIDE_ANEW ? "; the sliders decide anew all the same" : ""}.`,
  }[reading];
  const limitation = CAN_DECIDE_ANEW ? "" : " On this page decisions cannot be made anew: evaluate again with other costs.";
  const certainty = JOINT
    ? "Today’s choice is ruled out where the data can tell that something else is cheaper, or where it decides as something without a model does; what is recommended may change before, as a close call."
    : "By the costs on these cases alone: how sure they are elsewhere cannot be said from this page.";
  const twins = reading === "anew" && namesOfChoice(choiceNow()).length > 1 ? " A model as is and moved, by its probabilities converted to another prior, is one choice." : "";
  const absent = ABSENT.length ? ` The share of ${absentNames()} is not moved: without a case of it, what models cost there is not known.` : "";
  return tied(`Each number moved alone. ${decided} ${certainty}${twins}${absent}${limitation} The nearest first, by the factor on a number; moves from or to zero last. Costs up to ${FARTHEST} times the largest are searched${FEW_MOVED ? `; of all ${ALL_MOVES} numbers, the ${MOST_MOVES} that make another system as cheap soonest` : ""}. Numbers move in steps: a change that lasts for less than one may be missed.`);
}

/** What was found of one kind, `change` or `flip`, on both sides of all numbers, the nearest first. */
function byDistance(rows, kind) {
  const changes = rows.flatMap(({ move, low, high }) =>
    [low, high].filter((side) => side && side[kind]).map((side) => ({
      ...{ move, side, ...side[kind], relative: relativeMove(move, side[kind].value) },
      share: Math.abs(side[kind].value - move.now) / move.size,
    })),
  );
  return changes.sort(byNearness);
}

/** How a number moves at a flip, as a reader would type it; priors are in percent. */
const movesTo = ({ move, value }, from = "") =>
  `${value > move.now ? "rises" : "falls"} ${from}to ${move.d === null ? `${asTyped(inPercent(value))} %` : asTyped(value)}`;

/** How far that is from now: a multiple of the cost, or the other decision that costs as much. */
function farFromNow({ move: { k, d, now }, value }) {
  if (d === null || Math.abs(value - now) < 0.1 * now) return ""; // near enough to be seen
  if (now > 0 && value > 0) return value < 2 * now ? `, ${wholePercent(value / now)} of today’s` : `, ${short(value / now, 2)} times today’s`;
  const asMuch = decisions.filter((_, e) => e !== d && state.costs[k][e] === value);
  return asMuch.length ? `, as much as that of ${asMuch[0]}` : "";
}

const exactTextOf = ({ d }) => (d === null ? exactPercent : exact);
const nowText = ({ d, now }) => (d === null ? probabilityText(now) : pointText(now, 4));

/** A cell that says how a number moves, and what then. */
function moveCell(move, change, names) {
  if (!change) return textCell("–");
  const text = html("span", {}, `${tied(movesTo({ move, ...change }))}: ${names}`);
  return { text, title: exactTextOf(move)(change.value), lines: [["", change.possible.slice(0, 8).join(", ")]], look: "words" };
}

/** Show what changes, the nearest first, and the numbers that change nothing. */
function showFlipTable(rows, choice) {
  const changes = byDistance(rows, "change");
  const nearest = (row) => changes.findIndex(({ move }) => move === row.move);
  const neverLast = (row) => (nearest(row) < 0 ? changes.length : nearest(row));
  rows.sort((a, b) => neverLast(a) - neverLast(b));
  const never = rows.filter((row) => nearest(row) < 0).map((row) => row.move.name);
  const lines = () => changes.map(({ move, side: { change, flip } }) => ({
    cells: [
      move.name,
      numberCell(move.now, "strong", nowText(move), exactTextOf(move)),
      moveCell(move, change, change.verdict),
      moveCell(move, flip, flip && inWords(flip.possible, choice)),
    ],
  }));
  const heads = ["", "now", textCell("something else is recommended once it"), textCell("today’s choice is ruled out once it")];
  // after a change more numbers may have something to say: a row that is never seen keeps room, on a phone two
  const lengthOf = ({ cells }) => sum(cells.slice(2).map(({ text }) => (text.textContent ?? text).length));
  const longest = () => lines().sort((a, b) => lengthOf(b) - lengthOf(a));
  const spare = () => longest().slice(0, Math.min(innerWidth > 620 ? 1 : 2, 2 * rows.length - changes.length));
  const table = (more) => (changes.length ? [tableOf(heads, [...lines(), ...more])] : []);
  const neverNote = html("p", { class: "hint foot" }, tied(`Moved alone, within the range searched, these change nothing: ${never.join("; ")}.`));
  const notes = never.length ? [neverNote] : [];
  showWithRoom(byId("flips"), [...table([]), ...notes], [...table(spare()), ...notes]);
  showNearestChange(nearestInWords(changes, byDistance(rows, "flip"), choice));
  saved.flips = flipsToSave(rows);
}

/** Rows of the download. */
function flipsToSave(rows) {
  const flipCells = ({ flip }) => (flip ? [flip.value, flip.verdict, flip.possible.join("; ")] : ["never", "", ""]);
  const changeCells = ({ change }) => (change ? [change.value, change.verdict] : ["never", ""]);
  const ruledOut = ["recommended", "may be the cheapest"];
  return [
    ["number", "now", "ruled out below", ...ruledOut, "ruled out above", ...ruledOut, "changes below", "recommended", "changes above", "recommended"],
    ...rows.map(({ move, low, high }) => [move.name, move.now, ...flipCells(low), ...flipCells(high), ...changeCells(low), ...changeCells(high)]),
  ];
}

const NEAR = Math.log(10); // a change of a number by a larger factor is not called near

/** The nearest change of the recommendation, and where the choice is ruled out, in words. */
function nearestInWords([change], [flip], choice) {
  const when = READINGS[reading];
  if (!change) return noChange(when, " within the range searched");
  const moved = (to) => `the ${to.move.name} ${movesTo(to, `from ${nowText(to.move)} `)}${farFromNow(to)}`;
  const begin = change.relative <= NEAR ? `${when}, ` : `none near, ${when}: `;
  if (change.isClear) return `${begin}${choice} stays the choice until ${moved(change)}; then ${inWords(change.possible, choice)}.`;
  const ruledOut = flip
    ? `Apart from narrow ranges in between, ${choice} cannot be ruled out until ${moved(flip)}; then ${inWords(flip.possible, choice)}.`
    : `No number that is moved alone rules out ${choice} within the range searched.`;
  return `${begin}${change.verdict} would be recommended once ${moved(change)}, a close call. ${ruledOut}`;
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
