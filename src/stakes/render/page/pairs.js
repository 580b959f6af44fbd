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

/** Cells [class, bin of the first, bin of the second, cases] of a pair of sources; −m skips m empty ones. */
function unpackPair(packed, second, bins) {
  let position = -1;
  const cells = [];
  for (const entry of packed) {
    position += entry < 0 ? -entry : 1;
    const row = Math.floor(position / second);
    if (entry > 0) cells.push([Math.floor(row / bins), row % bins, position % second, entry]);
  }
  return cells;
}

if (JOINT) {
  const { sources } = JOINT;
  JOINT.cells = new Map();
  let next = 0;
  sources.forEach((first, i) =>
    sources.slice(i + 1).forEach((second, j) => {
      const cells = unpackPair(DATA.joint.pairs[next], second.bins, first.bins);
      JOINT.cells.set(`${i} ${i + 1 + j}`, cells);
      next += 1;
    }),
  );
}

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
  const tables = classes.map(() => new Float64Array(N_DECISIONS * N_DECISIONS));
  count(first, second, (k, d, e, cases) => (tables[k][d * N_DECISIONS + e] += cases));
  return tables;
}

function countSameSource(first, second, add) {
  if (!first.codes) {
    first.counts.forEach((row, k) => row.forEach((cases, d) => add(k, d, d, cases)));
    return;
  }
  scoreTableOf(first).weights.forEach((classWeights, k) => {
    for (let i = 0; i < classWeights.length; i += 1) add(k, first.codes[i], second.codes[i], classWeights[i]);
  });
}

function countIndependent(first, second, add) {
  first.counts.forEach((row, k) => {
    const mass = sum(row);
    if (!(mass > 0)) return;
    row.forEach((cases, d) => second.counts[k].forEach((other, e) => add(k, d, e, (cases * other) / mass)));
  });
}

function countJointBins(first, second, add) {
  if (first.source > second.source) {
    // joint bins are stored once for a pair of sources, the one with the lower index first
    countJointBins(second, first, (k, d, e, cases) => add(k, e, d, cases));
    return;
  }
  for (const [k, a, b, cases] of JOINT.cells.get(`${first.source} ${second.source}`)) {
    if (!first.within && !second.within) {
      add(k, a, b, cases);
      continue;
    }
    const [firstShares, secondShares] = [first.within?.[k][a] ?? PURE_SHARES[a], second.within?.[k][b] ?? PURE_SHARES[b]];
    for (let d = 0; d < N_DECISIONS; d += 1) {
      if (!firstShares[d]) continue;
      for (let e = 0; e < N_DECISIONS; e += 1)
        if (secondShares[e]) add(k, d, e, cases * firstShares[d] * secondShares[e]);
    }
  }
}

/**
 * Covariance of the errors of two mean costs, from the cases of each class in each pair of decisions.
 * Classes are strata where the prior is stated; otherwise all cases are one sample.
 */
function covarianceOf(pair, costs, prior) {
  const strata = prior ? range(pair.length).map((k) => [k]) : [range(pair.length)];
  const overCells = (stratum, add) => {
    for (const k of stratum) {
      const [cells, row] = [pair[k], costs[k]];
      for (let d = 0, c = 0; d < N_DECISIONS; d += 1)
        for (let e = 0; e < N_DECISIONS; e += 1, c += 1) if (cells[c]) add(cells[c], row[d], row[e]);
    }
  };
  let total = 0;
  strata.forEach((stratum, r) => {
    let [size, firstSum, secondSum, products] = [0, 0, 0, 0];
    overCells(stratum, (cases, first, second) => {
      size += cases;
      firstSum += cases * first;
      secondSum += cases * second;
    });
    if (!(size > 1)) return;
    overCells(stratum, (cases, first, second) => {
      products += cases * (first - firstSum / size) * (second - secondSum / size);
    });
    total += ((prior ? prior[r] ** 2 : 1) * products) / (size * (size - 1));
  });
  return total;
}

/** Variance of the error of a mean cost, from its counts. */
const varianceOf = (counts, costs, prior) =>
  covarianceOf(
    counts.map((row) => {
      const cells = new Float64Array(N_DECISIONS * N_DECISIONS);
      row.forEach((cases, d) => (cells[d * N_DECISIONS + d] = cases));
      return cells;
    }),
    costs,
    prior,
  );

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
