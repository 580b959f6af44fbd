// Contenders: inference about the costs under any stakes, from the tallies and joint bins of the page.

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

/** Costs above the smallest of them: a common shift changes no comparison. */
function aboveSmallest(stated) {
  const base = Math.min(...stated.flat());
  return { base, costs: stated.map((row) => row.map((cost) => cost - base)) };
}

/** The range of costs in each class that these decisions allow. */
const costRange = (costs, available) =>
  costs.map((row) => [Math.min, Math.max].map((pick) => pick(...row.filter((_, d) => available[d]))));

/** The range of the difference between two costs in each class. */
const differenceRange = (first, second) => first.map(([low, high], k) => [low - second[k][1], high - second[k][0]]);

/**
 * Errors of the costs of some systems: covariances due to sampling and to the fitting of calibration
 * maps, and the strata of cost differences.
 */
function errorsOf(systems, costs, prior) {
  const size = systems.length;
  const factors = covarianceFactors(systems[0].counts, prior);
  const pair = memoized((key) => pairTable(systems[Math.floor(key / size)], systems[key % size]));
  const gaps = lazy(() => costs.map((row) => row.flatMap((cost) => row.map((other) => cost - other))));
  // the variance from fitting a calibration map is known at the stakes of the report only; elsewhere
  // it is assumed to keep its ratio to the sampling variance
  const ratios = lazy(() =>
    systems.map((system) => {
      const { reportedVariance } = system;
      return reportedVariance > 0 ? Math.sqrt(Math.max(covarianceOf(system, system, factors), 0) / reportedVariance) : 0;
    }),
  );
  const fittingCovariance = (i, j) => {
    const [a, b] = [systems[i].position, systems[j].position];
    const reported = a < 0 || b < 0 ? 0 : JOINT.fitting[Math.max(a, b)][Math.min(a, b)];
    return reported ? reported * ratios()[i] * ratios()[j] : 0;
  };
  const covariances = lazy(() => new Float64Array(size * size).fill(NaN)); // NaN: not yet computed
  const covariance = (i, j) => {
    const [known, key] = [covariances(), Math.min(i, j) * size + Math.max(i, j)];
    if (Number.isNaN(known[key])) known[key] = covarianceOf(systems[i], systems[j], factors) + fittingCovariance(i, j);
    return known[key];
  };
  return {
    factors,
    gaps,
    fittingCovariance,
    fittingVariance: (i, j) =>
      Math.max(fittingCovariance(i, i) + fittingCovariance(j, j) - 2 * fittingCovariance(i, j), 0),
    covarianceAmong: (indices) => indices.map((i) => indices.map((j) => covariance(i, j))),
    strata: (i, j) => {
      const possible = differenceRange(costRange(costs, systems[i].available), costRange(costs, systems[j].available));
      return strataOf(pair(i * size + j), gaps(), possible, prior, systems[i].running - systems[j].running);
    },
  };
}

/** The systems that are statistically indistinguishable from the cheapest, and excess costs over it. */
function contendersOf(estimates, isConstant, { strata, fittingVariance, covarianceAmong }) {
  const alpha = 1 - DATA.level;
  const size = estimates.length;
  const tiedBest = lowestOf(estimates);
  const best = (tiedBest.length > 1 ? tiedBest.find(isConstant) : undefined) ?? tiedBest[0]; // the simpler one
  const law = lazy(() => maxLaw(estimates, covarianceAmong(range(size))));
  const isContender = memoized((i) => {
    if (tiedBest.includes(i)) return true;
    const square = Math.min(
      ...tiedBest.map((j) => ratioBelow(strata(i, j), 0, estimates[i] - estimates[j], fittingVariance(i, j))),
    );
    // one comparison and all of them bound the simultaneous test, which takes much longer
    const tail = erfc(Math.sqrt(square / 2));
    if (tail >= alpha) return true;
    if ((size - 1) * tail < alpha) return false;
    return law().stays(i, square, alpha);
  });
  const contenders = lazy(() => {
    const widest = largest(estimates.map((cost) => cost - estimates[best])) || 1;
    const rounded = (i) => Math.round(((estimates[i] - estimates[best]) / widest) * 1e9);
    const bestFirst = (a, b) => Number(b === best) - Number(a === best);
    return range(size).filter(isContender).sort((a, b) => bestFirst(a, b) || rounded(a) - rounded(b) || a - b);
  });
  const excess = (i) => (tiedBest.includes(i) ? 0 : estimates[i] - estimates[best]);
  const intervalOf = (i, base, square) => profileInterval(strata(i, base), square, excess(i), fittingVariance(i, base));
  /** Excess cost of a system over the cheapest, with a simultaneous interval. */
  const more = (i) => {
    const [low, high] = intervalOf(i, best, law().quantile(i, alpha));
    return [excess(i), contenders().includes(i) ? Math.min(low, 0) : low, high];
  };
  /** The standard error of the excess cost over a system that ties for the cheapest, by the lower half of its interval. */
  const standardError = (i, base) => {
    const square = squaredQuantile(DATA.level);
    return i === base ? 0 : (excess(i) - intervalOf(i, base, square)[0]) / Math.sqrt(square);
  };
  return { best, tiedBest, isContender, contenders, more, standardError };
}

