"""McNemar's test: which of two models is wrong more often on the same cases."""

from __future__ import annotations

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray, Label
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.inference.tally_checks import whole_cells
from stakes.problem import Problem
from stakes.tally import JointCounts


@record
class McNemar(Value):
    """The cases on which exactly one of two models is wrong, and what they say.

    The paired comparison of costs in the special case of 0-1 costs: the difference of the error
    rates is (first_wrong − second_wrong) / n. Without such cases all p-values are 1.

    Attributes
    ----------
    first_wrong, second_wrong : (…) cases in which only the first, only the second model is wrong
    n_cases : (…)

    Examples
    --------
    The first model is wrong in all five cases on which the two disagree: five heads of a fair coin.

    >>> test = McNemar(np.array(5.0), np.array(0.0), np.array(100.0))
    >>> float(test.difference), float(test.exact_p), float(test.mid_p)
    (0.05, 0.0625, 0.03125)
    """

    first_wrong: FloatArray
    second_wrong: FloatArray
    n_cases: FloatArray

    @property
    def difference(self) -> FloatArray:
        """Error rate of the first model minus that of the second."""
        return np.asarray((self.first_wrong - self.second_wrong) / self.n_cases)

    @property
    def statistic(self) -> FloatArray:
        """McNemar's χ² with one degree of freedom, without correction; nan without such cases."""
        discordant = self.first_wrong + self.second_wrong
        square = (self.first_wrong - self.second_wrong) ** 2
        nowhere = np.full(discordant.shape, np.nan)
        return np.asarray(np.divide(square, discordant, out=nowhere, where=discordant > 0))

    @property
    def chi2_p(self) -> FloatArray:
        """Two-sided p-value of the χ² statistic; for 25 such cases and more."""
        from scipy.special import chdtrc

        return np.where(np.isnan(self.statistic), 1.0, chdtrc(1, np.nan_to_num(self.statistic)))

    @property
    def exact_p(self) -> FloatArray:
        """Two-sided p-value of the binomial test: never too small, often too large."""
        from scipy.special import betainc

        fewer, more = self._sorted()
        tied = fewer == more
        # P(X <= fewer) of a binomial with probability one half, by the incomplete beta function
        tail = betainc(np.where(tied, 1.0, more), fewer + 1, 0.5)
        return np.where(tied, 1.0, 2 * tail)

    @property
    def mid_p(self) -> FloatArray:
        """The binomial p-value with half the probability of what was observed; the one to use.

        Fagerland et al. 2013 recommend it: its size is close to nominal with few cases too.
        """
        from scipy.special import gammaln

        fewer, more = self._sorted()
        total = fewer + more
        chance = gammaln(total + 1) - gammaln(fewer + 1) - gammaln(more + 1) - total * np.log(2)
        seen = np.where(total > 0, np.exp(chance), 0.0)
        return np.asarray(self.exact_p - np.where(fewer == more, seen / 2, seen))

    def _sorted(self) -> tuple[FloatArray, FloatArray]:
        pair = (self.first_wrong, self.second_wrong)
        return np.minimum(*pair), np.maximum(*pair)


def mcnemar(
    joint: JointCounts, first: Label, second: Label, *, problem: Problem | None = None
) -> McNemar:
    """Count the cases on which exactly one of two models decides for the true class.

    A decision answers the class of the same label; without equal labels, the class at the same
    position if there are as many decisions as classes. A problem may say otherwise.

    Parameters
    ----------
    joint : cases by true class and the decisions of all models
    first : label of the first model
    second : label of the second model
    problem : says which decision answers which class; None where the labels do

    Returns
    -------
    the discordant cases, with p-values

    Examples
    --------
    >>> from stakes import Problem
    >>> y = [0] * 30
    >>> a, b = [1] * 10 + [0] * 20, [0] * 10 + [1] * 3 + [0] * 17
    >>> joint = JointCounts.from_decisions(y, {"a": a, "b": b}, Problem.zero_one(2))
    >>> test = mcnemar(joint, "a", "b")
    >>> float(test.first_wrong), float(test.second_wrong)
    (10.0, 3.0)
    >>> float(test.exact_p.round(4)), float(test.mid_p.round(4))
    (0.0923, 0.0574)
    """
    _check.require("joint", joint, JointCounts)
    whole_cells(joint)
    answered = _answered(joint, problem)
    wrong = [
        answered[joint.cells[:, 1 + _check.one_of(name, model, joint.models, "models")]]
        != joint.cells[:, 0]
        for name, model in (("first", first), ("second", second))
    ]
    return McNemar._trusted(
        first_wrong=np.asarray(joint.weights @ (wrong[0] & ~wrong[1]).astype(np.float64)),
        second_wrong=np.asarray(joint.weights @ (wrong[1] & ~wrong[0]).astype(np.float64)),
        n_cases=joint.n_cases,
    )


def _answered(joint: JointCounts, problem: Problem | None) -> IntArray:
    """Position of the class that each decision answers, (M,)."""
    if problem is not None:
        _check.require("problem", problem, Problem)
    answers = _check.answers(joint.classes, joint.decisions)
    if problem is not None:
        _check.same_names("joint and problem", joint, problem)
        answers = problem.answers
    if None in answers:
        raise InputError(
            f"joint must hold decisions that answer the classes {joint.classes}; not all of "
            f"{joint.decisions} do. Pass the problem, which says so: Problem(…, answers={{…}}); "
            f"compare_costs weighs any decisions by their costs."
        )
    return np.array([joint.classes.index(label) for label in answers if label is not None])
