"""Laws of the measures of counts: every public function of ``stakes.measures``."""

from __future__ import annotations

import math
from functools import partial

from hypothesis import strategies as st

from laws import (
    BINARY,
    RECTANGULAR,
    SQUARE,
    Law,
    divide,
    inf,
    mean,
    nan,
    per_cell,
    per_class,
    root,
    the_problem,
)
from stakes import measures as confusion
from stakes import measures as cost

ROOMS = ("stakes.measures",)

Table = list[list[float]]
CountLaw = partial(Law, subject=SQUARE)
ProblemLaw = partial(Law, subject=RECTANGULAR, arguments=the_problem)


# Costs: EC = sum of prior x rate x cost ----------------------------------------------------------


def total(table: Table) -> float:
    return sum(sum(row) for row in table)


def prior_of(table, problem):
    if problem.prior is not None:
        return [float(share) for share in problem.prior]
    return [divide(sum(row), total(table)) for row in table]


def decision_rates(table):
    return [[divide(cell, sum(row)) for cell in row] for row in table]


def expected_cost_per_class(table, problem):
    rates, costs = decision_rates(table), problem.costs.tolist()
    return [
        sum(rate * price for rate, price in zip(rates[k], costs[k], strict=True))
        for k in range(len(table))
    ]


def cost_shares(table, problem):
    prior, rates, costs = prior_of(table, problem), decision_rates(table), problem.costs.tolist()
    return [
        [prior[k] * rates[k][d] * costs[k][d] if prior[k] > 0 else 0.0 for d in range(len(row))]
        for k, row in enumerate(table)
    ]


def expected_cost(table, problem):
    return sum(sum(row) for row in cost_shares(table, problem))


def naive_cost(table, problem):
    prior, costs = prior_of(table, problem), problem.costs.tolist()
    return min(sum(prior[k] * costs[k][d] for k in range(len(table))) for d in range(len(table[0])))


def perfect_cost(table, problem):
    return sum(
        share * min(row)
        for share, row in zip(prior_of(table, problem), problem.costs.tolist(), strict=True)
    )


def normalized_cost(table, problem):
    """Above the perfect cost, in units of the naive cost above it; ties only rounding can make."""
    perfect = perfect_cost(table, problem)
    above, naive = (
        expected_cost(table, problem) - perfect,
        naive_cost(table, problem) - perfect,
    )
    return divide(0.0 if abs(above) < 1e-12 else above, 0.0 if abs(naive) < 1e-12 else naive)


COST_LAWS = [
    ProblemLaw(cost.prior_of, twin=prior_of, moves=per_class),
    Law(cost.decision_rates, RECTANGULAR, decision_rates, moves=per_cell),
    ProblemLaw(cost.expected_cost, twin=expected_cost),
    ProblemLaw(cost.expected_cost_per_class, twin=expected_cost_per_class, moves=per_class),
    ProblemLaw(cost.cost_shares, twin=cost_shares, moves=per_cell),
    ProblemLaw(cost.naive_cost, twin=naive_cost),
    ProblemLaw(cost.perfect_cost, twin=perfect_cost),
    ProblemLaw(cost.normalized_cost, twin=normalized_cost),
    ProblemLaw(
        cost.relative_economic_value,
        twin=lambda table, problem: 1 - normalized_cost(table, problem),
    ),
    ProblemLaw(cost.utility_yield, twin=lambda table, problem: -expected_cost(table, problem)),
]


# One class against the rest ----------------------------------------------------------------------


class Cells:
    """True and false positives and negatives of one class, counted cell by cell."""

    def __init__(self, table: Table, k: int):
        self.tp = self.fn = self.fp = self.tn = 0.0
        for i, row in enumerate(table):
            for j, weight in enumerate(row):
                if i == k and j == k:
                    self.tp += weight
                elif i == k:
                    self.fn += weight
                elif j == k:
                    self.fp += weight
                else:
                    self.tn += weight


def of_each_class(formula):
    """A formula of the four cells, for every class of a table."""

    def twin(table, *arguments):
        return [formula(Cells(table, k), *arguments) for k in range(len(table))]

    return twin


def recall(c):
    return divide(c.tp, c.tp + c.fn)


def specificity(c):
    return divide(c.tn, c.tn + c.fp)


def precision(c):
    return divide(c.tp, c.tp + c.fp)


def negative_predictive_value(c):
    return divide(c.tn, c.tn + c.fn)


