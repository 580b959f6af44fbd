// Intervals: profile likelihood, the distribution of the largest difference, and the effect of
// selecting the cheapest, as in Python's `inference`. Pure functions that do not touch the document.
// A stratum is {values, counts, lowest, highest}; a quantity is the sum of the means of its strata.

// A pseudo-case at an extreme value, the squared number of such cases seen that halves it, and the
// number from which on it stays as it is: chosen by coverage, as in Python.
const [PSEUDO_CASES, FADING, MANY] = [0.4, 5, 1e3];
const LONGEST_STEP = 5; // of Newton's method, in the logarithm of the tilt

/** A stratum without empty cells, where equal values are merged. */
function stratumOf(values, counts, lowest, highest) {
  const casesOfValue = new Map();
  values.forEach((value, i) => {
    if (counts[i] > 0) casesOfValue.set(value, (casesOfValue.get(value) || 0) + counts[i]);
  });
  const seen = [...casesOfValue.keys()];
  return {
    values: seen,
    counts: [...casesOfValue.values()],
    lowest: Math.min(lowest, ...seen),
    highest: Math.max(highest, ...seen),
  };
}

/** Strata of the negated quantity: its upper bound is the lower bound of the quantity. */
const negated = (strata) =>
  strata.map(({ values, counts, lowest, highest }) => ({
    values: values.map((value) => -value),
    counts,
    lowest: -highest,
    highest: -lowest,
  }));

/** Gaps below the highest value, scaled to [0, 1], with the pseudo-case added to one stratum. */
function withPseudoCase(strata, index) {
  const gapsOf = ({ values, highest }) => values.map((value) => Math.max(highest - value, 0));
  const scale = Math.max(0, ...strata.flatMap(gapsOf));
  const cells = strata.map((stratum) => ({
    gaps: gapsOf(stratum).map((gap) => (scale > 0 ? gap / scale : 0)),
    counts: stratum.counts,
    total: sum(stratum.counts),
  }));
  const { gaps, counts, total } = cells[index];
  const extra = pseudoCase(cells[index]);
  cells[index] = { gaps: [...gaps, 0], counts: [...counts, extra], total: total + extra };
  return { scale, cells };
}

/** How much of a case is added at the highest value: the less, the more such cases the data show. */
function pseudoCase({ gaps, counts, total }) {
  const meanGap = total > 0 ? dot(counts, gaps) / total : 0;
  const seen = meanGap > 0 ? sum(gaps.map((gap, j) => counts[j] * (gap / meanGap - 1) ** 2)) : 0;
  return PSEUDO_CASES / (1 + Math.min(seen, MANY) ** 2 / FADING);
}

/** The u ≥ 0 with Σ n / (u + s g) = 1 over counts n and gaps g; zero if the sum stays below 1. */
function levelOf({ gaps, counts, total }, s) {
  if (!(total > 0)) return 0;
  let lowest = total - (s * dot(counts, gaps)) / total;
  for (let j = 0; j < gaps.length; j += 1) lowest = Math.max(lowest, counts[j] - s * gaps[j]);
  lowest = Math.max(lowest, 0);
  let level = lowest;
  for (let step = 0; step < 100; step += 1) {
    let [mass, slope] = [0, 0];
    for (let j = 0; j < gaps.length; j += 1) {
      const divisor = level + s * gaps[j];
      mass += counts[j] / divisor;
      slope += counts[j] / divisor / divisor;
    }
    const next = Math.max(level + (mass * (mass - 1)) / slope, lowest);
    const done = Math.abs(next - level) <= 1e-14 * total;
    level = next;
    if (done) break;
  }
  return level;
}

/** At a tilt s towards high values: the likelihood ratio, its slope in log s, and the mean gap. */
function tilted(cells, s) {
  let [ratio, slope, mean] = [0, 0, 0];
  for (const cell of cells) {
    const { gaps, counts, total } = cell;
    if (!(total > 0)) continue;
    const level = levelOf(cell, s);
    let [weightedTilt, weight, tilt] = [0, 0, 0];
    for (let j = 0; j < gaps.length; j += 1) {
      const divisor = level + s * gaps[j];
      const share = counts[j] / divisor;
      ratio += counts[j] * Math.log1p((divisor - total) / total);
      mean += share * gaps[j];
      tilt += share * s * gaps[j];
      weightedTilt += (share / divisor) * s * gaps[j];
      weight += share / divisor;
    }
    slope += tilt - (level > 0 ? weightedTilt / weight : 0);
  }
  return { ratio: 2 * ratio, slope: 2 * slope, mean, s };
}

