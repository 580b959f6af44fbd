// Numbers: what Python computes, computed again on the embedded tallies. Pure functions, no page.
// Rows of counts and costs are classes, columns are decisions. The positive class is the second.

const TIE = 1e-12; // relative to the largest cost: what rounding may do to equal costs
const EDGE = 1e-12; // a prior that flips the verdict only where it reaches zero or one never does
const TOGETHER = 1e-9; // moves are ratios of small differences, whose rounding grows as they shrink
const sum = (values) => values.reduce((total, value) => total + value, 0);
const range = (size) => Array.from({ length: size }, (_, index) => index);
const dot = (first, second) => first.reduce((total, value, i) => total + value * second[i], 0);
const tieOf = (costs) => TIE * Math.max(...costs.flat().map(Math.abs));

// Costs of counts ---------------------------------------------------------------------------------

/** A cost for each cell, by the coefficients of terms and the sums of these over its cases. */
const termCosts = (coefficients, sums, counts) =>
  coefficients.map((row, k) =>
    row.map((factors, d) => {
      const total = sum(factors.map((a, t) => (Number.isNaN(a) ? 0 : a * sums[k][d][t])));
      return counts[k][d] > 0 ? total / counts[k][d] : 0;
    }),
  );

/** The same of every decision for all cases of a class, whatever was decided about them. */
function meanCosts(coefficients, sums, counts) {
  const wholeRows = (cells) => cells.map((row) => row.map(() => row));
  const classSums = wholeRows(sums).map((row) =>
    row.map((cells) => cells[0].map((_, t) => sum(cells.map((cell) => cell[t])))),
  );
  return termCosts(coefficients, classSums, wholeRows(counts).map((row) => row.map(sum)));
}

/** Share of each decision within each class; NaN for a class without cases. */
function decisionRates(counts) {
  return counts.map((row) => {
    const size = sum(row);
    return row.map((count) => count / size);
  });
}

/** Cost per case of each class. */
const classCosts = (counts, costs, running = 0) =>
  decisionRates(counts).map((row, k) => dot(row, costs[k]) + running);

/** Cost per case; a class of prior zero is ignored. */
function expectedCost(counts, costs, prior) {
  return sum(classCosts(counts, costs).map((cost, k) => (prior[k] > 0 ? prior[k] * cost : 0)));
}

/** Each cell's part of the cost per case. */
function costParts(counts, costs, prior) {
  return decisionRates(counts).map((row, k) =>
    row.map((rate, d) => (prior[k] > 0 ? prior[k] * rate * costs[k][d] : 0)),
  );
}

const decisionCosts = (costs, prior) =>
  costs[0].map((_, d) => sum(prior.map((share, k) => (share > 0 ? share * costs[k][d] : 0))));

/** The best decision without looking; the first one of those that tie. */
function naiveDecision(costs, prior) {
  const costOfDecision = decisionCosts(costs, prior);
  const cost = Math.min(...costOfDecision);
  const limit = cost + tieOf(costs);
  return { decision: costOfDecision.findIndex((value) => value <= limit), cost };
}

const perfectCost = (costs, prior) =>
  dot(
    prior,
    costs.map((row) => Math.min(...row)),
  );

/** Costs above the best decision of each class. */
const regretOf = (costs) => costs.map((row) => row.map((cost) => cost - Math.min(...row)));

/** 0 is perfect, 1 is not looking at the case. */
function normalizedCost(counts, costs, prior) {
  const regret = regretOf(costs);
  return expectedCost(counts, regret, prior) / naiveDecision(regret, prior).cost;
}

// Score tables ------------------------------------------------------------------------------------

/** A table with running sums: `below[k][j]` is the weight of class k under cut j. */
function scoreTable(scores, weights) {
  const below = weights.map((classWeights) => {
    const sums = [0];
    for (const weight of classWeights) sums.push(sums[sums.length - 1] + weight);
    return sums;
  });
  return { scores, weights, below, totals: below.map((sums) => sums[scores.length]) };
}

const priorRatios = (from, to) =>
  from.map((share, k) => (share > 0 ? to[k] / share : to[k] > 0 ? NaN : 0));

/** A posterior times the ratios of the priors, made to sum to one again; NaN where it cannot be. */
function movedBy(score, [negative, positive]) {
  const positiveMass = score * positive;
  return positiveMass / ((1 - score) * negative + positiveMass);
}

/** Posteriors that hold for one prior, moved to another. */
function movedScores(scores, from, to) {
  const ratios = priorRatios(from, to);
  return scores.map((score) => movedBy(score, ratios));
}

