// Rule: at which probability or score the deployed rule changes its decision.

const SLIVER = 0.04; // share of an axis: narrower parts are too thin to see

/** A probability in percent, with this many digits of it or of its distance to 100 %. */
function probabilityText(share, digits = 3) {
  if (!(share > 0 && share < 1)) return Number.isFinite(share) ? `${short(100 * share)} %` : short(share);
  const [factor, power] = Number(proportionText(share, digits).replace("−", "-")).toExponential().split("e");
  const percents = Number(`${factor}e${Number(power) + 2}`);
  return `${percents.toFixed(Math.max(0, factor.replace(".", "").length - Number(power) - 3))} %`;
}

/** A probability in percent, with all digits. */
const exactPercent = (share) => (Number.isFinite(share) ? `${exact(inPercent(share))} %` : exact(share));

/** The threshold of a system, with the corrected probability in brackets, or a word that it is one. */
const thresholdText = ({ change }) => (change ? `${cutWithShare(change, 0)}${change.on_column ? "" : " corrected"}` : short(null));

/** An axis from low to high: `at` maps a value to its place on the axis, `from` maps it back. */
const straight = (low, high) => ({ low, high, at: (x) => x, from: (x) => x, log: false });

/** An axis that shows all these probabilities, in log-odds if a part would be too narrow otherwise. */
function probabilityAxis(shares) {
  const inner = shares.filter((share) => share > 0 && share < 1).sort((a, b) => a - b);
  const [least, most] = [inner[0] ?? 0.5, inner[inner.length - 1] ?? 0.5];
  const top = most < 0.4 ? roundUp(1.6 * most) : 1;
  const gaps = [0, ...inner, top].map((edge, i, all) => (i ? (edge - all[i - 1]) / top : 1));
  if (Math.min(...gaps) >= SLIVER) return straight(0, top);
  const bounds = [logOdds(least) - 2, logOdds(most) + 2];
  const at = (share) => clamped(logOdds(clamped(share, [0, 1])), bounds);
  return { low: bounds[0], high: bounds[1], at, from: fromLogOdds, log: true };
}

// whether some rule can be drawn along an axis
const RULED = TWO && !TERMS && SYSTEMS.some((system) => system.change);

/** The decisions of a system along its axis, and what the axis shows; null if it has none. */
function ruleOf({ change, model: index }) {
  if (TERMS || !change || change.at.some(Number.isNaN)) return null;
  const model = MODELS[index];
  const isShare = !change.on_column || model.kind === "posteriors";
  const [least, most] = isShare ? [0, 1] : [-Infinity, Infinity];
  const parts = takenParts(change).map(({ low, high, decision }) => ({ low: Math.max(low, least), high: Math.min(high, most), decision }));
  const { scores } = model.table ?? { scores: [0, 1] };
  const axis = isShare ? probabilityAxis(parts.slice(0, -1).map(({ high }) => high)) : straight(scores[0], scores[scores.length - 1]);
  const ofModel = isShare ? `probability of ${classes[1]}${change.corrected.length ? ` that ${model.name} gives` : ""}` : `score of ${model.name}`;
  return {
    parts,
    axis,
    format: (value) => cutText(change, value),
    formatExact: change.percent || !change.on_column ? exactPercent : exact,
    edge: (value) => (change.at.includes(value) ? cutWithShare(change, change.at.indexOf(value)) : ""),
    of: change.on_column ? ofModel : `corrected probability of ${classes[1]}`,
  };
}

/** Show which decision the rule of the cheapest system makes along its axis. */
function showRule() {
  const system = systemInUse(result);
  const rule = ruleOf(system);
  const from = rule && rule.axis.low > 0 && !rule.axis.log ? ` from ${rule.format(rule.axis.low)}` : "";
  const upTo = rule && rule.axis.high < 1 && !rule.axis.log ? `, up to ${rule.format(rule.axis.high)}` : "";
  const title = rule
    ? `${system.name} decides by the ${rule.of}${from}${upTo}${rule.axis.log ? " (axis of log-odds)" : ""}`
    : `${system.name} decides by itself: it has no threshold to draw`;
  byId("rule-name").textContent = tied(title);
  const parts = rule ? rule.parts : [];
  const { low, high, at } = rule ? rule.axis : straight(0, 1);
  drawBand(byId("rule"), {
    title: `${title}: ${parts.map((part) => `${decisions[part.decision]} up to ${rule.format(part.high)}`).join(", ")}`,
    bounds: [low, high],
    ends: rule ? [low, high].map((end) => rule.format(rule.axis.from(end))) : [],
    parts: parts.map((part) => ({
      low: at(part.low),
      high: part.high < Infinity ? at(part.high) : high,
      label: decisions[part.decision],
      look: tone(part.decision),
      edge: rule.edge(part.high),
      lines: [
        ["from", rule.formatExact(part.low)],
        ["to", rule.formatExact(part.high)],
      ],
    })),
  });
}