def f_beta(c, beta):
    """Counted: (1 + beta²) TP over itself plus beta² FN plus FP."""
    return divide((1 + beta**2) * c.tp, (1 + beta**2) * c.tp + beta**2 * c.fn + c.fp)


def best_naive_f_beta(c, beta):
    """F of a system that always decides the class: all of the class, and all others falsely."""
    always = Cells([], 0)
    always.tp, always.fp = c.tp + c.fn, c.fp + c.tn
    return f_beta(always, beta)


def f_beta_of_averages(table, beta):
    p, r = (mean(of_each_class(rate)(table)) for rate in (precision, recall))
    return 0.0 if p == r == 0 else divide((1 + beta**2) * p * r, beta**2 * p + r)


BETAS = st.sampled_from([0, 0.5, 1, 1.5, 2])


def some_beta(world):
    return st.tuples(BETAS)


ClassLaw = partial(Law, subject=SQUARE, moves=per_class)

CONFUSION_LAWS = [
    ClassLaw(confusion.recall, twin=of_each_class(recall)),
    ClassLaw(confusion.specificity, twin=of_each_class(specificity)),
    ClassLaw(confusion.precision, twin=of_each_class(precision)),
    ClassLaw(confusion.negative_predictive_value, twin=of_each_class(negative_predictive_value)),
    ClassLaw(confusion.f_beta, twin=of_each_class(f_beta), arguments=some_beta),
    ClassLaw(
        confusion.best_naive_f_beta, twin=of_each_class(best_naive_f_beta), arguments=some_beta
    ),
    ClassLaw(confusion.jaccard, twin=of_each_class(lambda c: divide(c.tp, c.tp + c.fp + c.fn))),
    ClassLaw(
        confusion.fowlkes_mallows,
        twin=of_each_class(lambda c: root(recall(c) * precision(c))),
    ),
    CountLaw(
        confusion.macro_f_beta,
        twin=lambda table, beta: mean(of_each_class(f_beta)(table, beta)),
        arguments=some_beta,
    ),
    CountLaw(confusion.f_beta_of_averages, twin=f_beta_of_averages, arguments=some_beta),
    Law(
        confusion.one_vs_rest,
        SQUARE,
        of_each_class(lambda c: [[c.tn, c.fp], [c.fn, c.tp]]),
        call=lambda counts: confusion.one_vs_rest(counts).values,
        moves=lambda value, order: value[..., list(order[0]), :, :],
    ),
]


# Over all cases ----------------------------------------------------------------------------------


def accuracy(table):
    return divide(sum(table[k][k] for k in range(len(table))), total(table))


def error_rate(table):
    errors = [w for i, row in enumerate(table) for j, w in enumerate(row) if i != j]
    return divide(sum(errors), total(table))


def balanced_error_rate(table):
    rates = decision_rates(table)
    return mean([sum(r for j, r in enumerate(row) if j != i) for i, row in enumerate(rates)])


def balanced_accuracy(table):
    return mean(of_each_class(recall)(table))


def abstention_rate(table, column):
    return divide(sum(row[column] for row in table), total(table))


def coverage(table, column):
    return divide(sum(w for row in table for j, w in enumerate(row) if j != column), total(table))


def some_decision(world):
    return st.tuples(st.sampled_from(world.decisions))


def by_label(measure, twin):
    """The decision that abstains is named by its label; the twin looks its column up."""
    names = "stuvwx"
    return Law(
        measure,
        RECTANGULAR,
        lambda table, label: twin(table, names.index(label)),
        arguments=some_decision,
        call=lambda counts, label: measure(counts, decision=label),
    )


CONFUSION_LAWS += [
    CountLaw(confusion.accuracy, twin=accuracy),
    CountLaw(confusion.error_rate, twin=error_rate),
    CountLaw(confusion.balanced_error_rate, twin=balanced_error_rate),
    CountLaw(confusion.balanced_accuracy, twin=balanced_accuracy),
    by_label(confusion.abstention_rate, abstention_rate),
    by_label(confusion.coverage, coverage),
]


# Against chance ----------------------------------------------------------------------------------


def margins(table):
    rows = [sum(row) for row in table]
    return rows, [sum(row[j] for row in table) for j in range(len(table[0]))]


