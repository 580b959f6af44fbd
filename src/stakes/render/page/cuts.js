// Cuts: the scores that can be explored, the thresholds that divide them, and what these cost.

/**
 * What can be explored: the scores of a model and, of posteriors, the recalibrated ones. Where every
 * case has its own costs, scores of two decisions come with the sums of the costs between them.
 */
const explorableOf = (model) =>
  TERMS
    ? model.stakes
      ? [{ name: model.name, table: tableOfSums(model.stakes), raw: model.kind !== "posteriors", model }]
      : []
    : [
        ...(model.recalibrated ? [{ name: `${model.name}, recalibrated`, table: model.recalibrated, raw: false, model }] : []),
        ...(model.table ? [{ name: model.name, table: model.table, raw: model.kind !== "posteriors", model }] : []),
      ];
const tableOfSums = ({ thresholds, sums }) =>
  scoreTable(thresholds.slice(1), [0, 1].map((k) => sums.map((termSums) => termSums[k][0])));
const EXPLORABLE = (TWO ? MODELS.filter((model) => model.hull) : []).flatMap(explorableOf);
const BUTTONS = ["explorer-bayes", "explorer-best"]; // that bring the cuts of a reference
let pickedTable = null; // index of the table that the reader picked; null for that of the cheapest system
let movedCuts = null; // cuts that the reader set; null for those of the rule

/** The scores that are explored: those that the reader picked, or by which the cheapest system decides. */
const explored = () =>
  EXPLORABLE[pickedTable] ??
  EXPLORABLE.find(
    (option) =>
      option.model === MODELS[result.best.model] &&
      (option.table === option.model.recalibrated) === (result.best.way === "recalibrated"),
  ) ??
  EXPLORABLE[0];

/** The decisions in the order in which they become optimal as the probability rises. */
function orderOfDecisions(costs) {
  const ordered = decisionRanges(costs).map((part) => part.decision);
  return ordered.length === 1 && BINARY ? [0, 1] : ordered;
}

/** Counts when the decisions change in this order, each above its threshold. */
function countsOfCuts({ table, scores }, order, cuts) {
  const edges = [0, ...cuts.map((cut) => cutAbove(scores, cut)), scores.length];
  return table.below.map((below) => {
    const row = decisions.map(() => 0);
    order.forEach((d, i) => (row[d] += below[edges[i + 1]] - below[edges[i]]));
    return row;
  });
}

/** For each decision, what all cases below each cut would cost if they received it. */
function costsBelowCuts({ table, scores }, order, { costs, prior }) {
  const perCase = prior.map((share, k) => (share > 0 ? share / table.totals[k] : 0));
  return order.map((d) => {
    const sums = [0];
    for (const j of range(scores.length)) {
      sums.push(sums[j] + sum(perCase.map((factor, k) => factor * table.weights[k][j] * costs[k][d])));
    }
    return sums;
  });
}

/** The cheapest cuts on these cases for decisions in this order, by dynamic programming. */
function bestCuts(view, order, stakes) {
  const { scores, costsOfCuts } = view;
  const thresholdBelow = (j) => (j > 0 ? scores[j - 1] : -Infinity);
  if (TERMS) return [thresholdBelow(lowestOf(costsOfCuts)[0])];
  const spent = costsBelowCuts(view, order, stakes);
  let least = spent[0]; // cost of the cases below each cut, with the decisions so far
  const choices = order.slice(1).map((_, i) => {
    const spentAfter = spent[i + 1];
    const choice = [];
    let low = Infinity;
    let bestStart = 0;
    least = spentAfter.map((paid, j) => {
      if (least[j] - paid <= low) [low, bestStart] = [least[j] - paid, j];
      choice.push(bestStart);
      return paid + low;
    });
    return choice;
  });
  const cuts = [];
  let end = scores.length;
  for (const choice of choices.reverse()) {
    end = choice[end];
    cuts.unshift(thresholdBelow(end));
  }
  return cuts;
}

