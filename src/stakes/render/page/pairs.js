// Pairs: how often two systems make each pair of decisions, and the variances that follow from it.
// A source is what systems decide by: the scores of a model, or its decisions. Joint bins of two
// sources say how often two systems make each pair of decisions; within a pair of bins that a
// threshold divides, the decisions of the systems are assumed to be independent.

const N_DECISIONS = decisions.length;
// shares of the decisions in a bin that is a single decision
const PURE_SHARES = range(N_DECISIONS).map((b) => range(N_DECISIONS).map((d) => Number(b === d)));
const JOINT = DATA.joint && {
  ...DATA.joint,
  sources: DATA.joint.sources.map((source) => ({ ...source, bins: source.ends.length || N_DECISIONS })),
  fitting: numbers(DATA.joint.fitting),
};

/** Joint bins of all pairs of sources, one pair after the other; −m in the packed cells skips m empty ones. */
function unpackPairs(pairs, sources) {
  const [rows, columns, cases] = [[], [], []];
  const starts = [0]; // of each class of each pair
  const unpack = (packed, first, second) => {
    let position = -1;
    const ends = classes.map(() => 0);
    for (const entry of packed) {
      position += entry < 0 ? -entry : 1;
      if (entry < 0) continue;
      const row = Math.floor(position / second);
      rows.push(row % first);
      columns.push(position % second);
      ends[Math.floor(row / first)] = cases.push(entry);
    }
    for (const end of ends) starts.push(Math.max(end, starts[starts.length - 1]));
  };
  let next = 0;
  sources.forEach((first, i) => sources.slice(i + 1).forEach((second) => unpack(pairs[next++], first.bins, second.bins)));
  return { rows: Uint16Array.from(rows), columns: Uint16Array.from(columns), cases: Float64Array.from(cases), starts };
}

if (JOINT) JOINT.cells = unpackPairs(DATA.joint.pairs, JOINT.sources);

/** The place of two sources among all pairs, the one with the lower index first. */
const placeOfPair = (i, j) => (i * (2 * JOINT.sources.length - i - 1)) / 2 + j - i - 1;

/** Index of the source that a system decides by; -1 if the page does not have it. */
function sourceOf(system) {
  if (system.way === "fixed" || system.way === "tuned")
    return JOINT.sources.findIndex((source) => source.system === system.name);
  const repaired = system.way === "recalibrated";
  return JOINT.sources.findIndex(
    (source) => source.model === system.model && source.recalibrated === repaired && source.system === null,
  );
}

/** Share of each bin that receives each decision, by class; null if the bins are the decisions. */
function withinBins(system, source) {
  if (!system.codes) return null;
  const { weights } = scoreTableOf(system);
  return weights.map((classWeights) => {
    let start = 0;
    return source.ends.map((end) => {
      const shares = new Array(N_DECISIONS).fill(0);
      for (let i = start; i < end; i += 1) shares[system.codes[i]] += classWeights[i];
      start = end;
      const mass = sum(shares);
      return mass > 0 ? shares.map((share) => share / mass) : shares;
    });
  });
}

/** The score table that a system decides by. */
const scoreTableOf = (system) => MODELS[system.model][system.way === "recalibrated" ? "recalibrated" : "table"];

/**
 * Cases of each class in each pair of decisions; the second decision varies fastest. Two systems of
 * one source are counted exactly, systems without a source are assumed to decide independently.
 */
function pairTable(first, second) {
  const count =
    first.source < 0 || second.source < 0 ? countIndependent : first.source === second.source ? countSameSource : countJointBins;
  return classes.map((_, k) => {
    const cells = new Float64Array(N_DECISIONS * N_DECISIONS);
    count(first, second, k, (d, e, cases) => (cells[d * N_DECISIONS + e] += cases));
    return cells;
  });
}

function countSameSource(first, second, k, add) {
  if (!first.codes) {
    first.counts[k].forEach((cases, d) => add(d, d, cases));
    return;
  }
  const weights = scoreTableOf(first).weights[k];
  for (let i = 0; i < weights.length; i += 1) add(first.codes[i], second.codes[i], weights[i]);
}

function countIndependent(first, second, k, add) {
  const mass = sum(first.counts[k]);
  if (!(mass > 0)) return;
  first.counts[k].forEach((cases, d) => second.counts[k].forEach((other, e) => add(d, e, (cases * other) / mass)));
}