/** Whether a system always makes this decision, and costs nothing to run. */
const isAlways = ({ running, counts }, decision) =>
  !running && counts.every((row) => row.every((cases, d) => d === decision || cases === 0));

/** Comparison of some systems with the best constant decision. */
function constantRival(systems, estimates, costs, prior, naive, { factors, gaps, fittingCovariance }) {
  const counts = systems[0].counts.map((row) => row.map((_, d) => (d === naive.decision ? sum(row) : 0)));
  const constant = { counts, source: -1, deviations: deviationsOf({ counts }, costs, prior) };
  const pairWith = (rows) =>
    rows.map((row) => row.flatMap((_, d) => row.map((cases) => (d === naive.decision ? cases : 0))));
  const isSame = (i) => isAlways(systems[i], naive.decision);
  const constantRange = costs.map((row) => [row[naive.decision], row[naive.decision]]);
  const strata = memoized((i) => {
    const possible = differenceRange(constantRange, costRange(costs, systems[i].available));
    return strataOf(pairWith(systems[i].counts), gaps(), possible, prior, -systems[i].running);
  });
  /** What a system saves, with its interval, before any correction for selection. */
  const saving = memoized((i) => {
    if (isSame(i)) return [0, 0, 0];
    const value = naive.cost - estimates[i];
    return [value, ...profileInterval(strata(i), squaredQuantile(DATA.level), value, fittingCovariance(i, i))];
  });
  /** The least that a system can save, whatever its decisions are. */
  const leastSaving = (i) => sum(strata(i).map(({ lowest }) => lowest));
  const covarianceWith = (i) => covarianceOf(systems[i], constant, factors);
  const variance = covarianceOf(constant, constant, factors);
  const name = `always ${decisions[naive.decision]}`;
  return { isSame, saving, leastSaving, covarianceWith, variance, counts, cost: naive.cost, name };
}

/**
 * What the best decision about every case costs: `least` with what a system costs to run, and how its
 * error varies with those of the costs; it does not if the prior is stated.
 */
function bestDecisions(systems, costs, prior, classShares) {
  const best = costs.map((row) => Math.min(...row));
  const sizes = systems[0].counts.map(sum);
  const cases = sum(sizes);
  const mean = dot(best, sizes) / cases;
  const varies = !prior && cases > 1 && best.some((cost) => cost !== best[0]);
  const covariance = (totals) =>
    varies ? sum(totals.map((total, k) => total * (best[k] - mean))) / (cases * (cases - 1)) : 0;
  return {
    least: (i) => dot(best, classShares) + systems[i].running,
    covarianceWith: (counts) => covariance(counts.map((row, k) => dot(row, costs[k]))),
    variance: covariance(sizes.map((size, k) => size * best[k])),
  };
}

/**
 * What is expected of the cheapest once deployed: it was chosen, also instead of the best constant
 * decision, and part of its low cost is luck.
 */