/** The tilt at which an increasing measure reaches a goal, by bracketed Newton steps. */
function tiltTo(goal, measure, cells, guess) {
  let [logS, low, high, lastStep] = [guess, -Infinity, Infinity, Infinity];
  let solution = null;
  for (let step = 0; step < 100; step += 1) {
    solution = tilted(cells, Math.exp(logS));
    const [value, slope] = measure(solution);
    if (value < goal) low = logS;
    else high = logS;
    const usable = value > 0 && slope > 0; // otherwise move by the longest step towards the goal
    const newton = usable ? (-Math.log(value / goal) * value) / slope : value < goal ? 9 : -9;
    let move = Math.max(-LONGEST_STEP, Math.min(LONGEST_STEP, newton));
    const outside = logS + move < low || logS + move > high;
    // bisect where Newton's step leaves the bracket or does not halve the last one
    const bisects = outside || Math.abs(move) > Math.max(lastStep / 2, 1e-5);
    if (bisects && Number.isFinite(high - low)) move = (low + high) / 2 - logS;
    lastStep = Math.abs(move);
    logS += move;
    if (lastStep <= 1e-9 || logS > guess + 200) break;
  }
  return lastStep <= 1e-9 ? tilted(cells, Math.exp(logS)) : solution;
}

/** The variance of the mean gap: near zero tilt, the likelihood ratio is about s² times this. */
function varianceOfMeanGap(cells) {
  const variances = cells.map(({ gaps, counts, total }) => {
    if (!(total > 0)) return 0;
    const mean = dot(counts, gaps) / total;
    return sum(gaps.map((gap, j) => counts[j] * (gap - mean) ** 2)) / total ** 2;
  });
  return sum(variances) || 1;
}

/** The largest mean whose likelihood ratio is within a threshold; any stratum may have the pseudo-case. */
function upperBound(strata, threshold) {
  const top = sum(strata.map(({ highest }) => highest));
  const bounds = strata.map((_, index) => {
    const { scale, cells } = withPseudoCase(strata, index);
    if (!(scale > 0)) return top;
    const guess = (Math.log(threshold) - Math.log(varianceOfMeanGap(cells))) / 2;
    const solution = tiltTo(threshold, ({ ratio, slope }) => [ratio, slope], cells, guess);
    return top - scale * solution.mean;
  });
  return Math.max(...bounds);
}

/** The interval of means that the likelihood ratio does not reject, widened by added variance. */
function profileInterval(strata, threshold, estimate, variance) {
  let [low, high] = [-upperBound(negated(strata), threshold), upperBound(strata, threshold)];
  if (variance > 0 && Number.isFinite(estimate)) {
    low = estimate - Math.sqrt((low - estimate) ** 2 + variance * threshold);
    high = estimate + Math.sqrt((high - estimate) ** 2 + variance * threshold);
  }
  const lowest = sum(strata.map((stratum) => stratum.lowest));
  const highest = sum(strata.map((stratum) => stratum.highest));
  return [low, high].map((bound) => Math.min(Math.max(bound, lowest), highest));
}

/** The smallest threshold whose interval reaches down to a value below the estimate. */
function ratioBelow(strata, value, estimate, variance) {
  const mirrored = negated(strata);
  const distance = Math.max(estimate - value, 0);
  const aboveLowest = sum(mirrored.map((stratum) => stratum.highest)) + value;
  const ratios = mirrored.map((_, index) => {
    const { scale, cells } = withPseudoCase(mirrored, index);
    const meanGap = sum(cells.map((cell) => (cell.total > 0 ? dot(cell.counts, cell.gaps) / cell.total : 0)));
    const goal = scale * meanGap - aboveLowest;
    if (aboveLowest < 0 || (goal > 0 && aboveLowest <= 1e-12 * scale && variance === 0)) return Infinity;
    if (!(goal > 0)) return 0;
    const distanceReached = ({ ratio, slope, mean, s }) => {
      const rest = distance ** 2 - variance * ratio;
      const profileDistance = rest > 0 ? Math.sqrt(rest) : 0;
      const varianceSlope = profileDistance > 0 ? variance / (2 * profileDistance) : 0;
      const reached = scale * Math.max(meanGap - mean, 0) + distance - profileDistance;
      return [reached, slope * (scale / (2 * s) + varianceSlope)];
    };
    const guess = Math.log(goal) - Math.log(varianceOfMeanGap(cells) * scale);
    return tiltTo(goal, distanceReached, cells, guess).ratio;
  });
  return Math.min(...ratios);
}

