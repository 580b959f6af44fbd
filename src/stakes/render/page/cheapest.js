// The cheapest: over which priors and cost proportions each system is it, and how far each number can
// move until another one is. Pure functions that do not touch the document.

/** Intervals of [0, 1] with the names of the lowest lines on each; tied lines are listed together. */
function lowestLines(allLines) {
  const tolerance = TIE * largest(allLines.flatMap((line) => [line.start, line.end]));
  const isBelow = (line) => (other) => other.start < line.start - tolerance && other.end < line.end - tolerance;
  const lines = allLines.filter((line) => !allLines.some(isBelow(line))); // a dominated line is never the lowest
  const crossings = [0, 1];
  lines.forEach((first, i) => {
    for (const second of lines.slice(i + 1)) {
      const x =
        (second.start - first.start) / (first.end - first.start - second.end + second.start);
      if (x > 0 && x < 1) crossings.push(x);
    }
  });
  // crossings that differ by rounding are one
  const points = crossings.sort((a, b) => a - b).filter((x, i, all) => !i || x - all[i - 1] > TIE);
  points[points.length - 1] = 1; // a crossing just below 1 may have replaced it
  const values = range(points.length - 1).map((i) => {
    const x = (points[i] + points[i + 1]) / 2;
    return lines.map((line) => (1 - x) * line.start + x * line.end);
  });
  const slack = TIE * largest(values.flat());
  const parts = [];
  for (const i of range(points.length - 1)) {
    const names = lowestOf(values[i], slack).map((index) => lines[index].name);
    const last = parts[parts.length - 1];
    if (last && String(last.names) === String(names)) last.high = points[i + 1];
    else parts.push({ low: points[i], high: points[i + 1], names });
  }
  return parts;
}

/** The largest finite absolute value. */
const largest = (values) =>
  values.reduce((top, value) => (Number.isFinite(value) ? Math.max(top, Math.abs(value)) : top), 0);

/** Indices of the minimum and of all values that differ from it by rounding only. */
function lowestOf(values, slack = TIE * largest(values)) {
  const least = values.reduce((low, value) => (value < low ? value : low), Infinity);
  return range(values.length).filter((i) => values[i] <= least + slack && values[i] < Infinity);
}

/** The rules that make one decision for every case, as rivals of the systems. */
function constantRules(counts, costs, prior, names) {
  const masses = counts.map(sum);
  return names.map((decision, d) => {
    const always = masses.map((mass) => {
      const row = new Array(names.length).fill(0);
      row[d] = mass;
      return row;
    });
    const cost = expectedCost(always, costs, prior);
    return { name: `always ${decision}`, counts: always, costs, cost, running: 0, look: "plain" };
  });
}

/** Cost where the prior of one class is 0 and 1; the others keep their relative proportions. */
function priorLine({ counts, costs, running }, prior, moved, name) {
  const costOfClass = classCosts(counts, costs, running);
  const rest = sum(prior.filter((_, k) => k !== moved));
  const start = sum(
    costOfClass.map((cost, k) => (k === moved || !prior[k] ? 0 : (prior[k] / rest) * cost)),
  );
  return { start: rest > 0 ? start : NaN, end: costOfClass[moved], name };
}

/** Loss at cost proportions 0 and 1, for two classes and two decisions. */
function proportionLine(counts, prior, name) {
  const rates = decisionRates(counts);
  const part = (k, d) => (prior[k] > 0 ? 2 * prior[k] * rates[k][d] : 0);
  return { start: part(1, 0), end: part(0, 1), name };
}

/** Whether a cost is a gain, that is, below zero. */
const hasGains = (costs) => costs.flat().some((cost) => cost < 0);

/**
 * How far a number moves, as the logarithm of a factor: on a cost, or on a share or the rest to 1,
 * whichever moves more. No factor leads from zero, to zero or across it: that is infinitely far.
 */
function relativeMove({ now, d }, value) {
  const logFactor = (from, to) => Math.abs(Math.log(to / from));
  const moved = d === null ? Math.max(logFactor(now, value), logFactor(1 - now, 1 - value)) : logFactor(now, value);
  return Number.isNaN(moved) ? Infinity : moved;
}

