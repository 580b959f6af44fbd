// Charts: inline SVG, drawn at the width of their host element.

const MARGIN = { left: 46, right: 14, top: 30, bottom: 38 }; // pixels; wider where the font needs it
const TICK = { size: 11 };
const LABEL = { size: 11.5, weight: 600 };
const PHONE = 480; // pixels: narrower charts are those of phones

/** Round numbers within a range, about as many as wanted. */
function ticks(low, high, wanted) {
  const raw = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  const size = Math.floor(high / step + 1e-9) - first + 1;
  return range(size).map((i) => Number(((first + i) * step).toPrecision(12)));
}

const scale =
  ([low, high], [start, end]) =>
  (value) =>
    start + ((value - low) / (high - low)) * (end - start);

/** An axis of probabilities, written in percent; other axes have plain numbers. */
const shareAxis = (label, domain) => ({ label, domain, format: probabilityText });
const formatOf = ({ format = short }) => format;

let hostWidths = new WeakMap(); // cached, because reading a width makes the browser lay out the page

const drawn = {}; // what every chart shows, by the id of its host

/** Width of a host element, read once until the window changes; on paper that of its place there. */
function widthOfHost(host) {
  if (onPaper) return widthOnPaper(host);
  if (!hostWidths.has(host)) hostWidths.set(host, host.clientWidth);
  return hostWidths.get(host);
}

const canvas = document.createElement("canvas").getContext("2d");
let fontFamily = null; // that of the reader, also read once

/** Width of a text in the reader's font, whichever that is. */
function widthOf(text, { size, weight = 400 }) {
  fontFamily ??= getComputedStyle(document.body).fontFamily;
  canvas.font = `${weight} ${size}px ${fontFamily}`;
  return 1.04 * canvas.measureText(text).width; // tabular digits, which pages use, may be a little wider
}

/** A text shortened in the middle to a width in pixels; empty if too little would be left. */
function fitted(text, width, font) {
  if (widthOf(text, font) <= width) return text;
  const fits = (length) => widthOf(shortened(text, length), font) <= width;
  const length = range(text.length).findLastIndex((candidate) => candidate > 5 && fits(candidate));
  return length < 0 ? "" : shortened(text, length);
}

const forgetWidths = () => {
  hostWidths = new WeakMap();
  fontFamily = null;
};

/** The smallest round number that is at least a share. */
const roundUp = (share) =>
  [0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6].find((end) => end >= share) || 1;

/** Height of a line at x by interpolation; the upper end of a vertical piece. */
function heightAt(points, x) {
  let [low, high] = [0, points.length]; // binary search for the first point beyond x
  while (low < high) {
    const midpoint = (low + high) >> 1;
    if (points[midpoint][0] > x) high = midpoint;
    else low = midpoint + 1;
  }
  high = Math.min(high, points.length - 1);
  const [[x0, y0], [x1, y1]] = [points[Math.max(0, high - 1)], points[high]];
  return x1 > x0 ? y0 + ((y1 - y0) * (Math.min(x, x1) - x0)) / (x1 - x0) : y1;
}

/** Height of a line at x: exact if the line has a formula, otherwise interpolated. */
const valueAt = (series, x) => (series.at ? series.at(x) : heightAt(series.points, x));

/** Names and intervals at x of the lines of a chart that have intervals. */
const readBands = (id, x) =>
  drawn[id].series.filter(({ bounds }) => bounds).map(({ name, bounds, banded }) => [name, ...bounds(x), Boolean(banded)]);

/** Positions of the whiskers of a chart and their bounds. */
const readWhiskers = (id) => drawn[id].whiskers.map(({ x, bounds }) => [x, ...bounds]);

/** Names and heights of the lines of a chart at x. */
const readChart = (id, x) =>
  drawn[id].series.filter(({ name }) => name).map((line) => [line.name, valueAt(line, x)]);

/**
 * Draw lines over a common x axis, with names at the lines and a cross-hair that reads them.
 * Series have points, a look, a name for the cross-hair and optionally a label that is drawn.
 */
function drawChart(host, spec) {
  const width = Math.max(260, widthOfHost(host));
  const strip = spec.counted ? COUNTS : 0;
  const lowest = width < PHONE ? 240 : 190; // lines that are close together need room for their names
  const onScreen = Math.round(Math.max(lowest, Math.min(width * (spec.ratio || 0.8), 340)));
  const printed = PRINTED.height * (spec.ratio < 0.5 ? 0.8 : 1); // a sheet that ends above a high picture stays half empty
  const height = (onPaper ? printed : onScreen) + strip;
  const frame = frameOf(spec, width, height, height - strip - MARGIN.bottom);
  const { names, unplaced } = lineNames(frame);
  const key = keyOf(unplaced, width, height);
  const full = height + key.height;
  const picture = svg(
    "svg",
    {
      class: "chart",
      xmlns: SVG,
      width,
      height: full,
      viewBox: `0 0 ${width} ${full}`,
      tabindex: 0,
      role: "img",
      "aria-label": `${spec.title}. Arrow keys read the values.`,
    },
    clipOf(host, frame),
    (spec.shaded || []).map((part) => shadeOf(frame, part)),
    axes(frame),
    caseBars(frame),
    svg(
      "g",
      { "clip-path": `url(#clip-${host.id})` },
      (spec.whiskers || []).map((whisker) => whiskerOf(frame, whisker)),
      spec.series.filter(({ banded }) => banded).map((line) => bandOf(frame, line)),
      spec.marks.map((mark) => markLine(frame, mark)),
      spec.series.map((line) => lineOf(frame, line)),
    ),
    spec.dots.map((dot) => dotOf(frame, dot)),
    names,
    key.entries,
    spec.marks.map((mark) => markName(frame, mark)),
  );
  crosshair(picture, frame);
  drawn[host.id] = { ...spec, inset: [frame.left, width - frame.right] };
  host.replaceChildren(picture);
}

