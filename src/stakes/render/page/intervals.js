// Intervals: profile likelihood and the normal distribution, as in Python's `inference`. Pure
// functions that do not touch the document.
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

// The normal distribution -------------------------------------------------------------------------

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

/** The squared quantile that bounds a two-sided interval of this level. */
const squaredQuantile = (level) => normalQuantile((1 - level) / 2) ** 2;

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
