// Small pictures: bars with intervals, and bands that divide an axis.

/** A bar with the whiskers of its interval, and a line at the cost of the best constant decision. */
function drawBar({ value, low = NaN, high = NaN, reference = NaN, top, look, width = BINARY ? 84 : 124 }) {
  const height = 18;
  const picture = svg("svg", {
    class: "bar",
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    "aria-hidden": "true",
  });
  if (!Number.isFinite(value)) return picture;
  const bottom = Math.min(0, ...[value, low, reference].filter(Number.isFinite));
  const x = scale([bottom, top], [1, width - 2]);
  const [start, end] = [Math.min(x(0), x(value)), Math.max(x(0), x(value))];
  picture.append(
    svg("rect", { class: `area ${look}`, x: start, y: 4, height: 10, width: end - start, rx: 1.5 }),
  );
  if (Number.isFinite(low) && Number.isFinite(high)) {
    const d = `M${x(low)} 9H${x(high)}M${x(low)} 6V12M${x(high)} 6V12`;
    picture.append(svg("path", { class: "whisker", d }));
  }
  if (Number.isFinite(reference)) {
    picture.append(
      svg("line", { class: "reference", x1: x(reference), x2: x(reference), y1: 0, y2: height }),
    );
  }
  return picture;
}

const BAND = { size: 12 };

/** The wider side of a mark between two places, or the whole space if the mark is elsewhere. */
function widestSpace(left, right, mark) {
  if (!(mark > left && mark < right)) return [left, right];
  return mark - left > right - mark ? [left, mark] : [mark, right];
}

/** What an axis begins and ends with, unless the names of edges stand there. */
function endMarks(texts, places, pieces) {
  return texts.map((text, i) => {
    const span = i ? [places[1] - widthOf(text, TICK), places[1]] : [places[0], places[0] + widthOf(text, TICK)];
    const isTaken = pieces.some(({ edge }) => edge && edge[0] < span[1] + 8 && edge[1] > span[0] - 8);
    return isTaken ? null : svg("text", { class: "tick end", x: places[i], y: 54, "text-anchor": i ? "end" : "start" }, text);
  });
}

/**
 * Neighbouring intervals of an axis as a band, with the current value marked and names beside the
 * mark: the label, or one of the briefer names of a part, if it fits.
 */
function drawBand(host, { parts, bounds: [low, high], inset = [1, 1], now = NaN, title, ends = [] }) {
  const width = Math.max(240, widthOfHost(host));
  const x = scale([low, high], [inset[0], width - inset[1]]);
  let freeFrom = -Infinity; // where there is room for the label of the next edge
  const pieces = parts
    .filter((part) => part.low < high && part.high > low)
    .map((part) => {
      const [left, right] = [x(Math.max(low, part.low)), x(Math.min(high, part.high))];
      const [start, end] = widestSpace(left, right, x(now));
      const name = [part.label, ...(part.brief ?? [fitted(part.label, end - start - 12, BAND)])].find(
        (text) => widthOf(text, BAND) <= end - start - 12,
      );
      const half = widthOf(part.edge, TICK) / 2;
      const place = clamped(x(part.high), [half, width - half]);
      const edge = part.high < high && place - half > freeFrom ? place : null;
      if (edge !== null) freeFrom = edge + half + 8;
      const box = { x: left, y: 14, width: Math.max(0.5, right - left - 1), height: 26 };
      const nodes = [
        withTip(svg("rect", { class: `area ${part.look}`, ...box }), part.label, part.lines),
        name
          ? svg(
              "text",
              { class: `band-name ${part.look}`, x: start + 6, y: 31 },
              name,
              svg("title", {}, part.label),
            )
          : null,
        edge === null
          ? null
          : svg("text", { class: "tick", x: edge, y: 54, "text-anchor": "middle" }, part.edge),
      ];
      return { nodes, edge: edge === null ? null : [edge - half, edge + half] };
    });
  const marks = endMarks(ends, [x(low), x(high)], pieces);
  const marked = now >= low && now <= high;
  const size = { width, height: 60, viewBox: `0 0 ${width} 60` };
  const mark = marked
    ? svg("path", { class: "now-mark", d: `M${x(now)} 12l-5 -8h10zM${x(now)} 12V42` })
    : null;
  host.replaceChildren(
    svg(
      "svg",
      { class: "band", xmlns: SVG, role: "img", "aria-label": title, ...size },
      pieces.map(({ nodes }) => nodes),
      marks,
      mark,
    ),
  );
}
