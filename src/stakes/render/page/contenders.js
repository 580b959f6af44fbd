// Contenders: inference about the costs under any stakes, from the tallies and joint bins of the page.
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
  const tables = classes.map(() => new Float64Array(N_DECISIONS * N_DECISIONS));
  if (first.source >= 0 && first.source === second.source) {
    if (!first.codes) first.counts.forEach((row, k) => row.forEach((cases, d) => (tables[k][d * N_DECISIONS + d] = cases)));
    else
      scoreTableOf(first).weights.forEach((classWeights, k) => {
        for (let i = 0; i < classWeights.length; i += 1)
          tables[k][first.codes[i] * N_DECISIONS + second.codes[i]] += classWeights[i];
      });
    return tables;
  }
  if (first.source < 0 || second.source < 0) {
    first.counts.forEach((row, k) => {
      const mass = sum(row);
      row.forEach((cases, d) =>
        second.counts[k].forEach((other, e) => (tables[k][d * N_DECISIONS + e] = mass > 0 ? (cases * other) / mass : 0)),
      );
    });
    return tables;
  }
  // joint bins are stored once for a pair of sources, the one with the lower index first
  const turned = first.source > second.source;
  const [low, high] = turned ? [second, first] : [first, second];
  for (const [k, a, b, cases] of JOINT.cells.get(`${low.source} ${high.source}`)) {
    if (!low.within && !high.within) {
      tables[k][turned ? b * N_DECISIONS + a : a * N_DECISIONS + b] += cases;
      continue;
    }
    const [lowShares, highShares] = [low.within?.[k][a] ?? PURE_SHARES[a], high.within?.[k][b] ?? PURE_SHARES[b]];
    for (let d = 0; d < N_DECISIONS; d += 1) {
      if (!lowShares[d]) continue;
      for (let e = 0; e < N_DECISIONS; e += 1)
        if (highShares[e])
          tables[k][turned ? e * N_DECISIONS + d : d * N_DECISIONS + e] += cases * lowShares[d] * highShares[e];
    }
  }
  return tables;
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

/** For two classes, whether each decision is the cheapest at some probability; ties count. */
function reachable(costs) {
  if (!TWO) return DATA.joint.reachable;
  const regret = regretOf(costs);
  const top = Math.max(...regret.flat()) || 1;
  const regretAt = (d, p) => ((1 - p) * regret[0][d] + p * regret[1][d]) / top;
  const points = [0, 1];
  range(N_DECISIONS).forEach((d) =>
    range(d).forEach((e) => {
      const [from, to] = [regretAt(d, 0) - regretAt(e, 0), regretAt(d, 1) - regretAt(e, 1)];
      if (from * to < 0) points.push(from / (from - to));
    }),
  );
  const excess = (d, p) => regretAt(d, p) - Math.min(...range(N_DECISIONS).map((e) => regretAt(e, p)));
  return range(N_DECISIONS).map((d) => points.some((p) => excess(d, p) <= 1e-9));
}

/**
 * Decisions that a system can make. A Bayes rule never makes one that is nowhere the cheapest; a
 * model that decides by itself may.
 */
const availableDecisions = (system, reachableNow) =>
  !system.posterior ? decisions.map(() => true) : system.way === "fixed" ? DATA.joint.reachable : reachableNow;

/**
 * Intervals, contenders and probabilities of being the cheapest for some systems. `prior` is null if
 * the class shares of the sample count; `classShares` are the shares in either case. Everything
 * that takes time is computed on first use.
 */
