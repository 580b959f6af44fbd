// Zones: what may be the cheapest over the prior, the cost proportion and the cost ratio.

/** Points of an axis with the present one among them, where the zone must agree with the verdict. */
const withNow = (points, now) =>
  now > points[0] && now < points[points.length - 1] ? [...points, now].sort((a, b) => a - b) : points;

/** Axes on which the page shows what may be the cheapest. `of` names an axis whose zones are reused. */
function zoneAxes() {
  const top = priorReach();
  const priorOnly = [
    {
      id: "prior-band",
      name: priorName(LAST),
      bounds: [0, top],
      points: withNow(range(40).map((i) => ((i + 0.5) / 40) * top), state.prior[LAST]),
      stakesAt: (x) => ({ costs: state.costs, prior: priorWith(LAST, x) }),
      now: state.prior[LAST],
      format: probabilityText,
      formatExact: exactPercent,
      inset: drawn["prior-chart"].inset,
    },
  ];
  if (!BINARY || FACTORS) return priorOnly; // running costs have no place on an axis of proportions
  const proportions = {
    name: "cost proportion",
    bounds: [0, 1],
    points: withNow(range(40).map((i) => fromLogOdds(-6 + (12 * (i + 0.5)) / 40)), proportion()),
    stakesAt: (c) => ({ costs: [[0, 2 * c], [2 * (1 - c), 0]], prior: state.prior }),
    now: proportion(),
    format: pointText,
  };
  return [
    ...priorOnly,
    { ...proportions, id: "proportion-band" },
    { ...proportions, id: "ratio-band", of: "proportion-band", bounds: [-2.6, 2.6], at: (c) => Math.log10(ratioOf(c)), format: (c) => ratioText(ratioOf(c)), as: ratioOf, name: "false alarm : miss" },
  ];
}

const MOST_BORDERS = 3; // that are looked for between two neighbouring points

/** The models among those that may be the cheapest; zones differ in these. */
const modelsAmong = (possible) => [...new Set(possible.map(modelOf))].sort().join("\n");

/** Whether more models may be the cheapest than words name. */
const isCrowd = (possible) => new Set(possible.map(modelOf)).size > MOST_LISTED;

/**
 * The zone that follows on another one before x, where `possible` may be the cheapest. The border of
 * two crowds need not be as exact. A generator, so that the page can respond between steps.
 */
function* zoneAfter(zone, x, possible, namesAt) {
  let [near, far] = [zone.high, x];
  const steps = isCrowd(zone.possible) && isCrowd(possible) ? 3 : 5;
  for (let step = 0; step < steps; step += 1) {
    const midpoint = (near + far) / 2;
    yield;
    const names = namesAt(midpoint);
    if (modelsAmong(names) === modelsAmong(zone.possible)) near = midpoint;
    else [far, possible] = [midpoint, names];
  }
  return { low: near, high: far, possible };
}

/** Pieces of work that search for the zones of an axis, and a last one that draws them. */
function zonePieces(axis, kept, zones) {
  const names = (x) => standingAt(axis.stakesAt(x), kept).possible();
  const zonesFound = [];
  if (axis.of) return [() => drawZones(axis, zones.get(axis.of))];
  const visit = function* (x) {
    const possible = names(x);
    if (!zonesFound.length) zonesFound.push({ low: axis.bounds[0], high: x, possible });
    let last = zonesFound[zonesFound.length - 1];
    for (let borders = 0; modelsAmong(last.possible) !== modelsAmong(possible); borders += 1) {
      const next = borders < MOST_BORDERS ? yield* zoneAfter(last, x, possible, names) : { low: last.high, possible };
      last.high = next.low;
      last = modelsAmong(next.possible) === modelsAmong(possible) ? { ...next, possible } : next;
      zonesFound.push(last);
    }
    last.high = x;
  };
  return [
    ...axis.points.map(visit),
    () => {
      zonesFound[zonesFound.length - 1].high = axis.bounds[1];
      zones.set(axis.id, zonesFound);
      drawZones(axis, zonesFound);
    },
  ];
}

const MOST_ZONES = 3; // that are listed in words

const NARROWEST = 0.005; // of an axis: a narrower zone is mentioned with its neighbour