// Normal numbers ----------------------------------------------------------------------------------

/** The complementary error function: a power series near zero, a continued fraction beyond. */
function erfc(z) {
  if (z < 0) return 2 - erfc(-z);
  if (z > 27) return 0;
  if (z < 2.5) {
    let [term, total] = [z, z];
    for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(total); n += 1) {
      term *= (-z * z) / n;
      total += term / (2 * n + 1);
      if (n > 200) break;
    }
    return 1 - (2 / Math.sqrt(Math.PI)) * total;
  }
  let fraction = 0;
  for (let n = 80; n > 0; n -= 1) fraction = n / 2 / (z + fraction);
  return Math.exp(-z * z) / Math.sqrt(Math.PI) / (z + fraction);
}

const polynomial = (coefficients, x) => coefficients.reduceRight((value, coefficient) => value * x + coefficient, 0);
// Coefficients of Wichura (1988), algorithm AS 241.
const MIDDLE = [
  [3.387132872796366608, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125, 45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727],
  [1, 42.313330701600911252, 687.1870074920579083, 5394.1960214247511077, 21213.794301586595867, 39307.89580009271061, 28729.085735721942674, 5226.495278852854561],
];
const SIDES = [
  [1.42343711074968357734, 4.6303378461565452959, 5.7694972214606914055, 3.64784832476320460504, 1.27045825245236838258, 0.24178072517745061177, 0.0227238449892691845833, 7.7454501427834140764e-4],
  [1, 2.05319162663775882187, 1.6763848301838038494, 0.68976733498510000455, 0.14810397642748007459, 0.0151986665636164571966, 5.475938084995344946e-4, 1.05075007164441684324e-9],
];
const TAILS = [
  [6.6579046435011037772, 5.4637849111641143699, 1.7848265399172913358, 0.29656057182850489123, 0.026532189526576123093, 0.0012426609473880784386, 2.71155556874348757815e-5, 2.01033439929228813265e-7],
  [1, 0.59983220655588793769, 0.13692988092273580531, 0.0148753612908506148525, 7.868691311456132591e-4, 1.8463183175100546818e-5, 1.4215117583164458887e-7, 2.04426310338993978564e-15],
];

/** The quantile of the standard normal distribution. */
function normalQuantile(p) {
  const q = p - 0.5;
  const ratioOfPolynomials = ([above, below], x) => polynomial(above, x) / polynomial(below, x);
  if (Math.abs(q) <= 0.425) return q * ratioOfPolynomials(MIDDLE, 0.180625 - q * q);
  const r = Math.sqrt(-Math.log(q < 0 ? p : 1 - p));
  return Math.sign(q) * (r <= 5 ? ratioOfPolynomials(SIDES, r - 1.6) : ratioOfPolynomials(TAILS, r - 5));
}

const PRIMES = [];
const normalColumns = new Map();

/** Quasi-random standard normal numbers, an array for each dimension: the same as in Python. */
function fixedNormals(count, dimensions, centred = false) {
  for (let n = 2; PRIMES.length < dimensions; n += 1) {
    if (n > (PRIMES[PRIMES.length - 1] || 1) && PRIMES.every((prime) => n % prime)) PRIMES.push(n);
  }
  return range(dimensions).map((d) => {
    const key = `${count} ${d} ${centred}`;
    if (!normalColumns.has(key)) {
      const root = Math.sqrt(PRIMES[d]);
      const column = Float64Array.from({ length: count }, (_, r) => {
        const point = Math.abs(2 * (((r + 1) * root) % 1) - 1);
        return normalQuantile(Math.min(Math.max(point, 0.25 / count), 1 - 0.25 / count));
      });
      const mean = centred ? sum([...column]) / count : 0;
      normalColumns.set(key, column.map((value) => value - mean));
    }
    return normalColumns.get(key);
  });
}