def mcc(table):
    """Gorodkin: correlation of the indicators of all classes, summed over the pairs of cases."""
    size, n = len(table), total(table)
    rows, columns = margins(table)
    if n == 0 or sum(r > 0 for r in rows) < 2 or sum(c > 0 for c in columns) < 2:
        return nan

    def covariance(joint, first, second):
        return sum(joint(k) / n - first[k] / n * second[k] / n for k in range(size))

    between = covariance(lambda k: table[k][k], rows, columns)
    truth = covariance(lambda k: rows[k], rows, rows)
    decided = covariance(lambda k: columns[k], columns, columns)
    return between / root(truth * decided)


def cohen_kappa(table):
    n, size = total(table), len(table)
    rows, columns = margins(table)
    chance_errors = sum(rows[i] * columns[j] for i in range(size) for j in range(size) if i != j)
    return 1 - divide(error_rate(table) * n * n, chance_errors) if n else nan


def weighted_kappa(table, problem):
    prior, rates = prior_of(table, problem), decision_rates(table)
    regret = [[c - min(row) for c in row] for row in problem.costs.tolist()]
    seen = [k for k in range(len(table)) if prior[k] > 0]
    columns = range(len(table[0]))
    decided = [sum(prior[k] * rates[k][d] for k in seen) for d in columns]
    observed = sum(prior[k] * rates[k][d] * regret[k][d] for k in seen for d in columns)
    independent = sum(prior[k] * decided[d] * regret[k][d] for k in seen for d in columns)
    return 1 - divide(observed, independent)


CHANCE_LAWS = [
    CountLaw(confusion.mcc, twin=mcc),
    CountLaw(confusion.cohen_kappa, twin=cohen_kappa),
    ProblemLaw(confusion.weighted_kappa, twin=weighted_kappa),
]


# Diagnostic tests --------------------------------------------------------------------------------


def likelihood_ratio_positive(c):
    return divide(divide(c.tp, c.tp + c.fn), divide(c.fp, c.fp + c.tn))


def likelihood_ratio_negative(c):
    return divide(divide(c.fn, c.tp + c.fn), divide(c.tn, c.fp + c.tn))


def net_benefit(table, threshold):
    n = total(table)
    false_alarms, hits = divide(table[0][1], n), divide(table[1][1], n)
    if false_alarms == 0:
        return hits
    return hits - (inf if threshold == 1 else threshold / (1 - threshold)) * false_alarms


def standardized_net_benefit(table, threshold):
    positives = divide(sum(table[1]), total(table))
    return nan if positives == 0 else net_benefit(table, threshold) / positives


def multiclass_net_benefit(table, problem):
    """Savings over the first decision, in units of the most that a case of the last class saves."""
    prior, rates, costs = prior_of(table, problem), decision_rates(table), problem.costs.tolist()
    unit = costs[-1][0] - min(costs[-1])
    saved = 0.0
    for k in range(len(table)):
        for d in range(len(table[0])):
            saved += prior[k] * rates[k][d] * (costs[k][0] - costs[k][d]) if prior[k] > 0 else 0.0
    known = not any(math.isnan(share) for share in prior)
    return saved / unit if unit > 0 and known else nan


def some_threshold(world):
    return st.tuples(st.sampled_from([0, 0.1, 0.5, 0.8, 1]))


BinaryLaw = partial(Law, subject=BINARY, arguments=some_threshold, moves=None)

CLINICAL_LAWS = [
    ClassLaw(confusion.informedness, twin=of_each_class(lambda c: recall(c) + specificity(c) - 1)),
    ClassLaw(
        confusion.markedness,
        twin=of_each_class(lambda c: precision(c) + negative_predictive_value(c) - 1),
    ),
    ClassLaw(confusion.likelihood_ratio_positive, twin=of_each_class(likelihood_ratio_positive)),
    ClassLaw(confusion.likelihood_ratio_negative, twin=of_each_class(likelihood_ratio_negative)),
    ClassLaw(
        confusion.diagnostic_odds_ratio,
        twin=of_each_class(lambda c: divide(c.tp * c.tn, c.fp * c.fn)),
    ),
    BinaryLaw(confusion.net_benefit, twin=net_benefit),
    BinaryLaw(confusion.standardized_net_benefit, twin=standardized_net_benefit),
    ProblemLaw(confusion.multiclass_net_benefit, twin=multiclass_net_benefit, moves=None),
]

LAWS = [*COST_LAWS, *CONFUSION_LAWS, *CHANCE_LAWS, *CLINICAL_LAWS]
