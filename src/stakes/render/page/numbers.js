// Numbers: measures and curves of the Python library, computed again from the tallies that the page
// embeds. Pure functions that do not touch the document.
// Rows of counts and costs are classes, columns are decisions. The positive class is the second.

const TIE = 1e-12; // relative to the largest cost: equal costs may differ by rounding
const EDGE = 1e-12; // a flip this close to a prior of zero or one is rounding, not a flip
const SAME_MOVE = 1e-9; // relative: moves are ratios of small differences, which rounding affects more
const sum = (values) => values.reduce((total, value) => total + value, 0);
const range = (size) => Array.from({ length: size }, (_, index) => index);
const dot = (first, second) => first.reduce((total, value, i) => total + value * second[i], 0);
const clamped = (value, [low, high]) => Math.max(low, Math.min(high, value));
/** A function whose value is computed on first use and kept. */
function lazy(make) {
  let value;
  return () => (value === undefined ? (value = make()) : value);
}
/** The same for a function of an index. */
function memoized(make) {
  const values = new Map();
  return (i) => {
    let value = values.get(i);
    if (value === undefined) values.set(i, (value = make(i)));
    return value;
  };
}
const tieOf = (costs) => TIE * largest(costs.flat());

// Costs of counts ---------------------------------------------------------------------------------

/** Mean cost in each cell: the coefficients of the terms times the terms' sums over its cases; `empty` without cases. */
const termCosts = (coefficients, sums, counts, empty = 0) =>
  coefficients.map((row, k) =>
    row.map((factors, d) => {
      const total = sum(factors.map((a, t) => (Number.isNaN(a) ? 0 : a * sums[k][d][t])));
      return counts[k][d] > 0 ? total / counts[k][d] : empty;
    }),
  );

/** Mean cost of every decision over all cases of a class, whichever they received; NaN for a class without cases. */
function meanCosts(coefficients, sums, counts) {
  const wholeRows = (cells) => cells.map((row) => row.map(() => row));
  const classSums = wholeRows(sums).map((row) =>
    row.map((cells) => cells[0].map((_, t) => sum(cells.map((cell) => cell[t])))),
  );
  return termCosts(coefficients, classSums, wholeRows(counts).map((row) => row.map(sum)), NaN);
}

/** Share of each decision within each class; NaN for a class without cases. */
function decisionRates(counts) {
  return counts.map((row) => {
    const size = sum(row);
    return row.map((count) => count / size);
  });
}

/** Cost per case within each class. */
const classCosts = (counts, costs, running = 0) =>
  decisionRates(counts).map((row, k) => dot(row, costs[k]) + running);

/** Cost per case; a class of prior zero is ignored. */
function expectedCost(counts, costs, prior) {
  return sum(classCosts(counts, costs).map((cost, k) => (prior[k] > 0 ? prior[k] * cost : 0)));
}

/** Share of all cases that receives each decision once deployed. */
function deployedShares(counts, prior) {
  const rates = decisionRates(counts);
  return counts[0].map((_, d) => sum(prior.map((share, k) => (share > 0 ? share * rates[k][d] : 0))));
}

/** Contribution of each cell to the cost per case. */
function costParts(counts, costs, prior) {
  return decisionRates(counts).map((row, k) =>
    row.map((rate, d) => (prior[k] > 0 ? prior[k] * rate * costs[k][d] : 0)),
  );
}

/** Expected cost of each constant decision. */
const decisionCosts = (costs, prior) =>
  costs[0].map((_, d) => sum(prior.map((share, k) => (share > 0 ? share * costs[k][d] : 0))));

/** The best constant decision, the same for every case; the first of those that tie, or -1 if costs are undefined. */
function naiveDecision(costs, prior) {
  const costOfDecision = decisionCosts(costs, prior);
  const cost = Math.min(...costOfDecision);
  const limit = cost + tieOf(costs);
  return { decision: costOfDecision.findIndex((value) => value <= limit), cost };
}

