// Comparisons of several systems: the distribution of the largest difference, the effect of selecting
// the cheapest, and the chances of being the cheapest, as in Python's `inference`. Pure functions.

/** Variance of the difference of each pair of systems; 0 where only rounding is left. */
function differenceVariances(covariance) {
  const diagonal = covariance.map((row, i) => row[i]);
  return covariance.map((row, i) => {
    const squares = new Float64Array(row.length);
    for (let j = 0; j < row.length; j += 1) {
      const both = diagonal[i] + diagonal[j];
      const square = both - 2 * row[j];
      squares[j] = Math.abs(square) <= 1e-12 * both ? 0 : square;
    }
    return squares;
  });
}

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

const roundedHalfToEven = (x) => {
  const low = Math.floor(x);
  return x - low === 0.5 ? low + (low % 2) : Math.round(x); // half to even, as numpy rounds
};

/** Numbers relative to the largest, in billionths: without the digits that rounding may change. */
function inBillionths(values) {
  const scale = largest(values) || 1;
  return values.map((value) => roundedHalfToEven((value / scale) * 1e9));
}

/** The rank of each system in an order; systems that compare as equal share a rank. */
function ranksBy(size, compare) {
  const order = range(size).sort(compare);
  const ranks = new Array(size).fill(0);
  for (let k = 1; k < size; k += 1) ranks[order[k]] = ranks[order[k - 1]] + (compare(order[k - 1], order[k]) ? 1 : 0);
  return ranks;
}

/** Groups of systems that share a rank although they decide differently, by rank. */
function sharedRanks(ranks, variances) {
  const groups = [];
  ranks.forEach((rank, i) => (groups[rank] ??= []).push(i));
  return groups.filter(([first, ...others]) => others.some((i) => variances[first][i] > 0));
}

/**
 * Ranks of the systems that do not depend on the input order: by cost, by the variances of their
 * differences, by their own, and by how far they are from the systems of each rank. Systems that
 * nothing tells apart share a rank.
 */
function canonicalRanks(costs, covariance, variances = differenceVariances(covariance)) {
  const size = costs.length;
  const sorted = lazy(() => variances.map((row) => row.slice().sort()));
  const column = memoized((c) => {
    if (c === 0) return inBillionths(costs);
    return inBillionths(c > size ? costs.map((_, i) => covariance[i][i]) : sorted().map((row) => row[c - 1]));
  });
  const compare = (a, b) => {
    // systems that decide alike differ in no column
    for (let c = 0; c < (variances[a][b] > 0 ? size + 2 : 1); c += 1) {
      const values = column(c);
      if (values[a] !== values[b]) return values[a] - values[b];
    }
    return 0;
  };
  let ranks = ranksBy(size, compare);
  const apart = lazy(() => variances.map(inBillionths));
  for (let before = -1; before < largest(ranks) && sharedRanks(ranks, variances).length; ) {
    before = largest(ranks);
    const current = ranks;
    const row = memoized((i) => new Float64Array(current.map((rank, j) => 2e9 * rank + apart()[j][i])).sort());
    ranks = ranksBy(size, (a, b) => {
      if (current[a] !== current[b] || !(variances[a][b] > 0)) return current[a] - current[b];
      const [first, second] = [row(a), row(b)];
      const c = first.findIndex((value, i) => value !== second[i]);
      return c < 0 ? 0 : first[c] - second[c];
    });
  }
  return ranks;
}

/**
 * An order of the systems that does not depend on the input order. Those that share a rank are
 * ordered by how far they are from those before them; the first of them is any.
 */
function canonicalOrder(costs, covariance) {
  const variances = differenceVariances(covariance);
  const apart = lazy(() => variances.map(inBillionths));
  let ranks = canonicalRanks(costs, covariance, variances);
  for (let groups; (groups = sharedRanks(ranks, variances)).length; ) {
    const [[first]] = groups;
    const [current, distance] = [ranks, (i) => (i === first ? -1 : apart()[i][first])];
    ranks = ranksBy(costs.length, (a, b) => current[a] - current[b] || distance(a) - distance(b));
  }
  return range(costs.length).sort((a, b) => ranks[a] - ranks[b] || a - b);
}

/** Errors with a covariance, as sums of the fixed normal numbers: `draw` makes them, an array for each system. */
function errorDraws(covariance, order, count, centred) {
  const root = triangularRoot(order.map((i) => order.map((j) => covariance[i][j])));
  const normals = fixedNormals(count, root.length, centred);
  const factors = order.map((_, index) => root.map((column) => column[index]));
  const drawn = order.map(() => new Float64Array(count));
  let known = 0;
  /** All errors; those before `end` are made, if they are not yet. */
  const draw = (end) => {
    for (let i = 0; known < end && i < order.length; i += 2) {
      const next = Math.min(i + 1, order.length - 1); // the last one of an odd number has no second
      const sums = [drawn[order[i]], next > i ? drawn[order[next]] : new Float64Array(count)];
      addWeighted(sums, [factors[i], factors[next]], normals, known, end);
      if (!centred) for (const errors of sums) divide(errors, lengthsOf(count, root.length), known, end);
    }
    known = Math.max(known, end);
    return drawn;
  };
  return { draw, rank: root.length };
}

