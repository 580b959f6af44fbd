// Own column: the cuts of what a model itself gives, from those of the probabilities that a rule makes of it.

const MOST_DIGITS = 17; // they tell all numbers apart
const logOdds = (share) => Math.log(share / (1 - share));
const fromLogOdds = (odds) => 1 / (1 + Math.exp(-odds));

/** The highest score that rising points map to this value or less: -Infinity if none, Infinity if all are. */
function scoreAt({ scores, values }, value) {
  const j = cutAbove(values, value);
  if (!j) return -Infinity;
  if (j === values.length) return Infinity;
  const share = (value - values[j - 1]) / (values[j] - values[j - 1]);
  return scores[j - 1] + share * (scores[j] - scores[j - 1]);
}

/** The highest score that a calibration map corrects to this probability or less. */
function scoreOfMap(curve, share) {
  const score = scoreAt(curve, curve.odds ? logOdds(share) : share);
  return curve.of_odds && Number.isFinite(score) ? fromLogOdds(score) : score;
}

/** What a model gives where its probability, corrected in a way and for a prior, is this one; null if unknown. */
function ownScoreOf({ way, change }, prior) {
  const backTo = (known) => (share) => (share > 0 && share < 1 ? movedBy(share, priorRatios(prior, known)) : share);
  if (way === "as is") return (share) => share;
  if (way === "moved") return backTo(DATA.holds_for);
  const { curve } = change;
  return curve ? (share) => scoreOfMap(curve, backTo(curve.holds_for ?? DATA.prior)(share)) : null;
}


/** The fewest digits to which cuts can be rounded so that they decide all scores alike. */
function digitsOf(cuts, table) {
  const finite = cuts.filter(Number.isFinite);
  const place = (cut) => cutAbove(table.scores, cut);
  const read = (text) => Number(text.replace("−", "-").replace(/,/g, ""));
  const alike = (cut, digits) => place(read(pointText(cut, digits))) === place(cut);
  const fewest = (cut) => range(MOST_DIGITS + 1).find((digits) => digits > 2 && alike(cut, digits)) ?? MOST_DIGITS;
  return Math.max(3, ...(table ? finite.map(fewest) : []));
}

/** Where the decisions of a system change at other stakes, and between which decisions. */
function changeAt(system, { costs, prior }) {
  const ranges = BINARY ? [0, 1].map((decision) => ({ decision, high: bayesThreshold(costs) })) : decisionRanges(costs);
  const below = ranges.slice(0, -1);
  const [shares, exact] = [below.map(({ high }) => high), below.map((part, i) => cutBetween(part, ranges[i + 1]))];
  const toOwn = ownScoreOf(system, prior);
  const at = toOwn ? exact.map(toOwn) : shares;
  return {
    ...system.change,
    at,
    corrected: toOwn && system.way !== "as is" ? shares : [],
    decisions: ranges.map(({ decision }) => decision),
    on_column: Boolean(toOwn),
    digits: digitsOf(at, MODELS[system.model].table),
  };
}

/** The decisions that a system takes, with the scores between which it takes them. */
function takenParts({ at, decisions: order }) {
  const ordered = order.length ? order : orderOfDecisions(result.costs);
  return ordered.map((decision, i) => ({ low: at[i - 1] ?? -Infinity, high: at[i] ?? Infinity, decision })).filter(({ low, high }) => high > low);
}

/** A cut in writing: in percent where costs decide by the probability as it is, else as the column has it. */
const cutText = ({ percent: inShares, on_column: onColumn, digits }, cut) => (inShares || !onColumn ? probabilityText(cut, digits) : pointText(cut, digits));

/** The same with the corrected probability in brackets. */
const cutWithShare = (change, i) => `${cutText(change, change.at[i])}${change.corrected.length ? ` (${probabilityText(change.corrected[i])})` : ""}`;

/** The cuts of a system in words that can be followed; empty where it has none. */
function cutsInWords({ name, change, model }) {
  if (!change || change.at.some(Number.isNaN)) return "";
  const parts = takenParts(change);
  const last = decisions[parts[parts.length - 1].decision];
  if (parts.length === 1) return `always ${last}`;
  const where = change.corrected.length ? ` where ${MODELS[model].name} is` : "";
  const low = parts.slice(0, -1).map(({ decision, high }, i) => `${decisions[decision]}${i ? "" : where} up to ${cutText(change, high)}`);
  const cuts = BINARY ? `${last}${where} above ${cutText(change, change.at[0])}` : `${low.join(", ")}, ${last} above`;
  const ends = parts.slice(0, -1).map(({ high }) => high); // a decision that no score receives has no cut
  const shares = change.corrected.filter((_, i) => ends.includes(change.at[i])).map((share) => probabilityText(share));
  if (shares.length) return `${cuts}; corrected ${shares.length > 1 ? "probabilities" : "probability"} ${shares.join(" and ")}`;
  return change.on_column ? cuts : `by the corrected probability, as report.rule('${name}') does: ${cuts}`;
}
