// Line names: the names of lines, at the lines where there is room, else in a key below the chart.

const NO_ROOM = Infinity; // the penalty of a name that leaves the frame or covers another, or a dot
// the name of a line: its height in pixels, the positions that are tried, its largest width as a part of the frame
const NAME = { height: 13, columns: 72, width: 0.6 };

/** Whole names, each where it covers as little of the lines as possible; those without room are `unplaced`. */
function lineNames({ x, y, left, right, height, foot, spec }) {
  const frame = { left: left + 4, right, top: MARGIN.top, bottom: foot - 3 };
  const step = (frame.right - frame.left) / (NAME.columns - 1);
  const [low, high] = spec.x.domain;
  const at = (i) => low + ((frame.left + i * step - x(low)) / (x(high) - x(low))) * (high - low);
  const heights = spec.series
    .filter(({ look }) => !look.includes("hull"))
    .map((line) => ({ line, ys: range(NAME.columns).map((i) => y(heightAt(line.points, at(i)))) }));
  const taken = spec.marks.flatMap((mark) => [
    {
      left: x(mark.x) - widthOf(mark.label, LABEL) - 5,
      right: x(mark.x) + widthOf(mark.label, LABEL) + 5,
      top: 0,
      bottom: MARGIN.top + 12,
    },
    { left: x(mark.x), right: x(mark.x), top: 0, bottom: height },
  ]);
  const dots = spec.dots.map((dot) => ({ x: x(dot.x), y: y(dot.y) }));
  const [names, unplaced] = [[], []];
  for (const { line, ys } of heights.filter((entry) => entry.line.label && entry.ys.some(Number.isFinite))) {
    const best = placed(line.label, ys);
    if (best.penalty < NO_ROOM) {
      taken.push(best);
      names.push(svg("text", { class: `line-name ${line.look}`, x: best.left, y: best.bottom - 3 }, line.label));
    } else unplaced.push(line);
  }
  return { names, unplaced };

  /** The best spot for a name at its line. */
  function placed(label, ys) {
    const width = widthOf(label, LABEL);
    if (width > NAME.width * (frame.right - frame.left)) return { penalty: NO_ROOM };
    const columns = Math.min(NAME.columns - 2, Math.ceil(width / step));
    const spots = spotsOf(ys, columns).map((spot) => {
      const start = frame.left + spot.i * step;
      const box = { ...spot, left: start, right: start + width, bottom: spot.top + NAME.height };
      return { ...box, penalty: penaltyOf(box, heights, dots, taken, frame, columns) };
    });
    return spots.reduce((best, spot) => (spot.penalty < best.penalty ? spot : best));
  }
}

const KEY = { row: 17, line: 20, gap: 16 }; // pixels: the height of a row, a sample of the line, the space between two

/** A key below a chart, for the lines whose names found no room at them. */
function keyOf(lines, width, top) {
  const font = { size: LABEL.size };
  let [x, row] = [2, 0];
  const entries = lines.map(({ label, look }) => {
    const text = fitted(label, width - KEY.line - 8, font);
    const size = KEY.line + 6 + widthOf(text, font);
    if (x > 2 && x + size > width) [x, row] = [2, row + 1];
    const [left, y] = [x, top + row * KEY.row + 8];
    x += size + KEY.gap;
    return svg(
      "g",
      { class: "key-entry" },
      svg("path", { class: `line ${look}`, d: `M${left} ${y}h${KEY.line}` }),
      svg("text", { class: "axis-name", x: left + KEY.line + 6, y: y + 4 }, text, text === label ? null : svg("title", {}, label)),
    );
  });
  return { entries, height: lines.length ? (row + 1) * KEY.row + 2 : 0 };
}

/** Candidate spots for a name, just above and just below its line. */
function spotsOf(ys, columns) {
  return range(ys.length - columns).flatMap((i) => {
    const heights = ys.slice(i, i + columns + 1).filter(Number.isFinite);
    if (!heights.length) return [];
    return [
      { i, top: Math.min(...heights) - NAME.height - 3, off: heights[0] - Math.min(...heights) },
      { i, top: Math.max(...heights) + 3, off: Math.max(...heights) - heights[0] },
    ];
  });
}

/** The penalty of a spot: how much of the lines the name would cover, and its distance from its own line; none may cover a dot. */
function penaltyOf(spot, heights, dots, taken, frame, columns) {
  const outside = spot.top < frame.top - 4 || spot.bottom > frame.bottom || spot.right > frame.right;
  const overlaps = taken.some(
    (box) =>
      spot.left < box.right + 4 &&
      spot.right > box.left - 4 &&
      spot.top < box.bottom &&
      spot.bottom > box.top,
  );
  let covered = 0;
  for (const { ys } of heights) {
    for (let i = spot.i; i <= spot.i + columns; i += 1) {
      if (ys[i] > spot.top - 1 && ys[i] < spot.bottom + 1) covered += 1;
    }
  }
  const isDotted = dots.some(
    (dot) => dot.x > spot.left - 5 && dot.x < spot.right + 5 && dot.y > spot.top - 3 && dot.y < spot.bottom + 3,
  );
  return outside || overlaps || isDotted ? NO_ROOM : 20 * covered + spot.off;
}