/** Probability that a χ² variable with these degrees of freedom exceeds a value. */
function chiTail(degrees, square) {
  const x = square / 2;
  const odd = degrees % 2;
  let tail = odd ? erfc(Math.sqrt(x)) : Math.exp(-x);
  let term = Math.exp(-x) * (odd ? 2 * Math.sqrt(x / Math.PI) : x); // x^a e^-x / Γ(a + 1)
  for (let a = odd ? 0.5 : 1; a < degrees / 2; a += 1) {
    tail += term;
    term *= x / (a + 1);
  }
  return tail;
}

// Joint inference about the systems ---------------------------------------------------------------

/** Variance of the difference of each pair of systems; 0 where only rounding is left. */
const differenceVariances = (covariance) =>
  covariance.map((row, i) =>
    row.map((shared, j) => {
      const both = covariance[i][i] + covariance[j][j];
      const square = both - 2 * shared;
      return Math.abs(square) <= 1e-12 * both ? 0 : square;
    }),
  );

/** Cholesky factor of a covariance that may be singular, without its empty columns. */
function triangularRoot(covariance) {
  const rest = covariance.map((row) => [...row]);
  const size = rest.length;
  const columns = [];
  for (let j = 0; j < size; j += 1) {
    if (!(rest[j][j] > 1e-12 * covariance[j][j])) continue;
    const root = Math.sqrt(rest[j][j]);
    const column = rest.map((row, i) => (i < j ? 0 : row[j] / root));
    for (let a = j + 1; a < size; a += 1) {
      const [row, factor] = [rest[a], column[a]];
      if (factor) for (let b = j + 1; b <= a; b += 1) row[b] -= factor * column[b];
    }
    columns.push(column);
  }
  return columns; // [rank][system]
}

/** An order of the systems that does not depend on the input order, except among equal systems. */
function canonicalOrder(costs, variances) {
  const keys = costs.map((cost, i) => [cost, ...[...variances[i]].sort((a, b) => a - b)]);
  const scale = keys[0].map((_, c) => Math.max(...keys.map((key) => Math.abs(key[c]))) || 1);
  const roundedHalfToEven = (x) => {
    const [low, off] = [Math.floor(x), x - Math.floor(x)];
    return off === 0.5 ? low + (low % 2) : Math.round(x); // half to even, as numpy rounds
  };
  const rounded = keys.map((key) => key.map((value, c) => roundedHalfToEven((value / scale[c]) * 1e9)));
  return range(costs.length).sort((a, b) => {
    const c = rounded[a].findIndex((value, column) => value !== rounded[b][column]);
    return c < 0 ? a - b : rounded[a][c] - rounded[b][c];
  });
}

/** Errors drawn with the fixed normal numbers, an array for each system. */
function drawnErrors(covariance, order, count, centred) {
  const root = triangularRoot(order.map((i) => order.map((j) => covariance[i][j])));
  const normals = fixedNormals(count, root.length, centred);
  const lengths = centred ? null : new Float64Array(count);
  if (lengths)
    for (const column of normals) column.forEach((value, r) => (lengths[r] += value * value));
  const drawn = new Array(order.length);
  order.forEach((system, index) => {
    const errors = new Float64Array(count);
    root.forEach((column, d) => {
      const [factor, normal] = [column[index], normals[d]];
      if (factor) for (let r = 0; r < count; r += 1) errors[r] += factor * normal[r];
    });
    if (lengths) for (let r = 0; r < count; r += 1) errors[r] /= Math.sqrt(lengths[r]);
    drawn[system] = errors;
  });
  return { drawn, rank: root.length };
}

const DIRECTIONS = 1024;

/**
 * The distribution of the largest standardized difference between a system and the others: its tail
 * and its quantiles, averaged over fixed directions of the joint error.
 */