/** Positions of the Bayes decisions at many probabilities; null if one is undefined. */
function bayesCodes(posteriors, costs) {
  const [size, tie] = [costs[0].length, tieOf(costs)];
  const codes = new Uint16Array(posteriors.length);
  for (let i = 0; i < posteriors.length; i += 1) {
    const p = posteriors[i];
    let least = Infinity;
    for (let d = 0; d < size; d += 1) least = Math.min(least, (1 - p) * costs[0][d] + p * costs[1][d]);
    if (Number.isNaN(least)) return null;
    let d = 0;
    while (!((1 - p) * costs[0][d] + p * costs[1][d] <= least + tie)) d += 1;
    codes[i] = d;
  }
  return codes;
}

/** Counts of decisions about a table, by the decision at each score. */
function codedCounts(table, codes, costs) {
  if (!codes) return costs.map((row) => row.map(() => NaN));
  const counts = costs.map((row) => row.map(() => 0));
  for (let i = 0; i < codes.length; i += 1) {
    counts[0][codes[i]] += table.weights[0][i];
    counts[1][codes[i]] += table.weights[1][i];
  }
  return counts;
}

/** Counts when the positive decision is taken for all scores from cut j on. */
const cutCounts = (table, j) => table.below.map((sums, k) => [sums[j], table.totals[k] - sums[j]]);

const thresholdOfCut = (table, j) =>
  j > 0 ? Math.max(table.scores[j - 1], -Number.MAX_VALUE) : -Infinity;

/** First cut whose scores exceed a threshold, for increasing scores. */
function cutAbove(scores, threshold) {
  let low = 0;
  let high = scores.length;
  while (low < high) {
    const midpoint = (low + high) >> 1;
    if (scores[midpoint] > threshold) high = midpoint;
    else low = midpoint + 1;
  }
  return low;
}

/** What a false alarm and a miss cost above the right decision, for two decisions. */
const excessCosts = (costs) => [costs[0][1] - costs[0][0], costs[1][0] - costs[1][1]];

/** The probability above which the positive decision is cheaper. */
function bayesThreshold(costs) {
  const [alarm, miss] = excessCosts(costs);
  if (alarm < 0 && miss < 0) return NaN;
  if (Math.min(alarm, miss) >= 0) return alarm + miss > 0 ? alarm / (alarm + miss) : NaN;
  return alarm < 0 ? -Infinity : Infinity;
}

/** Cost per case of the second decision from each cut on. */
function cutCosts({ below, totals, scores }, costs, prior) {
  const costOfCut = new Array(scores.length + 1).fill(0);
  prior.forEach((share, k) => {
    if (!(share > 0)) return;
    const [first, second] = costs[k];
    for (let j = 0; j < costOfCut.length; j += 1) {
      costOfCut[j] += share * (second + ((first - second) * below[k][j]) / totals[k]);
    }
  });
  return costOfCut;
}

/** The cut of least cost on these very cases, the highest of those that tie. */
function bestCut(table, costs, prior) {
  const costOfCut = cutCosts(table, costs, prior);
  const least = costOfCut.reduce((low, cost) => (cost < low ? cost : low), Infinity);
  if (Number.isNaN(bayesThreshold(costs)) || costOfCut.some(Number.isNaN)) return -1;
  const limit = least + tieOf(costs);
  return costOfCut.findLastIndex((cost) => cost <= limit);
}

/** Cost per case of the second decision from each cut on, by sums of terms at each score. */
function thresholdCosts(sums, coefficients, prior) {
  const ofClass = (k, d) =>
    sums.map((termSums) => sum(termSums[k].map((z, t) => (coefficients[k][d][t] || 0) * z)));
  const costs = new Array(sums.length + 1).fill(0);
  prior.forEach((share, k) => {
    if (!(share > 0)) return;
    const [first, second] = [ofClass(k, 0), ofClass(k, 1)];
    const mass = sum(sums.map((termSums) => termSums[k][0]));
    let spent = sum(second);
    costs[0] += (share * spent) / mass;
    first.forEach((cost, j) => {
      spent += cost - second[j];
      costs[j + 1] += (share * spent) / mass;
    });
  });
  return costs;
}

// Probability ranges of the decisions, for two classes --------------------------------------------

/** Intervals of the probability of the positive class, each with its Bayes decision. */
function decisionRanges(costs) {
  const lines = costs[0].map((cost, d) => ({ start: cost, end: costs[1][d], name: d }));
  return lowestLines(lines).map(({ low, high, names }) => ({ low, high, decision: names[0] }));
}

/**
 * The probability above which the next of two decisions is taken. At their border both cost the
 * same, and the one that is listed first is taken, whatever rounding does to the border.
 */
const cutBetween = ({ high, decision }, next) => high * (1 + (next.decision < decision ? -TIE : TIE));