function selectionOf(systems, estimates, compared, constant, bestPossible, { covarianceAmong }) {
  const { contenders, best, tiedBest, standardError } = compared;
  const inInputOrder = lazy(() => contenders().slice().sort((a, b) => a - b));
  /** Choices made again among the contenders that do not decide like the constant; null if there is none. */
  const again = lazy(() => {
    const withConstant = memoized(constant.covarianceWith);
    const bordered = (rivals) => [
      ...covarianceAmong(rivals).map((row, n) => [...row, withConstant(rivals[n])]),
      [...rivals.map(withConstant), constant.variance],
    ];
    const variances = differenceVariances(bordered(inInputOrder())).at(-1);
    const isApart = (i) => Math.abs(estimates[i] - constant.cost) > 1e-12 * Math.abs(constant.cost);
    const rivals = inInputOrder().filter((i, n) => variances[n] !== 0 || isApart(i));
    if (!rivals.includes(best)) return null;
    const sharedWith = rivals.map((i) => bestPossible.covarianceWith(systems[i].counts));
    const shared = [...sharedWith, bestPossible.covarianceWith(constant.counts), bestPossible.variance];
    const costs = [...rivals.map((i) => estimates[i]), constant.cost];
    const least = rivals.map(bestPossible.least);
    return choicesAgain(costs, bordered(rivals), rivals.indexOf(best), { least, shared });
  });
  const effectOf = (against) => (again() ? selectionEffect(again(), DATA.level, against) : { bias: 0, reach: 0 });
  const effectOnSaving = lazy(() => effectOf(true));
  // cost and saving add up to what the constant cost on these cases: both get the same correction
  const effect = lazy(() => ({ ...effectOf(false), bias: effectOnSaving().bias }));
  const chances = lazy(() => {
    const rivals = inInputOrder();
    if (rivals.length < 2) return [1];
    const tied = tiedBest.map((i) => rivals.indexOf(i));
    const drawn = { costs: rivals.map((i) => estimates[i]), among: covarianceAmong(rivals) };
    return shrunkChances(widened(drawn, tied, (i, b) => standardError(rivals[i], rivals[b])));
  });
  return {
    chance: (i) => chances()[inInputOrder().indexOf(i)] ?? 0,
    expected: ([value, low, high], most) => {
      const { bias, reach } = effect();
      const farther = Math.max(high, Math.min(high + reach, most));
      return [Math.min(value + bias, farther), low, farther];
    },
    saving: ([value, low, high], least, rounding) => {
      const { bias, reach } = effectOnSaving();
      const farther = Math.min(low, Math.max(low - reach, least));
      const corrected = Math.max(value - bias, farther);
      return [Math.abs(corrected) <= rounding ? 0 : corrected, farther, high];
    },
    against: ([value, low, high]) => {
      const { bias, reach } = effectOnSaving();
      return [Math.max(value - bias, low - reach), low - reach, high];
    },
  };
}

/**
 * Intervals, contenders and probabilities of being the cheapest for some systems. `prior` is null if
 * the class shares of the sample count; `classShares` are the shares in either case. Everything
 * that takes time is computed on first use.
 */
function inferenceOf(candidates, stated, prior, reachableNow, classShares) {
  const { base, costs } = aboveSmallest(stated);
  const systems = candidates.map((system) => {
    const within = system.source < 0 ? null : withinBins(system, JOINT.sources[system.source]);
    const deviations = deviationsOf({ ...system, within }, costs, prior);
    return { ...system, within, deviations, available: availableDecisions(system, reachableNow) };
  });
  const estimates = systems.map((system) => system.cost - base);
  const naive = naiveDecision(costs, classShares);
  const errors = errorsOf(systems, costs, prior);
  const constant = constantRival(systems, estimates, costs, prior, naive, errors);
  const compared = contendersOf(estimates, constant.isSame, errors);
  const { best: cheapest, contenders, isContender, more } = compared;
  const bestPossible = bestDecisions(systems, costs, prior, classShares);
  const selection = selectionOf(systems, estimates, compared, constant, bestPossible, errors);
  const strata = memoized((i) => {
    const { counts, available, running } = systems[i];
    return strataOf(counts, costs, costRange(costs, available), prior, running);
  });
  const costAboveBase = memoized((i) => [
    estimates[i],
    ...profileInterval(strata(i), squaredQuantile(DATA.level), estimates[i], errors.fittingCovariance(i, i)),
  ]);
  const withBase = (interval) => interval.map((value) => value + base);
  const rounding = 1e-12 * Math.abs(naive.cost + base);
  const savingOf = (i) =>
    constant.isSame(i) ? [0, 0, 0] : selection.saving(constant.saving(i), constant.leastSaving(i), rounding);
  const savingOfCheapest = lazy(() => savingOf(cheapest));
  // of rules of one model that are as good, the simplest, which comes first
  const best = lazy(() => {
    const isWithin = (i, saved) => estimates[i] - estimates[cheapest] < ALIKE * saved;
    const ofModel = range(systems.length).filter((i) => systems[i].model === systems[cheapest].model);
    const near = ofModel.filter((i) => isWithin(i, constant.saving(cheapest)[0]));
    const isAlike = (i) => isContender(i) && isWithin(i, savingOfCheapest()[0]);
    return near.length > 1 ? near.find(isAlike) ?? cheapest : cheapest;
  });
  const saving = lazy(() => savingOf(best()));
  const indexOf = (name) => systems.findIndex((system) => system.name === name);
  /** Whether the cheapest saves so much that the correction for selection, which takes long, cannot undo it. */
  const savesClearly = lazy(() => {
    const [, low] = constant.saving(cheapest);
    return low > 0 && low >= 3 * (naive.cost - estimates[cheapest] - low);
  });
  // the correction moves the lower bound of the saving down, and leaves the upper one
  const mayLose = lazy(() => constant.saving(cheapest)[1] <= 0 || (!savesClearly() && savingOfCheapest()[1] <= 0));
  /** Everything that may be the cheapest: contenders, and the best constant decision. */
  const possible = lazy(() => {
    // a contender that clearly costs more than the best constant decision is not the cheapest of all
    const others = contenders().filter((i) => constant.saving(i)[2] > 0);
    return [...others.map((i) => systems[i].name), ...(mayLose() ? [constant.name] : [])];
  });
  /** Whether one name is among them; faster than the whole list. */
  const isPossible = (name) => {
    const i = indexOf(name);
    if (i < 0) return name === constant.name && mayLose();
    return constant.saving(i)[2] > 0 && isContender(i);
  };
  // the choice is made by the costs on these cases; the correction says how much of it is luck
  const saves = () => constant.saving(cheapest)[0] > rounding;
  return {
    best: () => systems[best()].name,
    cost: (name) => withBase(costAboveBase(indexOf(name))),
    contenders: () => contenders().map((i) => systems[i].name),
    chance: (name) => selection.chance(indexOf(name)),
    expected: lazy(() => {
      const most = sum(strata(best()).map(({ highest }) => highest));
      return withBase(selection.expected(costAboveBase(best()), most));
    }),
    saving,
    /** What the best system saves against another that was fixed beforehand, corrected for its choice. */
    against: (name) => {
      const [i, chosen] = [indexOf(name), best()];
      const value = estimates[i] - estimates[chosen];
      const [low, high] = profileInterval(errors.strata(i, chosen), squaredQuantile(DATA.level), value, errors.fittingVariance(i, chosen));
      const isChosen = contenders().filter((other) => other !== i).length > 1;
      return isChosen ? selection.against([value, low, high]) : [value, low, high];
    },
    /** Whether what needs no model clearly costs less than a system. */
    clearlyLoses: (name) => constant.saving(indexOf(name))[2] < 0,
    more: (name) => more(indexOf(name)),
    possible,
    isPossible,
    isConstant: (name) => indexOf(name) >= 0 && constant.isSame(indexOf(name)),
    saves,
    verdict: () => (saves() ? systems[best()].name : constant.name),
    constant: constant.name,
  };
}