function maxLaw(costs, covariance) {
  const variances = differenceVariances(covariance);
  const scale = Math.max(...costs.map(Math.abs));
  const areDistinct = (i, j) => variances[i][j] > 0 || Math.abs(costs[i] - costs[j]) > 1e-12 * scale;
  const distinct = range(costs.length).filter((i) => range(i).every((j) => areDistinct(i, j))).length;
  const comparisons = Math.max(1, distinct - 1);
  let directions = null;
  const extents = (i) => {
    if (!directions) {
      const order = canonicalOrder(costs, variances);
      const [first] = order;
      // only differences matter: covariances of the errors relative to one of the systems
      const relative = variances.map((row, a) =>
        row.map((variance, b) => (variances[a][first] + variances[first][b] - variance) / 2),
      );
      directions = { ...drawnErrors(relative, order, DIRECTIONS, false), extent: new Map() };
    }
    if (!directions.extent.has(i)) {
      const extent = new Float64Array(DIRECTIONS);
      directions.drawn.forEach((other, j) => {
        if (!(variances[i][j] > 0)) return;
        const factor = 1 / Math.sqrt(variances[i][j]);
        for (let r = 0; r < DIRECTIONS; r += 1)
          extent[r] = Math.max(extent[r], Math.abs(directions.drawn[i][r] - other[r]) * factor);
      });
      directions.extent.set(i, extent);
    }
    return directions.extent.get(i);
  };
  const normalTail = (square) => erfc(Math.sqrt(square / 2));
  const meanTail = (i, square) => {
    const extent = extents(i);
    if (!directions.rank) return null;
    let total = 0;
    for (let r = 0; r < DIRECTIONS; r += 1)
      total += chiTail(directions.rank, square > 0 ? square / extent[r] ** 2 : 0);
    return total / DIRECTIONS;
  };
  const tailProbability = (i, square) => {
    const [lower, upper] = [normalTail(square), Math.min(1, comparisons * normalTail(square))];
    const tail = meanTail(i, square);
    return tail === null ? upper : Math.min(Math.max(tail, lower), upper);
  };
  /** Whether a system stays a contender; the cheap bounds on the tail often settle it. */
  const stays = (i, square, alpha) => {
    if (normalTail(square) >= alpha) return true;
    if (comparisons * normalTail(square) < alpha) return false;
    return !(tailProbability(i, square) < alpha);
  };
  const quantile = (i, alpha) => {
    const [lower, upper] = [alpha / 2, alpha / 2 / comparisons].map((p) => normalQuantile(p) ** 2);
    if (meanTail(i, upper) === null || comparisons === 1) return upper;
    let [previous, square] = [lower, upper];
    // secant steps in the logarithm of the tail
    let [previousLog, log] = [previous, square].map((point) => Math.log(meanTail(i, point) / alpha));
    for (let step = 0; step < 20; step += 1) {
      const flat = log === previousLog || square === previous;
      const next = flat ? square : square - (log * (square - previous)) / (log - previousLog);
      [previous, previousLog] = [square, log];
      square = Math.min(Math.max(next, lower), upper);
      if (Math.abs(previous - square) <= 1e-12 * square) break;
      log = Math.log(meanTail(i, square) / alpha);
    }
    return square;
  };
  return { stays, quantile };
}

const DRAWS = 2048;

/**
 * Joint draws of the errors of the contenders and, last, of the system that the cheapest is compared
 * with; `covariance` has a row for each of them.
 */
function choiceDraws(costs, covariance, winner) {
  const size = costs.length;
  const among = covariance.slice(0, size).map((row) => row.slice(0, size));
  const order = canonicalOrder(costs, differenceVariances(among));
  const { drawn } = drawnErrors(covariance, [...order, size], DRAWS, true);
  return { costs, covariance, among, winner, drawn };
}

/** The effect of selecting the cheapest: bias of its cost, and how far its upper bound moves up. */
function selectionEffect({ costs, covariance, among, winner, drawn }, level, against) {
  const size = costs.length;
  const mean = sum(costs) / size;
  const spread = sum(costs.map((cost) => (cost - mean) ** 2));
  const noise = sum(among.map((row, i) => row[i])) - sum(among.flat()) / size;
  const shrinkage = spread > 0 ? Math.sqrt(Math.max(0, 1 - noise / spread)) : 0;
  // costs shrunk towards their mean, by as much as noise explains their spread, plus drawn errors
  const lowest = new Float64Array(DRAWS).fill(Infinity);
  const errors = new Float64Array(DRAWS);
  costs.forEach((cost, i) => {
    const [systemErrors, shift] = [drawn[i], shrinkage * (cost - mean)];
    for (let r = 0; r < DRAWS; r += 1) {
      if (!(shift + systemErrors[r] < lowest[r])) continue;
      lowest[r] = shift + systemErrors[r];
      errors[r] = systemErrors[r];
    }
  });
  const bias = -sum(Array.from(errors));
  if (against) for (let r = 0; r < DRAWS; r += 1) errors[r] -= drawn[size][r];
  errors.sort();
  const tail = (1 - level) / 2;
  const position = tail * (DRAWS - 1);
  const quantile =
    errors[Math.floor(position)] + (position % 1) * (errors[Math.ceil(position)] - errors[Math.floor(position)]);
  const variance = against
    ? differenceVariances(covariance)[winner][size]
    : covariance[winner][winner];
  const excess = normalQuantile(tail) * Math.sqrt(variance) - quantile;
  return { bias: Math.max(0, bias / DRAWS), reach: Math.max(0, excess) };
}

