// Rule: at which probability or score the deployed rule changes its decision.

const SLIVER = 0.04; // share of an axis: narrower parts are too thin to see
const logOdds = (share) => Math.log(share / (1 - share));
const fromLogOdds = (odds) => 1 / (1 + Math.exp(-odds));

/** A probability in percent, with this many digits of it or of its distance to 100 %. */
function probabilityText(share, digits = 3) {
  if (!(share > 0 && share < 1)) return Number.isFinite(share) ? `${short(100 * share)} %` : short(share);
  const [factor, power] = Number(proportionText(share, digits).replace("−", "-")).toExponential().split("e");
  const percents = Number(`${factor}e${Number(power) + 2}`);
  return `${percents.toFixed(Math.max(0, factor.replace(".", "").length - Number(power) - 3))} %`;
}

/** A probability in percent, with all digits. */
const exactPercent = (share) => (Number.isFinite(share) ? `${exact(inPercent(share))} %` : exact(share));

/** Whether the threshold of a system is a probability; otherwise it is a score on its own scale. */
const byProbability = ({ posterior, model }) => posterior || MODELS[model].kind === "posteriors";
const thresholdText = (system) =>
  byProbability(system) ? probabilityText(system.threshold) : pointText(system.threshold, 4);

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

/** Whether a system decides by one threshold, which is tuned here or stays that of the report. */
const hasOneThreshold = ({ way, rule, threshold }) =>
  way === "tuned" || (way === "fixed" && BINARY && rule !== DATA.as_decided && Number.isFinite(threshold));
// whether some rule can be drawn along an axis
const RULED = TWO && !TERMS && SYSTEMS.some((system) => system.way !== "fixed" || hasOneThreshold(system));

/** The decisions of a system along its axis, and what the axis shows; null if it has none. */
function ruleOf(system) {
  if (TERMS || system.rule === DATA.as_decided || (system.way === "fixed" && !hasOneThreshold(system))) return null;
  const model = MODELS[system.model];
  const [format, formatExact] = byProbability(system) ? [probabilityText, exactPercent] : [(value) => pointText(value, 4), exact];
  if (!hasOneThreshold(system)) {
    const parts = decisionRanges(result.costs);
    const axis = probabilityAxis(parts.slice(0, -1).map((part) => part.high));
    const kind = system.way === "recalibrated" ? "recalibrated probability" : "probability";
    return { parts, axis, format, formatExact, of: `${kind} of ${classes[1]}` };
  }
  const cut = system.threshold;
  if (Number.isNaN(cut)) return null;
  const parts = [
    { low: -Infinity, high: cut, decision: 0 },
    { low: cut, high: Infinity, decision: 1 },
  ];
  if (byProbability(system)) return { parts, axis: probabilityAxis([cut]), format, formatExact, of: `probability of ${classes[1]}` };
  const { scores } = model.table;
  const axis = straight(scores[0], scores[scores.length - 1]);
  return { parts, axis, format, formatExact, of: `score of ${model.name}` };
}

/** Show which decision the rule of the cheapest system makes along its axis. */
function showRule() {
  const rule = ruleOf(result.best);
  const from = rule && rule.axis.low > 0 && !rule.axis.log ? ` from ${rule.format(rule.axis.low)}` : "";
  const upTo = rule && rule.axis.high < 1 && !rule.axis.log ? `, up to ${rule.format(rule.axis.high)}` : "";
  const title = rule
    ? `${result.best.name} decides by the ${rule.of}${from}${upTo}${rule.axis.log ? " (axis of log-odds)" : ""}`
    : `${result.best.name} decides by itself: it has no threshold to draw`;
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
      edge: rule.format(part.high),
      lines: [
        ["from", rule.formatExact(part.low)],
        ["to", rule.formatExact(part.high)],
      ],
    })),
  });
}
