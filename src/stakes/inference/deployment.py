"""What is known about deployment: uncertain priors and costs on top of an uncertain sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._check import FloatArray, Numbers
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.inference.comparison import (
    Comparison,
    comparison_of,
    estimate_of,
    intervals_of,
    joint_costs,
    refuse_groups,
    replicate_blocks,
)
from stakes.inference.estimate import Estimate, T, carried, checked_tally, counted, numbers
from stakes.inference.schemes import (
    Scheme,
    checked_replicates,
    depends_on_single_case,
    scheme_of,
)
from stakes.problem import Problem
from stakes.tally import JointCounts

# A function of a generator and a number of draws; it returns them stacked along the first axis.
Sampler = Callable[["np.random.Generator", int], FloatArray]


@record(init=False)
class Dirichlet(Value):
    """A sampler of class shares: a belief about the prior, worth a stated number of cases.

    ``Dirichlet([95, 5])`` weighs as much as a hundred cases of which five are positive.

    Parameters
    ----------
    cases : how many cases of each class the belief is worth, (K,)

    Examples
    --------
    >>> Dirichlet([95, 5])(np.random.default_rng(0), 3).shape
    (3, 2)
    """

    cases: FloatArray

    def __init__(self, cases: npt.ArrayLike) -> None:
        checked = _check.non_negative("cases", cases, ndim=1)
        if not (checked > 0).all():
            raise InputError(
                f"cases must be above zero for every class; the smallest is {checked.min():g}. "
                f"Give a class that may be absent a small number, such as 0.5."
            )
        self._fill({"cases": checked})

    def __call__(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` priors, of shape (size, K)."""
        _check.generator(rng)
        return rng.dirichlet(self.cases, size=_check.draws("size", size, low=0))


def uncertain_problems(
    problem: Problem,
    *,
    draws: int,
    rng: np.random.Generator,
    prior: Sampler | None = None,
    costs: Sampler | None = None,
) -> tuple[Problem, ...]:
    """Problems that could be the true one, with a prior and costs drawn for each.

    What has no sampler stays as the problem states it. A list of problems made in any other way
    serves `bootstrap_problems` as well.

    Parameters
    ----------
    problem : what is at stake: costs, prior, labels
    draws : how many problems to draw
    rng : the generator that draws
    prior : draws priors (draws, K), such as `Dirichlet`
    costs : draws cost tables (draws, K, M)

    Returns
    -------
    the problems

    Examples
    --------
    >>> fraud = Problem([[0, 25], [180, 0]], prior=[0.995, 0.005])
    >>> problems = uncertain_problems(fraud, draws=2, rng=np.random.default_rng(0),
    ...                               prior=Dirichlet([1990, 10]))
    >>> [float(problem.prior[1].round(4)) for problem in problems]
    [0.0059, 0.0072]
    """
    _check.require("problem", problem, Problem)
    count = _check.draws("draws", draws, low=2)
    _check.generator(rng)
    for name, sampler in (("prior", prior), ("costs", costs)):
        if sampler is not None and not callable(sampler):
            raise InputError(
                f"{name} must be a sampler, a function of a generator and a number of draws; got "
                f"{type(sampler).__name__}. Dirichlet(cases) is one of priors; what is known for "
                f"sure belongs in the problem."
            )
    remedy = "Draw with the generator that it is given."
    priors = None if prior is None else _check.returned("prior", prior(rng, count), remedy)
    tables = None if costs is None else _check.returned("costs", costs(rng, count), remedy)
    for name, array, shape in (
        ("prior", priors, (count, problem.n_classes)),
        ("costs", tables, (count, *problem.costs.shape)),
    ):
        if array is not None and array.shape != shape:
            raise InputError(
                f"{name} must draw an array of shape {shape}; it drew one of {array.shape}. "
                f"Draws are stacked along the first axis."
            )
    return tuple(
        Problem(
            problem.costs if tables is None else tables[draw],
            classes=problem.classes,
            decisions=problem.decisions,
            prior=problem.prior if priors is None else priors[draw],
            unit=problem.unit,
        )
        for draw in range(count)
    )