const SHRINKAGES = 64;

/** Probability that each contender is the cheapest, with differences shrunk towards zero. */
function shrunkChances({ costs, among, drawn }) {
  const size = costs.length;
  const means = among.map((row) => sum(row) / size);
  const grandMean = sum(means) / size;
  const centred = among.map((row, i) => row.map((value, j) => value - means[i] - means[j] + grandMean));
  const noise = sum(centred.map((row, i) => row[i]));
  if (!(noise > 1e-12 * sum(among.map((row, i) => row[i])))) return costs.map(() => 1 / size);
  const mean = sum(costs) / size;
  const deviations = costs.map((cost) => cost - mean);
  // Satterthwaite's number of dimensions: correlated errors count for fewer than one per system
  const dimensions = noise ** 2 / sum(centred.flat().map((value) => value ** 2));
  const q = (dimensions * sum(deviations.map((value) => value ** 2))) / noise;
  const shrinkages = range(SHRINKAGES).map((i) => (i + 0.5) / SHRINKAGES);
  const logs = shrinkages.map((shrinkage) => ((dimensions - 1) / 2) * Math.log(shrinkage) - (shrinkage * q) / 2);
  const weights = logs.map((log) => Math.exp(log - Math.max(...logs)));
  const parts = weights.map((weight) => weight / sum(weights) / DRAWS);
  const factors = shrinkages.map((shrinkage) => Math.sqrt(1 - shrinkage));
  const chances = costs.map(() => 0);
  const indices = new Int32Array(size);
  for (let r = 0; r < DRAWS; r += 1) {
    const possible = everLowest(deviations, drawn, r, factors, indices);
    factors.forEach((factor, step) => {
      let lowest = Infinity;
      for (let n = 0; n < possible.count; n += 1)
        lowest = Math.min(lowest, factor * deviations[indices[n]] + drawn[indices[n]][r]);
      let ties = 0; // systems with identical decisions share a win
      for (let n = 0; n < possible.count; n += 1)
        ties += factor * deviations[indices[n]] + drawn[indices[n]][r] <= lowest + possible.slack;
      for (let n = 0; n < possible.count; n += 1)
        if (factor * deviations[indices[n]] + drawn[indices[n]][r] <= lowest + possible.slack)
          chances[indices[n]] += parts[step] / ties;
    });
  }
  return chances;
}

/**
 * Writes into `indices` the systems that may be the cheapest in a draw for some shrinkage factor.
 * Costs are linear in the factor: a system that costs more than another at both extreme factors
 * costs more at all of them.
 */
function everLowest(deviations, drawn, r, factors, indices) {
  const [high, low] = [factors[0], factors[factors.length - 1]];
  const lowest = { high: Infinity, low: Infinity, most: -Infinity };
  let [first, second] = [0, 0];
  for (let i = 0; i < deviations.length; i += 1) {
    const [above, below] = [high * deviations[i] + drawn[i][r], low * deviations[i] + drawn[i][r]];
    if (above < lowest.high) [lowest.high, first] = [above, i];
    if (below < lowest.low) [lowest.low, second] = [below, i];
    lowest.most = Math.max(lowest.most, above, below);
  }
  const slack = 1e-12 * (lowest.most - Math.min(lowest.high, lowest.low));
  let count = 0;
  for (let i = 0; i < deviations.length; i += 1) {
    const [above, below] = [high * deviations[i] + drawn[i][r], low * deviations[i] + drawn[i][r]];
    const costsMore = (j) =>
      above > high * deviations[j] + drawn[j][r] + slack &&
      below > low * deviations[j] + drawn[j][r] + slack;
    if (!costsMore(first) && !costsMore(second)) indices[count++] = i;
  }
  return { count, slack };
}