/** Counts at a prior of the positive class when posteriors and decisions move along. */
function movedCounts(table, costs, ranges, holdsFor, share) {
  const ratios = priorRatios([1 - share, share], holdsFor);
  const counts = costs.map((row) => row.map(() => 0));
  let cut = 0;
  ranges.forEach((interval, i) => {
    const next = ranges[i + 1];
    const border = next && share < 1 ? movedBy(cutBetween(interval, next), ratios) : -Infinity;
    const end = next ? cutAbove(table.scores, border) : table.scores.length;
    counts.forEach((row, k) => {
      row[interval.decision] += table.below[k][end] - table.below[k][cut];
    });
    cut = end;
  });
  return counts;
}

// Ranks -------------------------------------------------------------------------------------------

/** Cuts that are vertices of the convex hull of the ROC curve: pool adjacent violators. */
function hullCuts(table) {
  const whole = table.weights.every((classWeights) => classWeights.every(Number.isInteger));
  const slack = whole ? 1 : 1 + 1e-13;
  const pooled = [];
  for (const i of range(table.scores.length)) {
    let block = [i, table.weights[0][i], table.weights[1][i]];
    if (block[1] + block[2] === 0) continue;
    while (pooled.length) {
      const [start, negative, positive] = pooled[pooled.length - 1];
      if (positive * block[1] * slack < negative * block[2]) break;
      block = [start, block[1] + negative, block[2] + positive];
      pooled.pop();
    }
    pooled.push(block);
  }
  return [0, ...pooled.slice(1).map((block) => block[0]), table.scores.length];
}

/** False-alarm rate and hit rate at a cut. */
const rocPoint = (table, j) =>
  [0, 1].map((k) => (table.totals[k] - table.below[k][j]) / table.totals[k]);

/** Loss 2{c π₀ FPR + (1 − c) π₁ FNR} at a cut. */
function lossAtCut(table, j, prior, c) {
  const [alarms, hits] = rocPoint(table, j);
  return 2 * (c * prior[0] * alarms + (1 - c) * prior[1] * (1 - hits));
}

/** The cut whose loss at a cost proportion is the least; the first of those that tie. */
function lossCut(table, hull, prior, c) {
  const losses = hull.map((j) => lossAtCut(table, j, prior, c));
  return hull[losses.indexOf(Math.min(...losses))] ?? 0;
}

/** Net benefit of acting above a threshold probability; the scores are posteriors. */
function netBenefit(table, scores, prior, p) {
  if (p >= 1) return 0;
  const [alarms, hits] = rocPoint(table, cutAbove(scores, p));
  return prior[1] * hits - (prior[0] * alarms * p) / (1 - p);
}

/** Blocks of isotonic regression: first and last score, share of positives, weight. */
function reliabilityBlocks(table, hull, scores, prior) {
  return range(hull.length - 1).map((i) => {
    const [start, end] = [hull[i], hull[i + 1]];
    const mass = [0, 1].map(
      (k) => (prior[k] * (table.below[k][end] - table.below[k][start])) / table.totals[k],
    );
    const weight = sum(mass);
    return { low: scores[start], high: scores[end - 1], share: mass[1] / weight, weight };
  });
}

// Where each one is the cheapest ------------------------------------------------------------------

