// Zones: what may be the cheapest over the prior, the cost proportion and the cost ratio.

/** Points of an axis with the present one among them, where the zone must agree with the verdict. */
const withNow = (points, now) =>
  now > points[0] && now < points[points.length - 1] ? [...points, now].sort((a, b) => a - b) : points;

// With many systems a search at every position of a slider would take too long.
const STRIDE = Math.ceil(SYSTEMS.length / 30);

/** Shares at evenly spaced log-odds. */
const sharesAt = (logOddsOfPoints) => logOddsOfPoints.filter((_, i) => i % STRIDE === 0).map(fromSliderOfShare);

/** The positions of the slider of a prior below a share, and the share itself. */
const sliderShares = (top) => [...sharesAt(range(361).map((i) => -9 + PRIOR_STEP * i)).filter((share) => share < top), ...(top < 1 ? [top] : [])];

/** A share, a number or a ratio as text, rounded up or down to few digits, with its value. */
const asPercent = (share, digits, up) => {
  const value = 100 * share;
  const rounded = roundedUpOrDown(value, powerOf(value > 99 ? 100 - value : value) - digits + 1, up);
  return { value: rounded / 100, text: `${short(rounded, 8)} %` };
};
const asNumber = (number, digits, up) => {
  const rounded = roundedUpOrDown(number, powerOf(number) - digits + 1, up);
  return { value: rounded, text: short(rounded, 8) };
};
const asRatio = (proportion, digits, up) => {
  const ratio = ratioOf(proportion);
  const { value, text } = asNumber(ratio < 1 ? 1 / ratio : ratio, digits, ratio < 1 ? !up : up);
  return ratio < 1 ? { value: 1 / value, text: `1 : ${text}` } : { value, text: `${text} : 1` };
};