function inferenceOf(systems, stated, prior, reachableNow, classShares) {
  // costs above the smallest one: a common shift changes no comparison
  const base = Math.min(...stated.flat());
  const costs = stated.map((row) => row.map((cost) => cost - base));
  const threshold = normalQuantile((1 - DATA.level) / 2) ** 2;
  const all = systems.map((system) => {
    const source = sourceOf(system);
    const within = source < 0 ? null : withinBins(system, JOINT.sources[source]);
    return { ...system, source, within, available: availableDecisions(system, reachableNow) };
  });
  const estimates = all.map((system) => system.cost - base);
  const tiedBest = lowestOf(estimates);
  const best = tiedBest[0];
  const rangeOf = (system) =>
    costs.map((row) => {
      const possibleCosts = row.filter((_, d) => system.available[d]);
      return [Math.min(...possibleCosts), Math.max(...possibleCosts)];
    });
  const pairRange = (system, other) => {
    const [first, second] = [rangeOf(system), rangeOf(other)];
    return first.map(([low, high], k) => [low - second[k][1], high - second[k][0]]);
  };
  const pairs = new Map();
  const pair = (i, j) => {
    const key = i * all.length + j;
    if (!pairs.has(key)) pairs.set(key, pairTable(all[i], all[j]));
    return pairs.get(key);
  };
  const lazy = (make) => {
    let value;
    return () => (value === undefined ? (value = make()) : value);
  };
  const memoized = (make) => {
    const values = new Map();
    return (i) => {
      if (!values.has(i)) values.set(i, make(i));
      return values.get(i);
    };
  };
  const gaps = lazy(() => costs.map((row) => row.flatMap((cost) => row.map((other) => cost - other))));
  const variance = memoized((i) => varianceOf(all[i].counts, costs, prior));
  // the variance from fitting a calibration map is known at the stakes of the report only; elsewhere
  // it is assumed to keep its ratio to the sampling variance
  const ratios = all.map(({ reportedVariance }, i) =>
    lazy(() => (reportedVariance > 0 ? Math.sqrt(Math.max(variance(i), 0) / reportedVariance) : 0)),
  );
  const fittingCovariance = (i, j) => {
    const [a, b] = [all[i].position, all[j].position];
    const added = a < 0 || b < 0 ? 0 : JOINT.fitting[a][b];
    return added ? added * ratios[i]() * ratios[j]() : 0;
  };
  const fittingVariance = (i, j) =>
    Math.max(fittingCovariance(i, i) + fittingCovariance(j, j) - 2 * fittingCovariance(i, j), 0);
  const samplingCovariance = memoized((key) => {
    const [i, j] = [Math.floor(key / all.length), key % all.length];
    return i === j ? variance(i) : covarianceOf(pair(i, j), costs, prior);
  });
  const covariance = (i, j) => samplingCovariance(Math.min(i, j) * all.length + Math.max(i, j)) + fittingCovariance(i, j);
  const covarianceAmong = (indices) => indices.map((i) => indices.map((j) => covariance(i, j)));
  const law = lazy(() => maxLaw(estimates, covarianceAmong(range(all.length))));
  const strata = (i, j) =>
    strataOf(pair(i, j), gaps(), pairRange(all[i], all[j]), prior, all[i].running - all[j].running);
  const alpha = 1 - DATA.level;
  /** Whether a system is statistically indistinguishable from the cheapest. */
  const isContender = memoized((i) => {
    if (tiedBest.includes(i)) return true;
    const square = Math.min(
      ...tiedBest.map((j) => ratioBelow(strata(i, j), 0, estimates[i] - estimates[j], fittingVariance(i, j))),
    );
    // one comparison and all of them bound the simultaneous test, which takes much longer
    const tail = erfc(Math.sqrt(square / 2));
    if (tail >= alpha) return true;
    if ((all.length - 1) * tail < alpha) return false;
    return law().stays(i, square, alpha);
  });
  const contenders = lazy(() => {
    const remaining = range(all.length).filter(isContender);
    const widest = largest(estimates.map((cost) => cost - estimates[best])) || 1;
    const rounded = (i) => Math.round(((estimates[i] - estimates[best]) / widest) * 1e9);
    return remaining.sort((a, b) => Number(b === best) - Number(a === best) || rounded(a) - rounded(b) || a - b);
  });
  const bounds = lazy(() => {
    const runningCosts = all.map((system) => system.running);
    const boundBy = (pick) => {
      const byClass = costs.map((row) => pick(...row));
      return prior ? dot(prior, byClass) : pick(...byClass);
    };
    return [boundBy(Math.min) + Math.min(...runningCosts), boundBy(Math.max) + Math.max(...runningCosts)];
  });
  /** Cost of a system with its interval. */
  const costOf = memoized((i) => {
    const costStrata = strataOf(all[i].counts, costs, rangeOf(all[i]), prior, all[i].running);
    const [low, high] = profileInterval(costStrata, threshold, estimates[i], fittingCovariance(i, i));
    return [estimates[i] + base, low + base, high + base];
  });
  const inInputOrder = lazy(() => contenders().slice().sort((a, b) => a - b));
  const naive = naiveDecision(costs, classShares);
  const blindRow = (counts, d) => counts.map((row) => row.flatMap((_, e) => row.map((cases) => (e === d ? cases : 0))));
  const blindPair = (i) => blindRow(all[i].counts, naive.decision);
  /** Joint draws of the errors of the contenders and, last, of the best constant decision. */
  const draws = lazy(() => {
    const rivals = inInputOrder();
    const blindCounts = all[best].counts.map((row) => row.map((_, d) => (d === naive.decision ? sum(row) : 0)));
    const withBlind = rivals.map((i) => covarianceOf(blindPair(i), costs, prior));
    const blindVariance = covarianceOf(blindRow(blindCounts, naive.decision), costs, prior);
    const bordered = covarianceAmong(rivals).map((row, i) => [...row, withBlind[i]]);
    return choiceDraws(rivals.map((i) => estimates[i]), [...bordered, [...withBlind, blindVariance]], rivals.indexOf(best));
  });
  const effectOf = (against) =>
    inInputOrder().length < 2 ? { bias: 0, reach: 0 } : selectionEffect(draws(), DATA.level, against);
  const effect = lazy(() => effectOf(false));
  const blindEffect = lazy(() => effectOf(true));
  const expected = lazy(() => {
    const [value, low, high] = costOf(best);
    const { bias, reach } = effect();
    const farther = Math.max(high, Math.min(high + reach, bounds()[1] + base));
    return [Math.min(value + bias, farther), low, farther];
  });
  // Against the best constant decision -------------------------------------------------------------
  const isBlind = (i) =>
    !all[i].running && all[i].counts.every((row) => row.every((cases, d) => d === naive.decision || cases === 0));
  const plainSaving = memoized((i) => {
    if (isBlind(i)) return [0, 0, 0];
    const bound = pairRange({ available: decisions.map((_, d) => d === naive.decision) }, all[i]);
    const savingStrata = strataOf(blindPair(i), gaps(), bound, prior, -all[i].running);
    const value = naive.cost - estimates[i];
    return [value, ...profileInterval(savingStrata, threshold, value, fittingCovariance(i, i))];
  });
  const saving = lazy(() => {
    if (isBlind(best)) return [0, 0, 0];
    const [value, low, high] = plainSaving(best);
    const [lowest, highest] = bounds();
    const farther = Math.min(low, Math.max(low - blindEffect().reach, lowest - highest));
    const corrected = Math.max(value - effect().bias, farther);
    const rounding = 1e-12 * Math.abs(naive.cost + base);
    return [Math.abs(corrected) <= rounding ? 0 : corrected, farther, high];
  });
  /** Excess cost of a system over the cheapest, with a simultaneous interval. */
  const more = (i) => {
    const value = tiedBest.includes(i) ? 0 : estimates[i] - estimates[best];
    const [low, high] = profileInterval(strata(i, best), law().quantile(i, alpha), value, fittingVariance(i, best));
    return [value, contenders().includes(i) ? Math.min(low, 0) : low, high];
  };
  const chances = lazy(() => (inInputOrder().length < 2 ? [1] : shrunkChances(draws())));
  const blindName = `always ${decisions[naive.decision]}`;
  const nameOf = (i) => all[i].name;
  /** Everything that may be the cheapest: contenders, and the best constant decision. */
  const possible = lazy(() => {
    const [, low, high] = saving();
    // if the cheapest always makes the same decision, other systems may still be cheaper
    const possibleSystems = isBlind(best) ? contenders().filter((i) => plainSaving(i)[2] > 0) : high > 0 ? contenders() : [];
    return [...possibleSystems.map(nameOf), ...(low <= 0 ? [blindName] : [])];
  });
  /** Whether one name is among them; faster than the whole list. */
  const isPossible = (name) => {
    const [, low, high] = plainSaving(best);
    const i = all.findIndex((system) => system.name === name);
    if (i >= 0) return (isBlind(best) ? plainSaving(i)[2] : high) > 0 && isContender(i);
    // the correction for selection takes long, and is too small to matter far above zero
    return name === blindName && (low <= 0 || (low < 3 * (naive.cost - estimates[best] - low) && saving()[1] <= 0));
  };
  return {
    best: all[best].name,
    cost: (name) => costOf(all.findIndex((system) => system.name === name)),
    contenders: () => contenders().map(nameOf),
    chance: (name) => chances()[inInputOrder().findIndex((i) => all[i].name === name)] ?? 0,
    expected,
    saving,
    more: (name) => more(all.findIndex((system) => system.name === name)),
    possible,
    isPossible,
    decidesBlind: (name) => all.some((system, i) => system.name === name && isBlind(i)),
    verdict: () => (saving()[0] > 0 ? all[best].name : blindName),
    blind: blindName,
  };
}