/** Costs with the prices of the limits, by which the rule of a model decides; without limits the costs. */
function pricedCosts({ model, table }) {
  const system = SYSTEMS.find(
    (other) => MODELS[other.model] === model && other.prices && (other.way === "recalibrated") === (table === model.recalibrated),
  );
  const added = (k, d) =>
    DATA.limits.map(({ decision, within, sign }, l) => {
      if (!system || decision !== d || (within !== null && within !== k)) return 0;
      return (sign * system.prices[l]) / (within === null ? 1 : result.prior[k]);
    });
  return result.costs.map((row, k) => row.map((cost, d) => cost + sum(added(k, d))));
}

/** The cuts at which Bayes decisions change, and the decisions between them. */
function bayesCuts(costs) {
  const ranges = decisionRanges(costs);
  return { order: ranges.map((part) => part.decision), cuts: ranges.slice(0, -1).map((part, i) => cutBetween(part, ranges[i + 1])) };
}

/** Cuts to compare with: those of the rule, if it cuts scores, and the best on these cases or without limits. */
function referenceCuts(view, order, priced) {
  const rule = view.raw || TERMS ? null : bayesCuts(priced);
  const [mark, label, name] = LIMITED ? ["rule", "Cuts of the rule", "the cuts of the rule"] : ["Bayes", "Bayes cuts", "the Bayes cuts"];
  const first = rule && rule.cuts.length === order.length - 1 ? [{ ...rule, button: BUTTONS[0], mark, label, name }] : [];
  if (LIMITED && !view.raw)
    return [...first, { ...bayesCuts(result.costs), button: BUTTONS[1], mark: "no limit", label: "Cuts without limits", name: "the Bayes cuts without limits" }];
  const ignoring = LIMITED ? " and without the limits" : "";
  const best = { order, cuts: bestCuts(view, order, result), button: BUTTONS[1], mark: "best", label: "Best cuts" };
  return [...first, { ...best, name: `the best cuts on these cases, chosen with hindsight${ignoring}` }];
}

/** How the explored scores come from what the model gives: its way, its cuts, and the way back. */
function wayBack({ table, model, raw }) {
  const corrected = table === model.recalibrated ? "recalibrated" : "moved";
  const way = raw || TERMS || (corrected === "moved" && !isMoved(result.prior)) ? "as is" : corrected;
  const change = result.systems.find((system) => MODELS[system.model] === model && system.way === way)?.change;
  return { way, change, toOwn: ownScoreOf({ way, change: change ?? {} }, result.prior) };
}

/** Everything that the explorer shows: the axis, the cuts of each kind, and their costs. */
function exploration() {
  const option = explored();
  const posteriors = option.raw || TERMS ? option.table.scores : posteriorsOf(option.table, result.prior);
  // posteriors of exactly 0 or 1 cannot be moved to every prior
  const scores = posteriors.some(Number.isNaN) ? option.table.scores : posteriors;
  const costsOfCuts = TERMS && thresholdCosts(option.model.stakes.sums, state.costs, result.prior);
  const view = { ...option, ...wayBack(option), scores, costsOfCuts };
  const priced = pricedCosts(option);
  const order = TERMS ? [0, 1] : orderOfDecisions(priced);
  const references = referenceCuts(view, order, priced);
  const cuts = movedCuts && movedCuts.length === order.length - 1 ? movedCuts : references[0].cuts;
  const counts = countsOfCuts(view, order, cuts);
  return { ...view, order, references, cuts, counts, axis: scoreAxis(view, references.flatMap((reference) => reference.cuts)) };
}

/** Cost per case where the decisions change in this order, each above its cut. */
function costOfCuts(view, order, cuts) {
  const cost = TERMS
    ? view.costsOfCuts[cutAbove(view.scores, cuts[0])]
    : expectedCost(countsOfCuts(view, order, cuts), result.costs, result.prior);
  return cost + view.model.running;
}