/** Intervals of [0, 1] on which straight lines are the lowest; ties are named together. */
function lowestLines(allLines) {
  const tolerance = TIE * largest(allLines.flatMap((line) => [line.start, line.end]));
  const above = (line) => (other) => other.start < line.start - tolerance && other.end < line.end - tolerance;
  const lines = allLines.filter((line) => !allLines.some(above(line))); // who is above another is never lowest
  const crossings = [0, 1];
  lines.forEach((first, i) => {
    for (const second of lines.slice(i + 1)) {
      const x =
        (second.start - first.start) / (first.end - first.start - second.end + second.start);
      if (x > 0 && x < 1) crossings.push(x);
    }
  });
  const points = crossings.sort((a, b) => a - b).filter((x, i, all) => !i || x - all[i - 1] > TIE);
  points[points.length - 1] = 1;
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

/** The largest finite size among numbers. */
const largest = (values) =>
  values.reduce((top, value) => (Number.isFinite(value) ? Math.max(top, Math.abs(value)) : top), 0);

/** Places of the least of some numbers and of all that rounding keeps apart from it. */
function lowestOf(values, slack = TIE * largest(values)) {
  const least = values.reduce((low, value) => (value < low ? value : low), Infinity);
  return range(values.length).filter((i) => values[i] <= least + slack && values[i] < Infinity);
}

/** The rules that take one decision about every case, as rivals of the systems. */
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

/** Cost at priors 0 and 1 of one class; the others keep their proportions to each other. */
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

/**
 * How far every cost and every prior may move before another rule is the cheapest. Without `costs`,
 * those of the systems are multiplied by factors, which do not change their signs.
 */
function margins(systems, costs, prior) {
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
  const add = (cell, value, slopes, domain) => {
    const margin = marginOf(excess, slopes, best, value, domain);
    const distance = Math.min(value - margin.low, margin.high - value);
    const near = Number.isNaN(distance) ? Infinity : distance / (cell.d === null ? 1 : size);
    rows.push({ ...cell, value, ...margin, near });
  };
  (costs || ones).forEach((row, k) =>
    row.forEach((value, d) => {
      const slopes = systems.map((_, i) => slope(i, k, d));
      add({ k, d }, value, slopes, [costs ? -Infinity : -2 * EDGE, Infinity]);
    }),
  );
  prior.forEach((share, k) => {
    const rest = 1 - share;
    const slopes = costsByClass.map((systemCosts) => {
      const gaps = systemCosts.map((cost, i) => cost - costsByClass[best][i]);
      return (
        gaps[k] - sum(gaps.map((gap, i) => (i === k || !prior[i] ? 0 : (gap * prior[i]) / rest)))
      );
    });
    add({ k, d: null }, share, rest > 0 ? slopes : slopes.map(() => NaN), [0, 1]);
  });
  return rows;
}

function marginOf(excess, slopes, best, value, domain) {
  if (slopes.some((slope, i) => i !== best && Number.isNaN(slope))) {
    return { low: NaN, high: NaN, lowRival: null, highRival: null };
  }
  const [low, high] = [-1, 1].map((sign) => {
    const nearing = (rival) => rival !== best && sign * slopes[rival] < 0;
    const moves = slopes.map((slope, i) => (nearing(i) ? excess[i] / Math.abs(slope) : Infinity));
    // of several that arrive together, the steepest goes on to win
    const steepness = (rival) => Math.abs(slopes[rival]);
    const together = lowestOf(moves, TOGETHER * Math.min(...moves));
    const [rival = null] = together.sort((a, b) => steepness(b) - steepness(a));
    const point = rival === null ? sign * Infinity : value + sign * moves[rival];
    const distanceToEdge = sign > 0 ? domain[1] - point : point - domain[0];
    return distanceToEdge > EDGE ? { point, rival } : { point: sign * Infinity, rival: null };
  });
  return { low: low.point, high: high.point, lowRival: low.rival, highRival: high.rival };
}

// Implied costs -----------------------------------------------------------------------------------

const METRICS = {
  accuracy: ([[tn], [, tp]], n) => (tn + tp) / n,
  "balanced accuracy": ([[tn, fp], [fn, tp]]) => (tn / (tn + fp) + tp / (fn + tp)) / 2,
  F1: ([[, fp], [fn, tp]]) => (2 * tp) / (2 * tp + fp + fn),
  MCC: ([[tn, fp], [fn, tp]]) =>
    (tp * tn - fp * fn) / Math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)),
};

/** The table with its classes reweighted to a prior. */
function withPrior(table, prior) {
  const weights = table.weights.map((classWeights, k) => classWeights.map((w) => (w * prior[k]) / table.totals[k]));
  return scoreTable(table.scores, weights);
}

/** The first of the cuts that a metric likes best. */
function metricCut(table, metric) {
  const goodness = range(table.scores.length + 1).map((j) =>
    METRICS[metric](cutCounts(table, j), sum(table.totals)),
  );
  const known = goodness.filter((value) => !Number.isNaN(value));
  const limit = Math.max(...known) - TIE * Math.max(...known.map(Math.abs));
  return goodness.findIndex((value) => value >= limit);
}

/** Lowest and highest cost proportion for which no other cut is cheaper; null below the hull. */
function proportionsOfCut(table, hull, j) {
  const mass = (start, end) => table.below.map((sums) => sums[end] - sums[start]);
  const share = (start, end) => {
    const [negative, positive] = mass(start, end);
    return positive / (negative + positive);
  };
  const after = hull.findIndex((cut) => cut >= j);
  const [before, here, next] = [hull[after - 1], hull[after], hull[after + 1]];
  if (here === j) {
    return [after > 0 ? share(before, j) : 0, next === undefined ? 1 : share(j, next)];
  }
  const [[n0, p0], [n1, p1]] = [mass(before, j), mass(j, here)];
  const straight = Math.abs(p0 * n1 - n0 * p1) <= 1e-12 * (n0 + n1) * (p0 + p1);
  return straight ? [share(before, here), share(before, here)] : null;
}
