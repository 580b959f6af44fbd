"""Problem: what is at stake."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray, Label, Labels
from stakes._text import html_table, one_line, text_table
from stakes._value import record
from stakes.errors import InputError
from stakes.problem import _file
from stakes.problem._charged import Charged
from stakes.problem._cost_table import (
    Beliefs,
    Expressions,
    answered,
    axis_names,
    cell_text,
    class_names,
    from_mapping,
    named_table,
    negated,
    read_table,
    split_beliefs,
    table_shape,
    unit_name,
)
from stakes.problem._limit import (
    TIE,
    Limit,
    Naive,
    bayes_threshold,
    excess,
    log_odds_threshold,
    naive_of,
    noise,
    proportional,
    read_limits,
    same_limits,
    same_prior,
)


@record(repr=False, init=False)
class Problem(Charged):
    """What is at stake: a cost for every true class and every decision that can be taken.

    Parameters
    ----------
    costs : array_like of shape (K, M), or mapping class → decision → cost
        Rows are true classes, columns are decisions. A mapping settles orientation and labels by
        name, whatever the order in which its rows list the decisions. Negative costs are gains.
        Costs lie within 1e100 of zero. Text is an expression of columns that every case has:
        numbers, names, ``column["odd name"]``, + − * /, comparisons, and, or, not, min, max, abs
        and where(condition, then, otherwise). An uncertain cost is a distribution, such as
        `Between(80, 300)` or a frozen one of SciPy.
    classes, decisions : sequence of str, int or bool, optional
        By default 0, 1, …; decisions are the classes when there are as many of them. Those of a
        mapping stand in the order of its first row, or, where each class is suited by another
        decision, in the order of the classes that they suit.
    prior : K probabilities, or mapping from class to probability, optional
        Shares of the classes once deployed. None: the shares of the data at hand.
    unit : str, optional
        What a cost is counted in.
    answers : mapping from decision to class, optional
        The class that each decision stands for, if any, as "treat" does for "ill"; recall and other
        metrics of predicted classes need it. By default decisions are matched with classes by
        label, else by position if there are as many of both.
    limits : list of `Limit`, optional
        Bounds on shares of decisions, or on rates within a class, in deployment. `price_limits`
        finds the rule that keeps them at the least cost, and `evaluate` does so for every model.

    Examples
    --------
    >>> Problem(
    ...     costs=[[0, 3, 25], [180, 8, 0]],
    ...     classes=["legit", "fraud"], decisions=["approve", "review", "block"],
    ...     prior=[0.995, 0.005], unit="EUR",
    ... )
    Problem: cost in EUR of each decision, class by class
           approve  review  block  prior
    legit        0       3     25  0.995
    fraud      180       8      0  0.005

    Costs that differ from case to case are expressions of columns:

    >>> payments = Problem({"legit": {"approve": 0, "review": 3, "block": "5 + 0.02*amount"},
    ...                     "fraud": {"approve": "amount", "review": 8, "block": 0}}, unit="EUR")
    >>> payments.columns
    ('amount',)
    >>> payments.at(amount=120)
    Problem: cost in EUR of each decision, class by class
           approve  review  block
    legit        0       3    7.4
    fraud      120       8      0
    """

    _constants: FloatArray  # (K, M); nan where a cost is an expression of columns
    _expressions: Expressions  # () where all costs are numbers
    _beliefs: Beliefs  # uncertain costs; the constants are their means
    classes: Labels
    decisions: Labels
    prior: FloatArray | None
    unit: str | None
    answers: tuple[Label | None, ...]
    limits: tuple[Limit, ...]

    def __init__(
        self,
        costs: object,
        *,
        classes: object = None,
        decisions: object = None,
        prior: object = None,
        unit: str | None = None,
        answers: object = None,
        limits: object = None,
    ) -> None:
        costs = named_table(costs)
        if isinstance(costs, Mapping):
            classes, decisions, costs = from_mapping(costs, classes, decisions)
        costs, beliefs = split_beliefs(costs)
        n_classes, n_decisions = table_shape(costs)
        names = axis_names("classes", classes, n_classes, tuple(range(n_classes)))
        same = names if n_classes == n_decisions else tuple(range(n_decisions))
        decided = axis_names("decisions", decisions, n_decisions, same)
        constants, expressions = read_table(costs, names, decided)
        self._fill(
            {
                "_constants": constants,
                "_expressions": expressions,
                "_beliefs": beliefs,
                "classes": names,
                "decisions": decided,
                "prior": None if prior is None else _check.prior("prior", prior, names),
                "unit": unit_name(unit),
                "answers": answered(answers, names, decided),
                "limits": read_limits(limits, names, decided),
            }
        )

    # Named problems ------------------------------------------------------------------------------

    @classmethod
    def zero_one(cls, classes: object, **common: Any) -> Self:
        """The problem in which every mistake costs one: its expected cost is the error rate.

        Reference: ferrer-ec, eq 5.

        Parameters
        ----------
        classes : their labels, or how many there are
        **common : further arguments of `Problem`: classes, decisions, prior, unit

        Returns
        -------
        the problem, with a decision for each class

        Examples
        --------
        >>> Problem.zero_one(3).costs
        array([[0., 1., 1.],
               [1., 0., 1.],
               [1., 1., 0.]])
        """
        names = class_names(classes)
        costs = np.ones((len(names), len(names)))
        np.fill_diagonal(costs, 0.0)
        return cls(costs, classes=names, **common)

    @classmethod
    def binary(
        cls,
        *,
        false_alarm: float,
        miss: float,
        hit: float = 0.0,
        correct_rejection: float = 0.0,
        **common: Any,
    ) -> Self:
        """Two classes and two decisions; the second of each is the positive one.

        Parameters
        ----------
        false_alarm : cost of acting on a negative case
        miss : cost of not acting on a positive case
        hit : cost of acting on a positive case
        correct_rejection : cost of not acting on a negative case
        **common : further arguments of `Problem`: classes, decisions, prior, unit

        Returns
        -------
        the problem of two classes and two decisions

        Examples
        --------
        >>> Problem.binary(false_alarm=1, miss=9).threshold
        0.1
        """
        amounts = {"correct_rejection": correct_rejection, "false_alarm": false_alarm}
        amounts |= {"miss": miss, "hit": hit}
        costs = [_check.number(*item, low=-1e100, high=1e100) for item in amounts.items()]
        return cls([costs[:2], costs[2:]], **common)

    @classmethod
    def balanced(
        cls,
        prior: object,
        *,
        classes: object = None,
        decisions: object = None,
        unit: str | None = None,
    ) -> Self:
        r"""The problem whose expected cost is the balanced error rate (ferrer-ec, eq 6).

        Mistakes cost :math:`1/(K P_i)`. The problem also states the prior, because its expected
        cost is the balanced error rate only under that prior. A share of zero is refused, because
        the cost would be infinite.

        Parameters
        ----------
        prior : class shares
        classes : labels of the classes
        decisions : labels of the decisions
        unit : what a cost is counted in

        Returns
        -------
        the problem

        Examples
        --------
        >>> Problem.balanced([0.9, 0.1]).costs.round(3).tolist()
        [[0.0, 0.556], [5.0, 0.0]]
        """
        size = len(prior) if isinstance(prior, Mapping) else _check.array("prior", prior).size
        if classes is None and isinstance(prior, Mapping):
            classes = tuple(prior)
        names = axis_names("classes", classes, size, tuple(range(size)))
        shares = _check.prior("prior", prior, names)
        if not (shares > 0).all():
            raise InputError(
                "prior must be positive for every class of a balanced problem, whose costs are "
                f"1/(K prior); it is zero for {names[int(np.argmin(shares))]!r}. Leave it out."
            )
        costs = (1 - np.eye(size)) / (size * shares[:, None])
        return cls(costs, classes=names, decisions=decisions, prior=shares, unit=unit)

    @classmethod
    def from_utilities(cls, utilities: object, **common: Any) -> Self:
        """The problem with these utilities, which are costs times −1 (ferrer-ec, §2).

        Parameters
        ----------
        utilities : gains, (K, M), or a mapping from class to decision to gain
        **common : further arguments of `Problem`: classes, decisions, prior, unit

        Returns
        -------
        the problem

        Examples
        --------
        >>> Problem.from_utilities([[15, -35], [-335, 165]]).costs.tolist()
        [[-15.0, 35.0], [335.0, -165.0]]
        """
        with _check.renamed(costs="utilities"):
            utilities = named_table(utilities)
            if isinstance(utilities, Mapping):
                classes, decisions, utilities = from_mapping(
                    utilities,
                    common.pop("classes", None),
                    common.pop("decisions", None),
                    gains=True,
                )
                common.update(classes=classes, decisions=decisions)
            return cls(negated(utilities), **common)

    @classmethod
    def from_threshold(cls, p: float, **common: Any) -> Self:
        """The binary problem whose Bayes threshold is p: false alarms cost p, misses 1 − p.

        "Above which probability would you act?" is often easier to answer than "what does
        each mistake cost?".

        Parameters
        ----------
        p : probability above which one would act
        **common : further arguments of `Problem`: classes, decisions, prior, unit

        Returns
        -------
        the problem

        Examples
        --------
        >>> Problem.from_threshold(0.1).costs.tolist()
        [[0.0, 0.1], [0.9, 0.0]]
        """
        p = _check.number("p", p, low=0, high=1)
        return cls.binary(false_alarm=p, miss=1 - p, **common)

    @classmethod
    def detection(cls, *, p_target: float, miss: float, false_alarm: float, **common: Any) -> Self:
        """NIST's detection cost: misses of targets against false alarms on non-targets.

        Parameters
        ----------
        p_target : share of targets
        miss : cost of a miss
        false_alarm : cost of a false alarm
        **common : further arguments of `Problem`: classes, decisions, prior, unit

        Returns
        -------
        the problem

        Examples
        --------
        >>> Problem.detection(p_target=0.01, miss=10, false_alarm=1)
        Problem: cost of each decision, class by class
                    reject  accept  prior
        non-target       0       1   0.99
        target          10       0   0.01
        """
        p_target = _check.number("p_target", p_target, low=0, high=1)
        names = {"classes": ("non-target", "target"), "decisions": ("reject", "accept")}
        settings = {**names, "prior": (1 - p_target, p_target)}
        return cls.binary(false_alarm=false_alarm, miss=miss, **{**settings, **common})

    @classmethod
    def from_utility_coordinates(cls, x: float, y: float, **common: Any) -> Self:
        """The binary problem at a point of the utility space (dyrland, eq 13).

        Parameters
        ----------
        x : first coordinate of the utility space
        y : second coordinate
        **common : further arguments of `Problem`: classes, decisions, prior, unit

        Returns
        -------
        the problem

        Examples
        --------
        >>> Problem.from_utility_coordinates(0.3, -0.6).utilities
        array([[0.7, 0.6],
               [0. , 1. ]])
        """
        x, y = _check.number("x", x, low=-1, high=1), _check.number("y", y, low=-1, high=1)
        if abs(y - x) > 1:
            raise InputError(
                f"x and y must satisfy |y − x| ≤ 1, or a mistake would be worth more than the "
                f"right decision; got x = {x:g}, y = {y:g}. Move them closer together."
            )
        return cls.from_utilities(
            [[1 - max(x, 0), max(-y, 0)], [max(y, 0), 1 + min(x, 0)]], **common
        )

    @classmethod
    def expected(
        cls, problems: Iterable[Problem], *, weights: object = None, **common: Any
    ) -> Self:
        """The mean of several problems, for uncertain costs.

        Expected cost is linear in the costs, so the mean problem ranks systems by their expected
        cost over all of them (dyrland, eq 18, 19). The problems share labels and prior.

        Parameters
        ----------
        problems : problems that could be the true one
        weights : how likely each is; None for equally
        **common : further arguments of `Problem`: classes, decisions, prior, unit

        Returns
        -------
        the problem of the mean costs

        Examples
        --------
        >>> Problem.expected([Problem.from_threshold(0.1), Problem.from_threshold(0.3)]).threshold
        0.2
        """
        array = isinstance(problems, np.ndarray)
        listed = list(problems) if _check.is_listed(problems) and not array else []
        if not listed or not all(isinstance(problem, Problem) for problem in listed):
            raise InputError("problems must be at least one Problem; they are not. Write [a, b].")
        first = listed[0]
        for problem in listed[1:]:
            _check.same_names("the problems", first, problem)
            same_prior(first.prior, problem.prior)
            same_limits(first.limits, problem.limits)
        shares = _check.weights("weights", weights, len(listed), of="problems")
        costs = np.average([problem.costs for problem in listed], axis=0, weights=shares)
        units = {problem.unit for problem in listed}
        names = ("classes", "decisions", "prior", "limits")
        settings: dict[str, Any] = {name: getattr(first, name) for name in names}
        settings["unit"] = first.unit if len(units) == 1 else None
        if not {"classes", "decisions"} & set(common):
            settings["answers"] = dict(zip(first.decisions, first.answers, strict=True))
        return cls(costs, **{**settings, **common})

    # Files ---------------------------------------------------------------------------------------

    @classmethod
    def of(cls, parts: Mapping[str, Any]) -> Self:
        """The problem from what `plain` returned, checked like any other.

        Parameters
        ----------
        parts : what `plain` returned

        Returns
        -------
        the problem

        Examples
        --------
        >>> problem = Problem([[0, 1], [9, 0]], prior=[0.9, 0.1])
        >>> Problem.of(problem.plain()) == problem
        True
        """
        try:
            parts = dict(parts)
            pairs = zip(parts["decisions"], parts["answers"], strict=True)
            answers = {decision: label for decision, label in pairs if label is not None}
            names = "costs", "classes", "decisions", "prior", "unit"
            stated = {name: parts[name] for name in names}
            limits = [Limit(**limit) for limit in parts.get("limits", [])]
        except InputError:
            raise
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"parts must be what Problem.plain gives; got {_check.described(parts)}. Pass that."
            ) from None
        return cls(**stated, answers=answers, limits=limits)

    def plain(self) -> dict[str, Any]:
        """The problem as dicts, lists, text, numbers and None.

        Labels are in lists, so that they keep their types; costs are as they were written.

        Returns
        -------
        a dict that JSON can represent

        Examples
        --------
        >>> Problem([[0, 1], [9, 0]], unit="days").plain()["costs"]
        [[0.0, 1.0], [9.0, 0.0]]
        """
        return {
            "costs": [list(row) for row in self.written],
            "classes": list(self.classes),
            "decisions": list(self.decisions),
            "prior": None if self.prior is None else self.prior.tolist(),
            "unit": self.unit,
            "answers": list(self.answers),
            **({"limits": [dict(vars(limit)) for limit in self.limits]} if self.limits else {}),
        }

    @classmethod
    def from_toml(cls, path: str | Path, **common: Any) -> Self:
        """Read a problem file; labels match by text.

        Parameters
        ----------
        path : the file
        **common : arguments of `Problem` that replace those of the file

        Returns
        -------
        the problem

        Examples
        --------
        >>> import tempfile
        >>> problem = Problem({"well": {"wait": 0, "treat": 1}, "ill": {"wait": 9, "treat": 0}})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     problem.to_toml(Path(folder) / "clinic.toml")
        ...     print(Problem.from_toml(Path(folder) / "clinic.toml", unit="days"))
        Problem: cost in days of each decision, class by class
              wait  treat
        well     0      1
        ill      9      0
        """
        stated = _file.read(path)
        try:
            return cls(**{**stated, **common})
        except InputError as error:
            raise error if common else InputError(f"{path}: {error}") from None

    def to_toml(self, path: str | Path) -> None:
        """Write a problem file that `from_toml` reads back as an equal problem.

        Parameters
        ----------
        path : where to write

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Problem({"well": {"wait": 0, "treat": 1}, "ill": {"wait": 9, "treat": 0}}).to_toml(
        ...         Path(folder) / "clinic.toml")
        ...     print((Path(folder) / "clinic.toml").read_text(encoding="utf-8"))
        classes = ["well", "ill"]
        decisions = ["wait", "treat"]
        <BLANKLINE>
        [costs]
        "well" = { "wait" = 0.0, "treat" = 1.0 }
        "ill" = { "wait" = 9.0, "treat" = 0.0 }
        """
        _file.write(path, self.plain())

    # Transformations -----------------------------------------------------------------------------

    def with_prior(self, prior: object) -> Self:
        """The same costs under other class shares; None: the shares of the data at hand.

        Parameters
        ----------
        prior : class shares, or None

        Returns
        -------
        the problem with that prior

        Examples
        --------
        >>> Problem.from_threshold(0.1).with_prior([0.95, 0.05]).prior.tolist()
        [0.95, 0.05]
        """
        checked = None if prior is None else _check.prior("prior", prior, self.classes)
        return self._but(prior=checked)

    def with_limits(self, limits: object) -> Self:
        """The same costs under other limits; None: without any.

        Parameters
        ----------
        limits : limits on decisions, or None

        Returns
        -------
        the problem with those limits

        Examples
        --------
        >>> problem = Problem.zero_one(["no", "yes"])
        >>> problem.with_limits([Limit.share("yes", at_most=0.1)]).limits
        (Limit.share('yes', at_most=0.1),)
        """
        return self._but(limits=read_limits(limits, self.classes, self.decisions))

    def with_abstention(self, cost: object, name: Label = "abstain") -> Self:
        """The problem with one more decision, which has one cost, or a cost for each class.

        Parameters
        ----------
        cost : what abstaining costs, (K,) or one number
        name : label of the new decision

        Returns
        -------
        the problem with one more decision

        Examples
        --------
        >>> Problem.zero_one(["cat", "dog"]).with_abstention(0.2)
        Problem: cost of each decision, class by class
             cat  dog  abstain
        cat    0    1      0.2
        dog    1    0      0.2
        """
        if isinstance(cost, Mapping):
            cost = _check.by_label("cost", cost, self.classes)
        column = _check.floats("cost", cost)
        if column.shape not in ((), (self.n_classes,)):
            raise InputError(
                f"cost must be one number or one for each of the {self.n_classes} classes; "
                f"its shape is {column.shape}. Pass one number for all classes."
            )
        columns = np.broadcast_to(column, (self.n_classes,))[:, None]
        return self._but(
            _constants=np.concatenate([self._constants, columns], axis=1),
            _expressions=tuple((*row, None) for row in self._expressions),
            _beliefs=self._beliefs,
            decisions=_check.labels("name and decisions", (*self.decisions, name)),
            answers=(*self.answers, None),
        )

    def regret(self) -> Self:
        """Costs above those of the best decision for each class; systems keep their ranking.

        Reference: ferrer-ec, §2.

        Returns
        -------
        the problem in which the best decision of each class costs nothing

        Examples
        --------
        >>> Problem([[1, 4], [9, 3]]).regret().costs.tolist()
        [[0.0, 3.0], [6.0, 0.0]]
        """
        return self._but(_constants=self.costs - self.costs.min(axis=1, keepdims=True))

    def rescaled(self) -> Self:
        """Utilities shifted and scaled to [0, 1]; systems keep their ranking.

        Reference: dyrland, eq 12.

        Returns
        -------
        the problem with utilities between 0 and 1

        Examples
        --------
        >>> Problem.from_utilities([[15, -35], [-335, 165]]).rescaled().utilities.tolist()
        [[0.7, 0.6], [0.0, 1.0]]
        """
        span = np.ptp(self.costs)
        if span == 0:
            raise InputError(
                "costs must differ to be rescaled; all are equal. Nothing is at stake here."
            )
        return self._but(_constants=-(self.costs.max() - self.costs) / span, unit=None)

    # Questions -----------------------------------------------------------------------------------

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.classes)

    @property
    def n_decisions(self) -> int:
        """M."""
        return len(self.decisions)

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes and two decisions."""
        return self.n_classes == self.n_decisions == 2

    def prior_or(self, shares: FloatArray) -> FloatArray:
        """The stated prior, or else the class shares of some data.

        Parameters
        ----------
        shares : class shares, (K,)

        Returns
        -------
        class shares, (K,)

        Examples
        --------
        >>> Problem.zero_one(2, prior=[0.9, 0.1]).prior_or(np.array([0.5, 0.5]))
        array([0.9, 0.1])
        """
        return shares if self.prior is None else self.prior

    @property
    def answered(self) -> IntArray | None:
        """Position of the class that each decision stands for, (M,); None unless all do."""
        places = [self.classes.index(label) for label in self.answers if label is not None]
        return np.array(places) if len(places) == self.n_decisions else None

    @property
    def has_gains(self) -> bool:
        """Whether a cost is stated as a gain, that is, below zero; not for costs by columns."""
        return bool((self.costs < 0).any())

    @property
    def utilities(self) -> FloatArray:
        """Costs times −1."""
        return -self.costs + 0.0

    @property
    def naive(self) -> Naive:
        """The best constant decision under the stated prior (ferrer-ec, eq 3).

        Limits are ignored, although a decision that is always taken may break them.

        >>> Problem.binary(false_alarm=1, miss=9, prior=[0.95, 0.05]).naive
        Naive(decision=0, cost=0.45, tied=(0,))
        """
        return naive_of(self._stated_prior("naive"), self.costs, self.decisions)

    @property
    def perfect_cost(self) -> float:
        """Cost per case of the best decision of each class, under the stated prior."""
        return float(self._stated_prior("perfect_cost") @ self.costs.min(axis=1))

    @property
    def threshold(self) -> float:
        r"""The probability of the positive class above which the positive decision is cheaper.

        Where a false alarm costs a, and a miss b, more than the right decision, it is
        :math:`a/(a+b)` (ferrer-ec, eq 18–20). −inf: always decide positive; inf: never; nan: the
        decision does not matter.
        """
        return bayes_threshold(*excess(self.costs))

    @property
    def log_odds_threshold(self) -> float:
        """The threshold on log-odds: log(a/b)."""
        return log_odds_threshold(*excess(self.costs))

    @property
    def utility_coordinates(self) -> tuple[float, float]:
        """The point (x, y) of a binary problem in the space of utility matrices (dyrland, eq 13).

        >>> Problem.from_utilities([[15, -35], [-335, 165]]).utility_coordinates
        (0.3, -0.6)
        """
        if min(excess(self.costs)) < -TIE * float(np.abs(self.costs).max()):
            raise InputError(
                "costs must make the right decision of each class no more expensive than the wrong "
                "one; in one class it is. Such problems lie outside the utility space of dyrland."
            )
        (u00, u01), (u10, u11) = self.rescaled().utilities.tolist()
        return u11 - u00, u10 - u01

    def is_affine_of(self, other: Problem) -> bool:
        """Whether these costs are a positive multiple of the other's plus a constant.

        Prior and unit are ignored. Reference: dyrland, eq 11.

        Parameters
        ----------
        other : another problem

        Returns
        -------
        whether they are

        Examples
        --------
        >>> Problem([[0, 1], [9, 0]]).is_affine_of(Problem([[5, 7], [23, 5]]))
        True
        """
        self._same_decisions(other)
        ours, theirs = self.costs - self.costs.min(), other.costs - other.costs.min()
        return proportional(ours, theirs, noise=(noise(self.costs), noise(other.costs)))

    def is_equivalent(self, other: Problem) -> bool:
        """Whether both problems rank all systems in the same order.

        They do when prior × regret agrees up to a positive factor; without priors, when regret
        does. A problem that states a prior is not equivalent to one that does not, nor are problems
        with different limits.

        Parameters
        ----------
        other : another problem

        Returns
        -------
        whether they do

        Examples
        --------
        >>> Problem([[0, 1], [9, 0]]).is_equivalent(Problem([[5, 7], [18, 0]]))
        True
        """
        self._same_decisions(other)
        if (self.prior is None) != (other.prior is None) or set(self.limits) != set(other.limits):
            return False
        weights = [
            np.ones((self.n_classes, 1)) if problem.prior is None else problem.prior[:, None]
            for problem in (self, other)
        ]
        ours, theirs = self.regret().costs * weights[0], other.regret().costs * weights[1]
        slack = noise(self.costs) * weights[0], noise(other.costs) * weights[1]
        return proportional(ours, theirs, noise=slack)

    def _stated_prior(self, question: str) -> FloatArray:
        if self.prior is None:
            raise InputError(
                f"{question} needs a stated prior; this problem has none. Use with_prior, or "
                f"measures.naive_cost and measures.perfect_cost, which take the data's shares."
            )
        return self.prior

    def _same_decisions(self, other: Problem) -> None:
        _check.require("other", other, Problem)
        _check.same_names("other", self, other)

    def _table(self) -> tuple[list[object], list[list[object]], str]:
        """Header, rows and caption."""
        header: list[object] = ["", *self.decisions]
        pairs = zip(self.classes, self.written, strict=True)
        rows: list[list[object]] = [[label, *map(cell_text, row)] for label, row in pairs]
        if self.prior is not None:
            header.append("prior")
            for row, share in zip(rows, self.prior, strict=True):
                row.append(f"{share:.7g}")
        in_unit = f" in {self.unit}" if self.unit else ""
        return header, rows, f"Problem: cost{in_unit} of each decision, class by class"

    def __repr__(self) -> str:
        table, limits = text_table(*self._table()), "; ".join(map(str, self.limits))
        return f"{table}\n{one_line(f'limits: {limits}')}" if limits else table

    def _repr_html_(self) -> str:
        return html_table(*self._table())