/** Expected cost when every case receives the cheapest decision of its class. */
const perfectCost = (costs, prior) =>
  dot(
    prior,
    costs.map((row) => Math.min(...row)),
  );

/** Each cost minus that of the best decision of its class. */
const regretOf = (costs) => costs.map((row) => row.map((cost) => cost - Math.min(...row)));

/** Normalized cost: 0 for perfect decisions, 1 for the best constant decision. */
function normalizedCost(counts, costs, prior) {
  const regret = regretOf(costs);
  return expectedCost(counts, regret, prior) / naiveDecision(regret, prior).cost;
}

// Score tables ------------------------------------------------------------------------------------

/** A score table with cumulative sums: `below[k][j]` is the weight of class k below cut j. */
function scoreTable(scores, weights) {
  const below = weights.map((classWeights) => {
    const sums = [0];
    for (const weight of classWeights) sums.push(sums[sums.length - 1] + weight);
    return sums;
  });
  return { scores, weights, below, totals: below.map((sums) => sums[scores.length]) };
}

/** Ratios of two priors by class; NaN where a class that had no mass would gain some. */
const priorRatios = (from, to) =>
  from.map((share, k) => (share > 0 ? to[k] / share : to[k] > 0 ? NaN : 0));

/** A posterior multiplied by the ratios of the priors and renormalized; NaN if the sum is zero. */
function movedBy(score, [negative, positive]) {
  const positiveMass = score * positive;
  return positiveMass / ((1 - score) * negative + positiveMass);
}

/** Posteriors that are valid for one prior, moved to another. */
function movedScores(scores, from, to) {
  const [negative, positive] = priorRatios(from, to);
  return scores.map((score) => (score * positive) / ((1 - score) * negative + score * positive));
}

/** Index of the Bayes decision at each probability; null if a probability is undefined. */
function bayesCodes(posteriors, costs) {
  const [[negative, positive], tie] = [costs, tieOf(costs)];
  const codes = new Uint16Array(posteriors.length);
  for (let i = 0; i < posteriors.length; i += 1) {
    const p = posteriors[i];
    let least = Infinity;
    for (let d = 0; d < negative.length; d += 1) least = Math.min(least, (1 - p) * negative[d] + p * positive[d]);
    if (Number.isNaN(least)) return null;
    // the first of the decisions that tie, as in Python
    let d = 0;
    while (!((1 - p) * negative[d] + p * positive[d] <= least + tie)) d += 1;
    codes[i] = d;
  }
  return codes;
}

/** Counts by class and decision, from the decision at each score of a table. */
function codedCounts(table, codes, costs) {
  if (!codes) return costs.map((row) => row.map(() => NaN));
  const counts = costs.map((row) => row.map(() => 0));
  for (let i = 0; i < codes.length; i += 1) {
    counts[0][codes[i]] += table.weights[0][i];
    counts[1][codes[i]] += table.weights[1][i];
  }
  return counts;
}

/** Counts when every score from cut j upwards receives the positive decision. */
const cutCounts = (table, j) => table.below.map((sums, k) => [sums[j], table.totals[k] - sums[j]]);

/** The threshold that puts a cut where it is; scores above it receive the positive decision. */
const thresholdOfCut = (table, j) =>
  j > 0 ? Math.max(table.scores[j - 1], -Number.MAX_VALUE) : -Infinity;

/** The first cut whose scores exceed a threshold, or all of them: binary search in increasing scores. */
function cutAbove(scores, threshold) {
  let low = 0;
  let high = threshold === -Infinity ? 0 : scores.length;
  while (low < high) {
    const midpoint = (low + high) >> 1;
    if (scores[midpoint] > threshold) high = midpoint;
    else low = midpoint + 1;
  }
  return low;
}

/** Excess costs of a false alarm and of a miss over the right decision, for two decisions. */
const excessCosts = (costs) => [costs[0][1] - costs[0][0], costs[1][0] - costs[1][1]];