function countJointBins(first, second, k, add) {
  const { ours, theirs, cases, start, end } = jointBins(first, second, k);
  const [firstBins, secondBins] = [first.within?.[k] ?? PURE_SHARES, second.within?.[k] ?? PURE_SHARES];
  for (let c = start; c < end; c += 1) {
    const [firstShares, secondShares] = [firstBins[ours[c]], secondBins[theirs[c]]];
    for (let d = 0; d < N_DECISIONS; d += 1) {
      if (!firstShares[d]) continue;
      for (let e = 0; e < N_DECISIONS; e += 1)
        if (secondShares[e]) add(d, e, cases[c] * firstShares[d] * secondShares[e]);
    }
  }
}

/**
 * The joint bins of two systems within a class: bins of the first, bins of the second, cases, and
 * which of them are meant. They are stored once for a pair of sources, the one with the lower index first.
 */
function jointBins(first, second, k) {
  const { rows, columns, cases, starts } = JOINT.cells;
  const swapped = first.source > second.source;
  const pair = swapped ? placeOfPair(second.source, first.source) : placeOfPair(first.source, second.source);
  const place = pair * classes.length + k;
  const [ours, theirs] = swapped ? [columns, rows] : [rows, columns];
  return { ours, theirs, cases, start: starts[place], end: starts[place + 1] };
}

/**
 * How far the costs of a system lie above their mean, by decision, by bin of its source and by class.
 * The mean is that of each class where the prior is stated; otherwise all cases are one sample.
 */
function deviationsOf({ counts, within }, costs, prior) {
  const sizes = counts.map(sum);
  const totals = counts.map((row, k) => dot(row, costs[k]));
  const classMeans = totals.map((total, k) => (sizes[k] > 0 ? total / sizes[k] : 0));
  const overall = sum(totals) / sum(sizes);
  const means = prior ? classMeans : classMeans.map(() => overall);
  const byDecision = costs.map((row, k) => Float64Array.from(row, (cost) => cost - means[k]));
  return {
    byDecision,
    byBin: within ? within.map((bins, k) => Float64Array.from(bins, (shares) => dot(shares, byDecision[k]))) : byDecision,
    byClass: classMeans.map((mean, k) => mean - means[k]),
  };
}

/** Factors that turn the products of deviations, summed over each class, into a covariance of means. */
function covarianceFactors(counts, prior) {
  const sizes = counts.map(sum);
  return sizes.map((classSize, k) => {
    const size = prior ? classSize : sum(sizes);
    return size > 1 ? (prior ? prior[k] ** 2 : 1) / (size * (size - 1)) : 0;
  });
}

/** Products of the deviations of two systems, summed over the cases of a class. */
function sumOfProducts(first, second, k) {
  const [ours, theirs] = [first.deviations, second.deviations];
  if (first === second) return sum(first.counts[k].map((cases, d) => cases * ours.byDecision[k][d] ** 2));
  if (first.source < 0 || second.source < 0) return sum(first.counts[k]) * ours.byClass[k] * theirs.byClass[k];
  let total = 0;
  if (first.source === second.source) {
    const [a, b] = [ours.byDecision[k], theirs.byDecision[k]];
    countSameSource(first, second, k, (d, e, cases) => (total += cases * a[d] * b[e]));
    return total;
  }
  const [a, b, bins] = [ours.byBin[k], theirs.byBin[k], jointBins(first, second, k)];
  for (let c = bins.start; c < bins.end; c += 1) total += bins.cases[c] * a[bins.ours[c]] * b[bins.theirs[c]];
  return total;
}

/** Covariance of the errors of the mean costs of two systems, which have deviations. */
function covarianceOf(first, second, factors) {
  let total = 0;
  for (let k = 0; k < factors.length; k += 1) if (factors[k]) total += factors[k] * sumOfProducts(first, second, k);
  return total;
}

/** Strata of costs: values, how often each was seen, and the range that is possible in each class. */
function strataOf(tables, values, ranges, prior, shift) {
  const parts = tables.map((cells, k) => {
    const factor = prior ? prior[k] : 1;
    const [costs, cases] = [[], []];
    for (let c = 0; c < cells.length; c += 1) {
      if (!(cells[c] > 0)) continue;
      costs.push(factor * values[k][c]);
      cases.push(cells[c]);
    }
    return [costs, cases, ...ranges[k].map((bound) => factor * bound)];
  });
  const strata = prior
    ? parts.map((part) => stratumOf(...part))
    : [
        stratumOf(
          parts.flatMap(([costs]) => costs),
          parts.flatMap(([, cases]) => cases),
          Math.min(...parts.map((part) => part[2])),
          Math.max(...parts.map((part) => part[3])),
        ),
      ];
  // a known amount is added to the first stratum only, because the means of all strata are summed
  const [first, ...rest] = strata;
  const shifted = (value) => value + shift;
  const bounds = { lowest: shifted(first.lowest), highest: shifted(first.highest) };
  return [{ ...first, values: first.values.map(shifted), ...bounds }, ...rest];
}