/** Scales and ticks of both axes, with as many ticks as their labels leave room for. */
function frameOf(spec, width, height, foot) {
  const widest = (values, axis) => Math.max(0, ...values.map((value) => widthOf(formatOf(axis)(value), TICK)));
  const up = ticks(...spec.y.domain, 4);
  const left = Math.max(MARGIN.left, widest(up, spec.y) + 10);
  const available = width - left - MARGIN.right;
  const tries = [5, 4, 3, 2].map((wanted) => ticks(...spec.x.domain, wanted));
  const across =
    tries.find((values) => 1.3 * widest(values, spec.x) * values.length < available) || tries[tries.length - 1];
  const right = width - Math.max(MARGIN.right, widest(across.slice(-1), spec.x) / 2 + 2);
  return {
    ...{ spec, width, height, foot, left, right, up, across },
    x: scale(spec.x.domain, [left, right]),
    y: scale(spec.y.domain, [foot, MARGIN.top]),
  };
}

const clipOf = (host, { left, right, foot }) =>
  svg(
    "clipPath",
    { id: `clip-${host.id}` },
    svg("rect", {
      x: left,
      y: MARGIN.top - 4,
      width: right - left,
      height: foot - MARGIN.top + 8,
    }),
  );

/** Rules, ticks with their values, and the names of both axes. */
function axes({ x, y, foot, left, right, up, across, spec }) {
  const tick = (at, text) => svg("text", { class: "tick", ...at }, text);
  return svg(
    "g",
    {},
    up.map((value) => [
      svg("line", { class: "rule", x1: left, x2: right, y1: y(value), y2: y(value) }),
      tick({ x: left - 6, y: y(value) + 4, "text-anchor": "end" }, formatOf(spec.y)(value)),
    ]),
    svg("line", { class: "axis", x1: left, x2: right, y1: foot, y2: foot }),
    across.map((value) =>
      tick({ x: x(value), y: foot + 15, "text-anchor": "middle" }, formatOf(spec.x)(value)),
    ),
    svg(
      "text",
      { class: "axis-name", x: right, y: foot + 31, "text-anchor": "end" },
      fitted(spec.x.label, right - left, { size: LABEL.size }),
    ),
    svg("text", { class: "axis-name", x: 2, y: 11 }, fitted(spec.y.label || "", right, { size: LABEL.size })),
  );
}

/** A part of the x axis on which a constant decision is cheaper. */
const shadeOf = ({ x, foot }, [low, high]) =>
  svg("rect", {
    class: "shade",
    x: x(low),
    y: MARGIN.top,
    width: Math.max(0, x(high) - x(low)),
    height: foot - MARGIN.top,
  });

const COUNTS = 44; // pixels below the x axis for bars of cases and their numbers

/** Bars of cases in a strip below the axis, with their numbers in the largest size that lets all of them fit. */
function caseBars(frame) {
  const bars = frame.spec.cases || [];
  const fits = (size) => bars.every((bar) => !bar.cases || countText(frame, bar, size));
  const size = COUNT_SIZES.find(fits) || COUNT_SIZES[0];
  return bars.map((bar) => caseBar(frame, bar, size));
}

const COUNT_SIZES = [TICK.size, 10, 9, 8]; // pixels
const widthOfBar = ({ x }, { low, high }) => Math.max(0, x(high) - x(low) - 1);

/** The number of cases of a bar as a text that is not wider than the bar, if there is one. */
const countText = (frame, bar, size) =>
  [short(bar.cases), `${short(bar.cases / 1e3, 2)}k`, `${short(bar.cases / 1e6, 2)}M`].find(
    (text) => widthOf(text, { size }) <= widthOfBar(frame, bar) + 1,
  );

/** The number of cases in a part of the x axis. */
function caseBar(frame, { low, high, share, cases }, size) {
  const { x, height, spec } = frame;
  const barHeight = share * (COUNTS - 18);
  const width = widthOfBar(frame, { low, high });
  const bar = svg("rect", { class: "cases", x: x(low) + 0.5, y: height - barHeight - 1, width, height: barHeight });
  const text = cases > 0 && countText(frame, { low, high, cases }, size);
  return [
    withTip(bar, `${formatOf(spec.x)(low)} to ${formatOf(spec.x)(high)}`, [["cases", exact(cases)]]),
    text ? svg("text", { class: "tick", x: (x(low) + x(high)) / 2, y: height - barHeight - 4, "text-anchor": "middle", "font-size": size }, text) : null,
  ];
}