const ALIKE = 0.01; // rules of one model whose costs differ by less than this share of the saving are equally good

const BANDED = Boolean(JOINT) && !TERMS; // whether the page can compute intervals

/** Interval of the cost of decisions with these counts, at any stakes. */
function intervalOfCounts(counts, stated, prior, available = decisions.map(() => true)) {
  const { base, costs } = aboveSmallest(stated);
  const strata = strataOf(counts, costs, costRange(costs, available), statedPrior(prior), 0);
  return profileInterval(strata, squaredQuantile(DATA.level), NaN, 0).map((bound) => bound + base);
}

/** Interval of the cost of a single system under these stakes. */
function intervalOfSystem(system, stakes, reachableNow) {
  const inference = inferenceAt([{ ...system, candidate: true }], stakes, reachableNow);
  return inference ? inference.cost(system.name).slice(1) : [NaN, NaN];
}

/** The prior if it is stated; null if it is estimated by the class shares of the sample. */
const statedPrior = (prior) => (DATA.prior_stated || isOtherPrior(prior) ? prior : null);
const isOtherPrior = (prior) => String(prior) !== String(REPORTED.prior);

/** Whether the report estimates the class shares, and the reader has set others: these count as known. */
const isPriorSet = (prior) => !DATA.prior_stated && isOtherPrior(prior);

/**
 * Inference about the candidates among some systems; null if the page lacks what it needs. With
 * `priorIsKnown`, class shares count as known even if they are those of the data.
 */
function inferenceAt(systems, { costs, prior, priorIsKnown = false }, reachableNow) {
  const rivals = systems.filter((system) => system.candidate);
  if (!JOINT || TERMS || !rivals.length || rivals.some((system) => !Number.isFinite(system.cost))) return null;
  return inferenceOf(rivals, costs, priorIsKnown ? prior : statedPrior(prior), reachableNow || reachable(costs), prior);
}

// The source of each system, and its sampling variance at the stakes of the report, which scales the
// variance of fitting.
if (JOINT)
  for (const system of SYSTEMS) {
    const deviations = deviationsOf(system, REPORTED.costs, statedPrior(DATA.prior));
    const reported = { ...system, deviations };
    system.source = sourceOf(system);
    system.position = system.added ? -1 : DATA.slice_systems.indexOf(system.name);
    system.reportedVariance = system.added
      ? 0
      : covarianceOf(reported, reported, covarianceFactors(system.counts, statedPrior(DATA.prior)));
  }
