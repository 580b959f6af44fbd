// Regions: where each system is the cheapest, over the prior, the cost proportion and the cost ratio.

const PRIOR_STEPS = range(61).map((i) => i / 60);

const priorLines = () => result.rivals.map((rival, i) => priorLine(rival, result.prior, LAST, i));
const lowest = (lines) =>
  lines.some((line) => Number.isFinite(line.start + line.end)) ? lowestLines(lines) : [];

/** Show costs over the prior and, where the page has no zones, the ranges in which each system wins. */
function showRegions() {
  const top = priorReach();
  saved.regions = regionsToSave;
  if (reading === "anew") drawPriorCurves(top);
  else drawPriorLines(priorLines(), top);
  if (FLIPPED) byId("regions-hint").textContent = zonesHint();
  else drawPriorBand(lowest(priorLines()), top);
}

/** Rows of the download: the ranges in which each system is the cheapest, with the current decisions. */
function regionsToSave() {
  const { prior, rivals } = result;
  const rows = (axis, parts) =>
    parts.map(({ low, high, names }) => [axis, low, high, names.map((i) => rivals[i].name).join("; ")]);
  const byPrior = [["axis", "low", "high", "cheapest"], ...rows(priorName(LAST), lowest(priorLines()))];
  if (!BINARY || FACTORS) return byPrior;
  const parts = lowest(rivals.map(({ counts }, i) => proportionLine(counts, prior, i)));
  const ratios = parts.map((part) => ({ ...part, low: ratioOf(part.low), high: ratioOf(part.high) }));
  return [...byPrior, ...rows("cost proportion", parts), ...rows("false alarm : miss", ratios)];
}

/** The cost ratio of a false alarm to a miss that has this cost proportion. */
const ratioOf = (proportion) => (proportion < 1 ? proportion / (1 - proportion) : Infinity);

/** A cost ratio as it is said in a sentence. */
function ratioText(ratio) {
  if (!(ratio > 0) || !Number.isFinite(ratio)) return short(ratio);
  return ratio < 1 ? `1 : ${short(1 / ratio, 3)}` : `${short(ratio, 3)} : 1`;
}

/** Shades of one hue, for the systems of one model. */
function shade(rival) {
  const sameHue = result.rivals.filter(({ look }) => look === rival.look);
  return `${rival.look} s${sameHue.indexOf(rival) % SHADES}`;
}

/** The ranges of the prior in which each system is the cheapest: a band and, below it, words. */
function drawPriorBand(parts, top) {
  const { prior, rivals } = result;
  const shown = parts.map(({ low, high, names }) => ({
    low,
    high,
    label: names.map((i) => rivals[i].name).join(", ") || "undefined",
    look: names.length ? shade(rivals[names[0]]) : "plain",
    edge: probabilityText(high),
    span: `${probabilityText(low)} to ${probabilityText(high)}`,
    lines: [
      ["from", exactPercent(low)],
      ["to", exactPercent(high)],
    ],
  }));
  const title = `Cheapest over the ${priorName(LAST)}, with the decisions as they are made now`;
  const host = byId("prior-band");
  drawBand(host, { parts: shown, bounds: [0, top], now: prior[LAST], inset: drawn["prior-chart"].inset, title });
  host.append(partsInWords(shown));
}

const partsInWords = (parts) =>
  html(
    "ol",
    { class: "parts" },
    parts.map(({ label, look, span }) =>
      html(
        "li",
        {},
        html("i", { class: `block ${look}` }),
        html("b", {}, label),
        html("span", {}, ` ${span}`),
      ),
    ),
  );

// Costs over the prior ----------------------------------------------------------------------------

/** With the current decisions: a straight line for each system. */
function drawPriorLines(lines, top) {
  const { costs, rivals } = result;
  const winners = new Set(lowest(lines).flatMap((part) => part.names));
  const reachableNow = BANDED ? reachable(costs) : null;
  const systems = rivals.filter((rival) => "reported" in rival); // constant decisions, which come last, have one line
  const series = systems.map((system, i) => {
    const at = (x) => (1 - x) * lines[i].start + x * lines[i].end;
    const bounds = (x) => {
      const prior = priorWith(LAST, x);
      const cost = expectedCost(system.counts, costs, prior) + system.running;
      return intervalOfSystem({ ...system, cost }, { costs: state.costs, prior }, reachableNow);
    };
    const points = PRIOR_STEPS.map((step) => [step * top, at(step * top)]);
    return priorSeries(system, winners.has(i), { at, bounds, points });
  });
  drawPriorChart("decisions as they are", series, top);
}

/** With decisions that follow the prior. */
function drawPriorCurves(top) {
  const stakesAt = (x) => ({ costs: state.costs, prior: priorWith(LAST, x) });
  const systems = SYSTEMS.filter((system) => system.candidate && (inTables(system.model) || system.name === result.best.name));
  const curves = systems.map((system) => {
    const at = (x) => expectedCost(decide(system, stakesAt(x)).counts, state.costs, stakesAt(x).prior) + system.running;
    const bounds = (x) => intervalOfSystem(withCosts(system, decide(system, stakesAt(x)), stakesAt(x), NaN), stakesAt(x));
    // posteriors cannot be moved to a prior of exactly zero
    const points = PRIOR_STEPS.map((step) => step * top || 1e-9).map((x) => [x, at(x)]);
    return { at, bounds, points };
  });
  const winners = new Set(PRIOR_STEPS.map((_, i) => lowestOf(curves.map(({ points }) => points[i][1]))[0]));
  drawPriorChart("decided anew", systems.map((system, i) => priorSeries(system, winners.has(i), curves[i])), top);
}

/** The line of a system: named, and with its interval if that is known, where it is the cheapest somewhere. */
const priorSeries = (system, wins, { at, bounds, points }) => ({
  ...(BANDED && wins && "model" in system ? { bounds, banded: system.name === result.best.name } : {}),
  name: wins ? system.name : null,
  label: wins ? system.name : null,
  look: `${system.look}${wins ? "" : " faint"}`,
  at,
  points,
});

/** Draw the lines of the systems over the prior, with that of the best constant decision. */
function drawPriorChart(how, series, top) {
  const naive = (x) => naiveDecision(result.costs, priorWith(LAST, x)).cost;
  const constant = constantLine(naive, top);
  const heights = constant.points.map(([, cost]) => cost).filter(Number.isFinite);
  const few = CROWDED && reading === "anew" ? " Lines: the models that the charts show." : "";
  const bandName = series.find(({ banded }) => banded)?.name;
  const shaded = shadedParts(byId("prior-chart"), naive, series, top);
  const faint = series.some(({ name }) => !name) ? " Named lines are the cheapest at some prior, faint ones at none." : "";
  byId("prior-note").textContent = tied(`${faint}${shadedText(shaded)}${few}${bandText(bandName)}`.trim());
  drawChart(byId("prior-chart"), {
    title: `Cost per case over the ${priorName(LAST)}, ${how}`,
    ratio: 0.4,
    x: shareAxis(priorName(LAST), [0, top]),
    y: { label: COST_AXIS, domain: [Math.min(0, ...heights), 1.5 * Math.max(...heights, 1e-12)] },
    shaded,
    series: [{ ...constant, label: constant.name }, ...series],
    marks: condition(result.prior[LAST], "now"),
    dots: [],
  });
}