/** Axes on which the page shows what may be the cheapest. `of` names an axis whose zones are reused. */
function zoneAxes() {
  const top = priorReach();
  const priorOnly = [
    {
      id: "prior-band",
      name: priorName(LAST),
      bounds: [0, top],
      points: withNow(sliderShares(top), state.prior[LAST]),
      // as on the sliders, a share that is set is known, also next to the present one
      stakesAt: (x) => ({ costs: state.costs, prior: priorWith(LAST, x), priorIsKnown: true }),
      now: state.prior[LAST],
      ends: ["0 %", probabilityText(top)],
      rounded: asPercent,
      formatExact: exactPercent,
      inset: drawn["prior-chart"].inset,
    },
  ];
  if (!BINARY || FACTORS) return priorOnly; // running costs have no place on an axis of proportions
  const proportions = {
    name: "cost proportion",
    bounds: [0, 1],
    points: withNow(sharesAt(range(241).map((i) => -6 + PRIOR_STEP * i)), proportion()),
    stakesAt: (c) => ({ costs: [[0, 2 * c], [2 * (1 - c), 0]], prior: state.prior }),
    now: proportion(),
    ends: ["0", "1"],
    rounded: asNumber,
  };
  return [
    ...priorOnly,
    { ...proportions, id: "proportion-band" },
    { ...proportions, id: "ratio-band", of: "proportion-band", bounds: [-2.6, 2.6], at: (c) => Math.log10(ratioOf(c)), ends: ["0", "∞"], rounded: asRatio, as: ratioOf, name: "false alarm : miss" },
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
  let far = x;
  const steps = isCrowd(zone.possible) && isCrowd(possible) ? 3 : 5;
  for (let step = 0; step < steps; step += 1) {
    const midpoint = (zone.to + far) / 2;
    yield;
    const names = namesAt(midpoint);
    if (modelsAmong(names) === modelsAmong(zone.possible)) zone.to = midpoint;
    else [far, possible] = [midpoint, names];
  }
  return { from: far, to: far, possible, names: possible };
}

/** Zones with borders half-way between points that are known to lie in neighbouring ones. */
const withBorders = (zones, [least, most]) =>
  zones.map((zone, i) => ({
    ...zone,
    low: i ? (zones[i - 1].to + zone.from) / 2 : least,
    high: i < zones.length - 1 ? (zone.to + zones[i + 1].from) / 2 : most,
  }));

/** Pieces of work that search for the zones of an axis, and a last one that draws them. */
function zonePieces(axis, kept, zones) {
  const namesAt = (x) => standingAt(axis.stakesAt(x), kept).possible();
  const listed = []; // each has the first and the last point that is known to lie in it
  if (axis.of) return [() => drawZones(axis, zones.get(axis.of))];
  const visit = function* (x) {
    const possible = namesAt(x);
    if (!listed.length) listed.push({ from: x, to: x, possible, names: possible });
    let last = listed[listed.length - 1];
    for (let borders = 0; modelsAmong(last.possible) !== modelsAmong(possible); borders += 1) {
      const next = borders < MOST_BORDERS ? yield* zoneAfter(last, x, possible, namesAt) : { from: x, to: x, possible, names: possible };
      last = modelsAmong(next.possible) === modelsAmong(possible) ? { ...next, possible } : next;
      listed.push(last);
    }
    last.to = x;
    last.names = [...new Set([...last.names, ...possible])]; // rules differ within a zone
  };
  return [
    ...axis.points.map(visit),
    () => {
      zones.set(axis.id, withBorders(listed, axis.bounds));
      drawZones(axis, zones.get(axis.id));
    },
  ];
}

const MOST_ZONES = 3; // that are listed in words

const NARROWEST = 0.005; // of an axis: a narrower zone is mentioned with its neighbour

/** The models of some systems. */
const modelsOf = (names) => [...new Set(names.map(modelOf))];

/** Names of models in few words: their number, where they are many. */
const inBrief = (models) => (models.length > MOST_LISTED ? `any of ${models.length}` : inWords(models));

/** What may be the cheapest in the slivers of a zone: models that are missing in the rest, or fewer than there. */
function brieflyInWords({ names, slivers }) {
  const models = modelsOf(names);
  const added = modelsOf(slivers.flat()).filter((name) => !models.includes(name));
  const fewer = slivers.filter((sliver) => modelsOf(sliver).every((name) => models.includes(name)));
  const only = [...new Set(fewer.map((sliver) => inBrief(modelsOf(inOrder(sliver)))))];
  return [
    ...(added.length ? [`, briefly also ${inBrief(inOrder(added))}`] : []),
    ...(only.length > 2 ? [", briefly fewer"] : only.length ? [`, briefly only ${only.join("; ")}`] : []),
  ].join("");
}

/**
 * Zones as they are shown: neighbours of the same models are one, since they differ in the rules of
 * these only, and slivers are part of the zone before them, or of the one after them at the start.
 */
function joinedZones(zones, isSliver) {
  const joined = [];
  const alike = (first, second) => modelsAmong(first.names) === modelsAmong(second.names);
  for (const zone of zones) {
    const last = joined[joined.length - 1];
    const brief = isSliver(zone);
    if (last && (brief || alike(last, zone))) {
      const names = alike(last, zone) ? [...new Set([...last.names, ...zone.names])] : last.names;
      const slivers = alike(last, zone) ? last.slivers : [...last.slivers, zone.names];
      Object.assign(last, { high: zone.high, to: zone.to, names, slivers });
    } else if (last && isSliver(last)) {
      Object.assign(last, { high: zone.high, to: zone.to, names: zone.names, slivers: [last.names, ...last.slivers] });
    } else joined.push({ ...zone, slivers: [] });
  }
  return joined;
}

const MOST_LOST = 0.05; // of a zone, by rounding its ends

/** Texts of the ends of a zone, rounded to few digits so that both lie in it; the axis has its own ends. */
function endsInWords({ from, to, low, high }, { ends, rounded, as, domain }) {
  const [first, last] = [low === domain[0], high === domain[1]];
  const lost = (digits) => {
    const [start, end] = [first ? as(from) : rounded(from, digits, true).value, last ? as(to) : rounded(to, digits, false).value];
    return 1 - (end - start) / (as(to) - as(from));
  };
  const digits = [2, 3].find((count) => lost(count) < MOST_LOST) ?? [3, 4, 5].find((count) => lost(count) < 1);
  if (!digits) return Array(2).fill(rounded(from, 4, false).text); // narrower than can be written
  return [first ? ends[0] : rounded(from, digits, true).text, last ? ends[1] : rounded(to, digits, false).text];
}

/** The look of a zone: the colour of its only model, that of constant decisions, or grey for several. */
function lookOf(names) {
  if (modelsOf(names).length > 1) return "plain";
  const system = SYSTEMS.find((other) => other.name === names[0]);
  return system ? system.look : `always s${decisions.findIndex((decision) => `always ${decision}` === names[0]) % SHADES}`;
}

/** Draw the zones of an axis as a band. */
function drawZones({ id, name, bounds: [low, high], now, ends, rounded, formatExact = exact, at = (x) => x, as = (x) => x, inset }, zones) {
  const within = (x) => clamped(at(x), [low, high]);
  const isSliver = (zone) =>
    !(zone.low <= now && now <= zone.high) && within(zone.high) - within(zone.low) < NARROWEST * (high - low);
  const shown = joinedZones(zones, isSliver).map((zone) => {
    const models = modelsOf(zone.names);
    const [start, end] = endsInWords(zone, { ends, rounded, as, domain: [zones[0].low, zones[zones.length - 1].high] });
    return {
      low: within(zone.low),
      high: within(zone.high),
      label: inWords(inOrder(zone.names)),
      brief: [models.length > 1 ? `any of ${models.length}` : models[0]],
      look: lookOf(zone.names),
      edge: end,
      span: `${(start === end ? start : `${start} to ${end}`).replaceAll(" ", "\u00a0")}${brieflyInWords(zone)}`,
      lines: [
        ["from", formatExact(as(zone.low))],
        ["to", formatExact(as(zone.high))],
        ...zone.names.slice(0, 8).map((name) => ["", name]),
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
  const longestFirst = [...byDistance].sort((a, b) => length(b) - length(a));
  const picture = byId(id).firstChild;
  // after a change, others may be the nearest, or one more
  const longer = ({ span, ...zone }) => ({ ...zone, span: `${span}, briefly fewer${MORE_DIGITS}` });
  const others = [...longestFirst, longestFirst[0]].slice(0, MOST_ZONES).map(longer);
  showWithRoom(
    byId(id),
    [picture, ...listed(shown.filter((zone) => nearest.includes(zone)), shown.length)],
    [picture, ...listed(others, shown.length + 1)],
  );
}

const ZONES_HEAD = ["axis", "low", "high", "may be the cheapest"];

/** Rows of the download: the zones of all axes. */
function saveZones() {
  saved.zones = [ZONES_HEAD];
  for (const { id, of, name, as = (x) => x } of zoneAxes())
    for (const { low, high, possible } of knownFlips.zones.get(of || id))
      saved.zones.push([name, as(low), as(high), possible.join("; ")]);
}

/** Explanation of the zones. */
function zonesHint() {
  const known = DATA.prior_stated ? "" : " Over the prior, the share counts as known, as one that you set does; the verdict of the report allows for its being estimated from the data.";
  return `What may be the cheapest, ${READINGS[reading]}: one model, or several where the data cannot tell (grey). A constant decision is a rival, too, shown as “always …” in a colour of its own.${known} Zones of less than half a percent of the axis are mentioned with their neighbour, and between the positions searched a zone may differ for a moment. The triangle marks the present value.`;
}