/** The interval of a single point. */
function whiskerOf({ x, y }, { x: at, bounds: [low, high], look }) {
  const [left, right] = [x(at) - 4, x(at) + 4];
  return svg("path", {
    class: `whisker ${look}`,
    d: `M${x(at)} ${y(low)}V${y(high)}M${left} ${y(low)}H${right}M${left} ${y(high)}H${right}`,
  });
}

/** The parts of an axis where the best constant decision costs no more than any of these lines. */
function constantIsCheapest(naive, lines) {
  const parts = [];
  let open = false;
  (lines.length ? lines[0].points : []).forEach(([x], i) => {
    const cost = naive(x);
    const cheaper = lines.every(({ points }) => points[i][1] >= cost - TIE * Math.abs(cost));
    if (cheaper && open) parts[parts.length - 1][1] = x;
    else if (cheaper) parts.push([x, x]);
    open = cheaper;
  });
  return parts.filter(([low, high]) => high > low);
}

const BAND_STEPS = 60;

/** The intervals along a line as an area: between its borders if it has any, otherwise in steps. */
function bandOf({ x, y, spec }, { look, borders, bounds }) {
  const [lower, upper] = borders ? borders() : stepsOf(bounds, spec.x.domain);
  const corners = [...upper, ...[...lower].reverse()].map(([px, py]) => `${x(px).toFixed(1)} ${y(py).toFixed(1)}`);
  return svg("path", { class: `interval ${look}`, d: corners.length ? `M${corners.join("L")}Z` : "" });
}

/** Points of the lower and the upper bounds of the intervals along an axis. */
function stepsOf(bounds, [low, high]) {
  const steps = range(BAND_STEPS + 1).map((i) => low + ((high - low) * i) / BAND_STEPS);
  const intervals = steps.map((x) => [x, ...bounds(x)]).filter((interval) => interval.every(Number.isFinite));
  return [1, 2].map((bound) => intervals.map((interval) => [interval[0], interval[bound]]));
}

/** A line through its finite points. */
function lineOf({ x, y }, { points, look }) {
  const path = points
    .filter((point) => point.every(Number.isFinite))
    .map(([px, py], i) => `${i ? "L" : "M"}${x(px).toFixed(2)} ${y(py).toFixed(2)}`);
  return svg("path", { class: `line ${look}`, d: path.join("") });
}

const markLine = ({ x, foot }, mark) =>
  svg("line", {
    class: "mark",
    x1: x(mark.x),
    x2: x(mark.x),
    y1: MARGIN.top,
    y2: foot,
  });

/** The name of a mark, on the side of it where there is room. */
function markName({ x, right }, mark) {
  const left = x(mark.x) + 5 + widthOf(mark.label, LABEL) > right;
  const at = {
    x: x(mark.x) + (left ? -5 : 5),
    y: MARGIN.top + 8,
    "text-anchor": left ? "end" : "start",
  };
  return svg("text", { class: "mark-name", ...at }, mark.label);
}

/** A dot with its tooltip. */
function dotOf({ x, y }, dot) {
  const node = svg("circle", { class: `dot ${dot.look}`, cx: x(dot.x), cy: y(dot.y), r: 4.5 });
  return withTip(node, dot.title, dot.lines);
}

/** A line that follows the pointer or the arrow keys, and a tooltip with the values there. */
function crosshair(picture, { x, left, right, foot, spec }) {
  const [low, high] = spec.x.domain;
  const hair = svg("line", { class: "hair", y1: MARGIN.top, y2: foot });
  const readable = spec.series.filter(({ name }) => name);
  let at = spec.marks.length ? spec.marks[0].x : (low + high) / 2;
  const read = (value, clientY) => {
    at = clamped(value, [low, high]);
    hair.setAttribute("x1", x(at));
    hair.setAttribute("x2", x(at));
    picture.append(hair);
    const box = picture.getBoundingClientRect();
    const interval = ({ bounds }) => (bounds ? ` (${bounds(at).map((bound) => formatOf(spec.y)(bound, 3)).join(" to ")})` : "");
    const lines = readable.map((line) => [line.name, formatOf(spec.y)(valueAt(line, at), 6) + interval(line), line.look]);
    showTip(
      `${spec.x.label} ${formatOf(spec.x)(at)}`,
      lines,
      box.left + x(at),
      clientY ?? box.top + MARGIN.top,
    );
  };
  const follow = (event) => {
    if (event.target.classList.contains("dot")) return;
    const inside = event.clientX - picture.getBoundingClientRect().left - left;
    read(low + (inside / (right - left)) * (high - low), event.clientY);
  };
  const leave = () => {
    hair.remove();
    hideTip();
  };
  picture.addEventListener("pointermove", follow);
  picture.addEventListener("pointerdown", follow);
  picture.addEventListener("pointerleave", leave);
  picture.addEventListener("blur", leave);
  picture.addEventListener("keydown", (event) => {
    if (event.key === "Escape") leave();
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    read(at + (step * (high - low)) / 50, null);
  });
}