def bootstrap_problems(
    measure: Callable[[T, Problem], Numbers],
    tally: T,
    problems: Sequence[Problem],
    *,
    replicates: int,
    rng: np.random.Generator,
    scheme: Scheme | None = None,
) -> Estimate:
    """Resample the cases and let the problem vary too: the interval is about deployment.

    Replicate r is measured under problem r modulo their number. Without a scheme the cases are
    resampled, within classes when the problems state a prior. The value is the mean over the
    problems, which for expected costs is the cost under the mean problem (dyrland, eq 18). For
    `Clusters`, the effective number of clusters is that of this mean.

    Parameters
    ----------
    measure : function of a tally and a problem, such as `expected_cost`
    tally : sums over cases, such as `Counts` or `ScoreTable`
    problems : equally likely, in no particular order
    replicates : how many replicates to draw
    rng : the generator that draws
    scheme : as in `bootstrap`

    Returns
    -------
    value, replicates and intervals

    Examples
    --------
    >>> from stakes import Counts, expected_cost
    >>> rng = np.random.default_rng(0)
    >>> counts = Counts([[2680, 72], [23, 28]])
    >>> known = Problem.binary(false_alarm=1, miss=20, prior=[0.98, 0.02])
    >>> belief = uncertain_problems(known, draws=500, rng=rng, prior=Dirichlet([98, 2]))
    >>> print(bootstrap_problems(expected_cost, counts, belief, replicates=2000, rng=rng))
    0.208... (95% 0.04... to 0.5..., 2000 bootstrap replicates within classes, 500 problems)
    """
    _check.a_function("measure", measure)
    checked = _checked_problems(problems)
    scheme = scheme_of(tally, checked[0]) if scheme is None else scheme
    count = checked_replicates(scheme, replicates, rng)
    checked_tally(tally)

    def mean(resampled: T) -> FloatArray:
        values = (numbers(measure(resampled, problem)) for problem in checked)
        with np.errstate(over="ignore", invalid="ignore"):  # what is too large is infinite
            return np.asarray(sum(values) / len(checked))

    all_cases = scheme.whole(tally)
    value = mean(all_cases)
    drawn, first = np.empty((count, *value.shape)), 0
    for block in replicate_blocks(tally, scheme, count, rng):
        size = block.leading[0]
        # Problems take turns instead of being drawn at random: each gets exactly its share of the
        # replicates, which removes one source of noise.
        turn = np.arange(first, first + size) % len(checked)
        for which in dict.fromkeys(turn.tolist()):
            rows = np.flatnonzero(turn == which)
            values = measure(block[rows], checked[which])
            drawn[first + rows] = carried(values, rows.size, value.shape)
        first += size
    # A class of one case is always resampled as itself, and its replicates would look certain.
    drawn[:, depends_on_single_case(mean, all_cases, scheme, value)] = np.nan
    estimate = estimate_of(value, drawn, intervals_of(mean, tally, scheme, rng), scheme)
    method = f"{estimate.method}, {counted(len(checked), 'problem')}"
    return estimate._but(method=method)


def compare_problems(
    joint: JointCounts,
    problems: Sequence[Problem],
    *,
    replicates: int,
    rng: np.random.Generator,
    scheme: Scheme | None = None,
) -> Comparison:
    """Expected costs of all models when the problem is uncertain too, by joint replicates.

    `compare_costs` with the replicates of `bootstrap_problems`: each replicate measures all models
    on the same cases and under the same problem, so that differences are paired and the probability
    of being the cheapest allows for both sources of uncertainty. Without a scheme the cases are
    resampled, within classes when the problems state a prior.

    Parameters
    ----------
    joint : cases by true class and the decisions of all models
    problems : problems that could be the true one
    replicates : how many replicates to draw
    rng : the generator that draws
    scheme : what was drawn at random; None takes it from the tally

    Returns
    -------
    costs of all models and their differences, with joint replicates

    Examples
    --------
    >>> y, old, new = [0, 0, 1, 1] * 25, [0, 1, 1, 0] * 25, [0, 0, 0, 0] * 25
    >>> known = Problem.binary(false_alarm=1, miss=5, prior=[0.9, 0.1])
    >>> joint = JointCounts.from_decisions(y, {"old": old, "new": new}, known)
    >>> rng = np.random.default_rng(0)
    >>> belief = uncertain_problems(known, draws=500, rng=rng, prior=Dirichlet([9, 1]))
    >>> comparison = compare_problems(joint, belief, replicates=2000, rng=rng)
    >>> comparison.lowest, comparison.probability_lowest().round(1).tolist()
    ('new', [0.2, 0.8])
    """
    checked = _checked_problems(problems)
    refuse_groups(joint, scheme)
    estimate = bootstrap_problems(
        joint_costs, joint, checked, replicates=replicates, rng=rng, scheme=scheme
    )
    return comparison_of(estimate, joint.models)


def _checked_problems(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """The problems, after a check that there is at least one and nothing else."""
    listed = tuple(problems) if isinstance(problems, Sequence) else ()
    wrong = [type(problem).__name__ for problem in listed if not isinstance(problem, Problem)]
    if not listed or wrong:
        evidence = f"one of them is {wrong[0]}" if wrong else "there is none"
        raise InputError(
            f"problems must be a list of at least one Problem; {evidence}. Make such a list with "
            f"uncertain_problems."
        )
    return listed