const BANDED = Boolean(JOINT) && !TERMS; // whether the page can compute intervals

/** Interval of the cost of decisions with these counts, at any stakes. */
function intervalOfCounts(counts, stated, prior, available = decisions.map(() => true)) {
  const base = Math.min(...stated.flat());
  const costs = stated.map((row) => row.map((cost) => cost - base));
  const ranges = costs.map((row) => [Math.min, Math.max].map((pick) => pick(...row.filter((_, d) => available[d]))));
  const strata = strataOf(counts, costs, ranges, statedPrior(prior), 0);
  const threshold = normalQuantile((1 - DATA.level) / 2) ** 2;
  return profileInterval(strata, threshold, NaN, 0).map((bound) => bound + base);
}

/** Interval of the cost of a single system under these stakes. */
function intervalOfSystem(system, stakes, reachableNow) {
  const inference = inferenceAt([{ ...system, candidate: true }], stakes, reachableNow);
  return inference ? inference.cost(system.name).slice(1) : [NaN, NaN];
}

/** The prior if it is stated; null if it is estimated by the class shares of the sample. */
const statedPrior = (prior) =>
  DATA.prior_stated || String(prior) !== String(REPORTED.prior) ? prior : null;

/** Inference about the candidates among some systems; null if the page lacks what it needs. */
function inferenceAt(systems, { costs, prior }, reachableNow) {
  const rivals = systems.filter((system) => system.candidate);
  if (!JOINT || TERMS || !rivals.length || rivals.some((system) => !Number.isFinite(system.cost))) return null;
  return inferenceOf(rivals, costs, statedPrior(prior), reachableNow || reachable(costs), prior);
}

// Sampling variance of each system at the stakes of the report, which scales the variance of fitting.
if (JOINT)
  for (const system of SYSTEMS) {
    system.position = system.added ? -1 : DATA.slice_systems.indexOf(system.name);
    system.reportedVariance = system.added ? 0 : varianceOf(system.counts, REPORTED.costs, statedPrior(DATA.prior));
  }