/** Divide numbers by others, from one place to another. */
function divide(numbers, divisors, start, end) {
  for (let r = start; r < end; r += 1) numbers[r] /= divisors[r];
}

/**
 * Add columns times factors to two sums, from one row to another. Both take four columns at a time,
 * which is four times as fast as adding column by column, and most of the time that comparing many
 * systems takes.
 */
function addWeighted([sums, others], [first, second], columns, start, end) {
  const used = range(columns.length).findLastIndex((c) => first[c] || second[c]) + 1;
  for (let c = 0; c < used; c += 4) {
    const next = [c, c + 1, c + 2, c + 3];
    const [p, q, s, t] = next.map((i) => columns[i] ?? columns[c]); // those that are missing have factor 0
    const [pa, qa, sa, ta] = next.map((i) => first[i] ?? 0);
    const [pb, qb, sb, tb] = next.map((i) => second[i] ?? 0);
    for (let r = start; r < end; r += 1) {
      sums[r] += pa * p[r] + qa * q[r] + sa * s[r] + ta * t[r];
      others[r] += pb * p[r] + qb * q[r] + sb * s[r] + tb * t[r];
    }
  }
}

/** The length of each vector of the fixed normal numbers; the last result is cached. */
const lengthsOf = (() => {
  let known = {};
  return (count, dimensions) => {
    if (known.count === count && known.dimensions === dimensions) return known.lengths;
    const squares = new Float64Array(count);
    for (const column of fixedNormals(count, dimensions))
      for (let r = 0; r < count; r += 1) squares[r] += column[r] * column[r];
    known = { count, dimensions, lengths: squares.map(Math.sqrt) };
    return known.lengths;
  };
})();