/** The nearest first; what no factor leads to comes last, by its share of the largest cost. */
const byNearness = (a, b) => a.relative - b.relative || a.share - b.share || 0;

/** Classes whose priors are moved: of two, one determines the other. */
const movedClasses = (size) => range(size).slice(size === 2 ? 1 : 0);

/**
 * How far each cost and each prior can move before another system becomes the cheapest; costs below
 * zero only if they may be gains. Without `costs`, factors that multiply the costs of the systems are
 * moved; they stay positive.
 */
function margins(systems, costs, prior, gains) {
  const costsByClass = systems.map((system) => classCosts(system.counts, system.costs, system.running));
  const ones = systems[0].costs.map((row) => row.map(() => 1));
  const parts = systems.map((system) => costParts(system.counts, costs ? ones : system.costs, prior));
  const rounding = costs ? 0 : TIE * largest(parts.flat(2));
  const slope = (i, k, d) => {
    const difference = parts[i][k][d] - parts[best][k][d];
    return Math.abs(difference) > rounding ? difference : 0;
  };
  const tiedBest = lowestOf(systems.map((system) => system.cost));
  const best = tiedBest[0];
  const excess = systems.map((system, i) => (tiedBest.includes(i) ? 0 : system.cost - systems[best].cost));
  const size = (costs && largest(costs.flat())) || 1;
  const rows = [];
  const add = (cell, value, slopes, domain, edge = EDGE) => {
    const margin = marginOf(excess, slopes, best, value, domain, edge);
    const distance = Math.min(value - margin.low, margin.high - value);
    const share = Number.isNaN(distance) ? Infinity : distance / (cell.d === null ? 1 : size);
    const relative = Math.min(...[margin.low, margin.high].map((end) => relativeMove({ now: value, d: cell.d }, end)));
    rows.push({ ...cell, value, ...margin, relative, share });
  };
  (costs || ones).forEach((row, k) =>
    row.forEach((value, d) => {
      const slopes = systems.map((_, i) => slope(i, k, d));
      add({ k, d }, value, slopes, [costs && gains ? -Infinity : 0, Infinity], EDGE * size);
    }),
  );
  movedClasses(prior.length).forEach((k) => {
    const others = prior.map((share, i) => (i === k ? 0 : prior.length === 2 ? 1 : share));
    const rest = sum(others);
    const slopes = costsByClass.map((systemCosts) => {
      const gaps = systemCosts.map((cost, i) => cost - costsByClass[best][i]);
      return gaps[k] - sum(gaps.map((gap, i) => (others[i] ? (gap * others[i]) / rest : 0)));
    });
    add({ k, d: null }, prior[k], rest > 0 ? slopes : slopes.map(() => NaN), [0, 1]);
  });
  return rows;
}

/** The nearest points below and above a value at which a rival becomes as cheap. */
function marginOf(excess, slopes, best, value, domain, edge) {
  if (slopes.some((slope, i) => i !== best && Number.isNaN(slope))) {
    return { low: NaN, high: NaN, lowRival: null, highRival: null };
  }
  const [low, high] = [-1, 1].map((sign) => {
    const approaches = (rival) => rival !== best && sign * slopes[rival] < 0;
    const moves = slopes.map((slope, i) => (approaches(i) ? excess[i] / Math.abs(slope) : Infinity));
    // where several systems tie at the same point, the steepest is the cheapest beyond it
    const steepness = (rival) => Math.abs(slopes[rival]);
    const tiedRivals = lowestOf(moves, SAME_MOVE * Math.min(...moves));
    const [rival = null] = tiedRivals.sort((a, b) => steepness(b) - steepness(a));
    const point = rival === null ? sign * Infinity : value + sign * moves[rival];
    const distanceToEdge = sign > 0 ? domain[1] - point : point - domain[0];
    return distanceToEdge > edge ? { point, rival } : { point: sign * Infinity, rival: null };
  });
  return { low: low.point, high: high.point, lowRival: low.rival, highRival: high.rival };
}