/** The probability above which the positive decision is cheaper; infinite if one always is. */
function bayesThreshold(costs) {
  const [alarm, miss] = excessCosts(costs);
  if (alarm < 0 && miss < 0) return NaN;
  if (Math.min(alarm, miss) >= 0) return alarm + miss > 0 ? alarm / (alarm + miss) : NaN;
  return alarm < 0 ? -Infinity : Infinity;
}

/** Cost per case when scores from each cut upwards receive the second decision. */
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

/** The cheapest cut on these cases, the highest of those that tie; -1 if it is undefined. */
function bestCut(table, costs, prior) {
  const costOfCut = cutCosts(table, costs, prior);
  const least = costOfCut.reduce((low, cost) => (cost < low ? cost : low), Infinity);
  if (Number.isNaN(bayesThreshold(costs)) || costOfCut.some(Number.isNaN)) return -1;
  const limit = least + tieOf(costs);
  return costOfCut.findLastIndex((cost) => cost <= limit);
}

/** Cost per case at each cut when costs differ between cases, from the sums of their terms. */
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
 * The probability above which the next of two decisions is taken. Exactly there both cost the same
 * and the first one listed is taken, so the threshold is shifted by more than rounding can move it.
 */
const cutBetween = ({ high, decision }, next) => high * (1 + (next.decision < decision ? -TIE : TIE));

/** Counts at another prior of the positive class, to which posteriors and decisions are adjusted. */
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

/** Cuts at the vertices of the ROC convex hull, by pooling adjacent violators. */
function hullCuts(table) {
  const whole = table.weights.every((classWeights) => classWeights.every(Number.isInteger));
  // products of whole weights are exact; fractional weights need room for rounding
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

/** Loss at a cut under cost proportion c: 2{c π₀ FPR + (1 − c) π₁ FNR}. */
function lossAtCut(table, j, prior, c) {
  const [alarms, hits] = rocPoint(table, j);
  return 2 * (c * prior[0] * alarms + (1 - c) * prior[1] * (1 - hits));
}

/** The cut on the hull with the least loss at a cost proportion; the first of those that tie. */
function lossCut(table, hull, prior, c) {
  const losses = hull.map((j) => lossAtCut(table, j, prior, c));
  return hull[losses.indexOf(Math.min(...losses))] ?? 0;
}

/** Net benefit of acting on every case whose posterior exceeds a threshold probability. */
function netBenefit(table, scores, prior, p) {
  if (p >= 1) return 0;
  const [alarms, hits] = rocPoint(table, cutAbove(scores, p));
  return prior[1] * hits - (prior[0] * alarms * p) / (1 - p);
}

/** Blocks of an isotonic regression: first and last score, share of positives, weight. */
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

// Implied costs -----------------------------------------------------------------------------------

const METRICS = {
  accuracy: ([[tn], [, tp]], n) => (tn + tp) / n,
  "balanced accuracy": ([[tn, fp], [fn, tp]]) => (tn / (tn + fp) + tp / (fn + tp)) / 2,
  F1: ([[, fp], [fn, tp]]) => (2 * tp) / (2 * tp + fp + fn),
  MCC: ([[tn, fp], [fn, tp]]) =>
    (tp * tn - fp * fn) / Math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)),
};

/** The score table with its classes reweighted to a prior. */
function withPrior(table, prior) {
  const weights = table.weights.map((classWeights, k) => classWeights.map((w) => (w * prior[k]) / table.totals[k]));
  return scoreTable(table.scores, weights);
}

/** The cut at which a metric is the highest; the first of those that tie. */
function metricCut(table, metric) {
  const goodness = range(table.scores.length + 1).map((j) =>
    METRICS[metric](cutCounts(table, j), sum(table.totals)),
  );
  const defined = goodness.filter((value) => !Number.isNaN(value));
  const limit = Math.max(...defined) - TIE * Math.max(...defined.map(Math.abs));
  return goodness.findIndex((value) => value >= limit);
}

/** Lowest and highest cost proportion at which a cut is optimal; null for a cut below the hull. */
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