/** Models that may be the cheapest in a sliver: their number, where they are many. */
const inBrief = (possible, label) =>
  isCrowd(possible) ? `any of ${new Set(possible.map(modelOf)).size}` : label;

/**
 * Zones as they are shown: neighbours of the same models are one, since they differ in the rules of
 * these only, and slivers are part of the zone before them, or of the one after them at the start.
 */
function joinedZones(zones, isSliver) {
  const joined = [];
  for (const { low, high, possible } of zones) {
    const label = inWords(inOrder(possible));
    const last = joined[joined.length - 1];
    const brief = isSliver({ low, high });
    if (last && (brief || last.label === label)) {
      last.high = high;
      if (!brief) last.possible = [...new Set([...last.possible, ...possible])];
      else if (last.label !== label) last.briefly.add(inBrief(possible, label));
    } else if (last && isSliver(last)) {
      joined[joined.length - 1] = { low: last.low, high, possible, label, briefly: new Set([inBrief(last.possible, last.label), ...last.briefly]) };
    } else joined.push({ low, high, possible, label, briefly: new Set() });
  }
  return joined;
}

/** Draw the zones of an axis as a band. */
function drawZones({ id, name, bounds: [low, high], now, format, formatExact = exact, at = (x) => x, as = (x) => x, inset }, zones) {
  const within = (x) => clamped(at(x), [low, high]);
  const isSliver = (zone) =>
    !(zone.low <= now && now <= zone.high) &&
    (within(zone.high) - within(zone.low) < NARROWEST * (high - low) || format(zone.low) === format(zone.high));
  const shown = joinedZones(zones, isSliver).map((zone) => {
    const models = [...new Set(zone.possible.map(modelOf))];
    const system = SYSTEMS.find((other) => other.name === zone.possible[0]); // elsewhere the prior is moved
    return {
      low: within(zone.low),
      high: within(zone.high),
      label: zone.label,
      brief: [models.length > 1 ? `any of ${models.length}` : models[0]],
      look: models.length === 1 && system ? system.look : "plain",
      edge: format(zone.high),
      span: `${`${format(zone.low)} to ${format(zone.high)}`.replaceAll(" ", "\u00a0")}${zone.briefly.size ? `, briefly also ${[...zone.briefly].join("; ")}` : ""}`,
      lines: [
        ["from", formatExact(as(zone.low))],
        ["to", formatExact(as(zone.high))],
        ...zone.possible.slice(0, 8).map((name) => ["", name]),
      ],
    };
  });
  const title = `What may be the cheapest over the ${name}, ${READINGS[reading]}`;
  drawBand(byId(id), { parts: shown, bounds: [low, high], now: within(now), title, ...(inset ? { inset } : {}) });
  const today = within(now);
  const distance = (zone) => Math.max(zone.low - today, today - zone.high, 0);
  const byDistance = [...shown].sort((a, b) => distance(a) - distance(b));
  const nearest = byDistance.slice(0, MOST_ZONES);
  const listed = (parts, all) => [
    partsInWords(parts),
    ...(all > MOST_ZONES ? [html("p", { class: "hint foot" }, `The nearest zones; the CSV has all ${zones.length}.`)] : []),
  ];
  const length = ({ label, span }) => label.length + span.length;
  const longestFirst = byDistance.slice(0, MOST_ZONES + 2).sort((a, b) => length(b) - length(a));
  const picture = byId(id).firstChild;
  // after a change, others may be the nearest, or one more
  const others = [...longestFirst, longestFirst[0]].slice(0, MOST_ZONES);
  showWithRoom(
    byId(id),
    [picture, ...listed(shown.filter((zone) => nearest.includes(zone)), shown.length)],
    [picture, ...listed(others, shown.length + 1)],
  );
}

/** Rows of the download: the zones of all axes. */
function saveZones() {
  saved.zones = [["axis", "low", "high", "may be the cheapest"]];
  for (const { id, of, name, as = (x) => x } of zoneAxes())
    for (const { low, high, possible } of knownFlips.zones.get(of || id))
      saved.zones.push([name, as(low), as(high), possible.join("; ")]);
}

const zonesHint = () =>
  `What may be the cheapest, ${READINGS[reading]}: one model, or several where the data cannot tell (grey). A constant decision is a rival, too, shown as “always …”. Zones of less than half a percent of the axis are mentioned with their neighbour. The triangle marks the present value.`;