const DIRECTIONS = 1024;
const BLOCK = 128; // directions that are looked at together: often the first settle it

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
  /** Squared extents of a system in the first directions, at least as many as asked for. */
  const extents = (i, count = DIRECTIONS) => {
    if (!directions) {
      const order = canonicalOrder(costs, covariance);
      const [first] = order;
      // only differences matter: covariances of the errors relative to one of the systems
      const relative = variances.map((row, a) =>
        row.map((variance, b) => (variances[a][first] + variances[first][b] - variance) / 2),
      );
      directions = { ...errorDraws(relative, order, DIRECTIONS, false), extent: new Map() };
    }
    if (!directions.extent.has(i)) directions.extent.set(i, { extent: new Float64Array(DIRECTIONS), known: 0 });
    const entry = directions.extent.get(i);
    const { extent, known } = entry;
    if (known >= count) return extent;
    const errors = directions.draw(count);
    const drawn = errors[i];
    errors.forEach((other, j) => {
      if (!(variances[i][j] > 0)) return;
      const factor = 1 / variances[i][j];
      for (let r = known; r < count; r += 1) {
        const difference = drawn[r] - other[r];
        const square = difference * difference * factor;
        if (square > extent[r]) extent[r] = square;
      }
    });
    entry.known = count;
    return extent;
  };
  const normalTail = (square) => erfc(Math.sqrt(square / 2));
  const meanTail = (i, square) => {
    const extent = extents(i);
    if (!directions.rank) return null;
    let total = 0;
    for (let r = 0; r < DIRECTIONS; r += 1)
      total += chiTail(directions.rank, square > 0 ? square / extent[r] : 0);
    return total / DIRECTIONS;
  };
  /** Whether the mean tail is at least alpha: its terms are added until that is settled. */
  const tailReaches = (i, square, alpha) => {
    const needed = alpha * DIRECTIONS;
    let total = 0;
    for (let start = 0; start < DIRECTIONS && total < needed; start += BLOCK) {
      const extent = extents(i, start + BLOCK);
      if (!directions.rank) return true;
      for (let r = start; r < start + BLOCK && total < needed; r += 1) total += chiTail(directions.rank, square / extent[r]);
    }
    return !(total < needed);
  };
  /** Whether a system stays a contender; the cheap bounds on the tail often settle it. */
  const stays = (i, square, alpha) => {
    if (normalTail(square) >= alpha) return true;
    if (comparisons * normalTail(square) < alpha) return false;
    return tailReaches(i, square, alpha);
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

/** The factor by which costs are shrunk to their mean, for what noise explains of their spread. */
function shrinkageOf(costs, among) {
  const size = costs.length;
  const mean = sum(costs) / size;
  const spread = sum(costs.map((cost) => (cost - mean) ** 2));
  const noise = sum(among.map((row, i) => row[i])) - sum(among.map(sum)) / size;
  return spread > 0 ? Math.sqrt(Math.max(0, 1 - noise / spread)) : 0;
}

/** What each system saves against the alternative, which is the last, shrunk to zero for what noise explains. */
function keptGaps(costs, variances) {
  const last = costs.length - 1;
  return costs.slice(0, last).map((cost, i) => {
    const gap = costs[last] - cost;
    return gap ? gap * Math.sqrt(1 - Math.min(Math.sqrt(variances[i][last]) / Math.abs(gap), 1) ** 2) : 0;
  });
}

/**
 * What happens when the choice is made again: joint draws of the errors of some systems and, last, of
 * the alternative, which is taken if it is cheaper. `errors` are above those of the best decisions,
 * whose own come last; `chosen` is the cheapest system in each draw, and `rows` are the draws that
 * end as these cases did, with a system or without one. `best` is what the best decisions cost:
 * `least` with what each system costs to run, and `shared`, covariances and last its variance.
 */
function choicesAgain(costs, covariance, winner, { least, shared }) {
  const size = costs.length - 1; // without the alternative
  const systems = range(size);
  const variance = shared[size + 1];
  const above = covariance.map((row, i) => row.map((value, j) => value - shared[i] - shared[j] + variance));
  const withBest = shared.slice(0, -1).map((value) => value - variance);
  const bordered = [...above.map((row, i) => [...row, withBest[i]]), [...withBest, variance]];
  const inner = (matrix) => matrix.slice(0, size).map((row) => row.slice(0, size));
  const order = canonicalOrder(systems.map((i) => costs[i] - least[i]), inner(above));
  const errors = errorDraws(bordered, [...order, size, size + 1], DRAWS, true).draw(DRAWS);
  const ofSystems = costs.slice(0, size);
  const mean = sum(ofSystems) / size;
  const factor = shrinkageOf(ofSystems, inner(covariance));
  const lowest = new Float64Array(DRAWS).fill(Infinity);
  const chosen = new Int32Array(DRAWS);
  ofSystems.forEach((cost, i) => {
    const shrunk = mean + factor * (cost - mean);
    for (let r = 0; r < DRAWS; r += 1) {
      if (!(shrunk + errors[i][r] < lowest[r])) continue;
      lowest[r] = shrunk + errors[i][r];
      chosen[r] = i;
    }
  });
  const gaps = keptGaps(costs, differenceVariances(covariance));
  const isTaken = !lowestOf([costs[winner], costs[size]]).includes(1);
  const rows = range(DRAWS).filter((r) => gaps[chosen[r]] + errors[size][r] - errors[chosen[r]][r] > 0 === isTaken);
  const missing = (r) => Math.max(0, least[chosen[r]] - lowest[r]); // no cost is below that of the best decisions
  return { errors, chosen, rows, missing, winner };
}

/** The effect of selecting the cheapest: bias of its cost, and how far its upper bound moves up. */
function selectionEffect({ errors, chosen, rows, missing, winner }, level, against) {
  const [alternative, best] = errors.slice(-2);
  const errorOf = (i, r) => (against ? errors[i][r] - alternative[r] : errors[i][r] + best[r]);
  const lucky = rows.map((r) => errorOf(chosen[r], r));
  const bias = Math.max(0, -sum(lucky.map((error, n) => error + missing(rows[n]))) / rows.length);
  const tail = (1 - level) / 2;
  const before = range(DRAWS).map((r) => errorOf(winner, r));
  return { bias, reach: Math.max(0, quantileOf(before, tail) - quantileOf(lucky, tail)) };
}

/** A quantile of some numbers, between two of them in proportion. */
function quantileOf(numbers, share) {
  const sorted = Float64Array.from(numbers).sort();
  const position = share * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(position)], sorted[Math.ceil(position)]];
  return low + (position % 1) * (high - low);
}

/**
 * Draws whose errors are at least as large as the standard errors of each contender's differences to
 * the systems that tie for the cheapest; `tied` has their indices.
 */
function widened({ costs, among }, tied, standardError) {
  const variances = differenceVariances(among);
  const bases = tied.filter((b, t) => tied.slice(0, t).every((a) => variances[a][b] > 0)); // one for each way to decide
  const isOther = (i, b) => variances[b][i] > 0 || costs[i] !== costs[b];
  const missing = bases.map((b) =>
    costs.map((_, i) => (isOther(i, b) ? Math.sqrt(Math.max(standardError(i, b) ** 2 - variances[b][i], 0)) : 0)),
  );
  // half of it is an error of the cheapest, shared by all differences, and half one of the rival
  const added = among.map((row, i) =>
    row.map((_, j) => (sum(missing.map((part) => part[i] * part[j])) / bases.length) * (variances[i][j] === 0 ? 1 : 0.5)),
  );
  const reached = differenceVariances(added);
  const shortfalls = bases.flatMap((b, t) => missing[t].map((part, i) => (reached[b][i] > 0 ? part ** 2 / reached[b][i] : 1)));
  const factor = Math.max(1, ...shortfalls);
  const wider = among.map((row, i) => row.map((value, j) => value + factor * added[i][j]));
  const drawn = errorDraws(wider, canonicalOrder(costs, wider), DRAWS, true).draw(DRAWS);
  return { costs, among: wider, drawn };
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
  const ranks = canonicalRanks(costs, among); // equal systems have equal chances
  const groups = ranks.map((rank) => chances.filter((_, j) => ranks[j] === rank));
  return groups.map((group) => sum(group) / group.length);
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
