"""What is uncertain about a problem: distributions of costs, experts' matrices, a prior."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from stakes import _check
from stakes._check import FloatArray
from stakes._value import record
from stakes.errors import InputError
from stakes.inference import Dirichlet
from stakes.problem import Belief, Problem

DRAWS = 4096  # number of problems drawn, any of which could be the true one
_POINTS = 1024  # number of quantiles for one cost alone
_REMEDY = "Write a list of cost matrices, a distribution of the prior such as Dirichlet([95, 5]), \
or {'costs': […], 'prior': …} for both."


class Worlds(NamedTuple):
    """D problems, any of which could be the true one: costs above those of the problem, priors."""

    costs: FloatArray  # (D, K, M), added to the costs of the problem
    prior: FloatArray  # (D, K)

    def some(self, most: int) -> Worlds:
        """At most this many of the worlds, evenly spaced in their order."""
        step = max(1, -(-len(self.prior) // most))
        return Worlds(self.costs[step // 2 :: step], self.prior[step // 2 :: step])


class Part(NamedTuple):
    """One unknown alone: its worlds, and its range where it is a single number."""

    what: str
    interval: tuple[float, float, float]  # mean and two quantiles; nan where it is several numbers
    worlds: Worlds


class Uncertain(NamedTuple):
    """What a user says is uncertain, besides costs that are distributions in the problem."""

    experts: FloatArray | None  # (E, K, M)
    sampler: Callable[[np.random.Generator, int], FloatArray] | None  # of the prior


@record
class Unknown:
    """All that is uncertain about a problem."""

    problem: Problem
    prior: FloatArray  # that applies where none is drawn
    experts: FloatArray | None  # (E, K, M)
    sampler: Callable[[np.random.Generator, int], FloatArray] | None
    level: float  # of the ranges that are shown

    @property
    def what(self) -> str:
        """What is not known, in words."""
        if self.sampler is None:
            return "the costs"
        known = self.experts is None and not self.problem.beliefs
        return "the prior" if known else "the costs and the prior"

    @property
    def mean(self) -> Worlds:
        """The single world in which everything is as the problem states."""
        return Worlds(np.zeros((1, *self._shape)), self.prior[None])

    def worlds(self, rng: np.random.Generator, draws: int = DRAWS) -> Worlds:
        """Problems that could be the true one; costs are drawn by Latin hypercube sampling."""
        costs = np.zeros((draws, *self._shape))
        for k, d, belief in self.problem.beliefs:
            costs[:, k, d] = rng.permutation(_quantiles(belief, draws)) - belief.mean
        if self.experts is not None:
            turn = rng.permutation(np.arange(draws) % len(self.experts))
            costs += (self.experts - self.experts.mean(axis=0))[turn]
        return Worlds(costs, rng.permutation(self._priors(rng, draws)))

    def parts(self, rng: np.random.Generator) -> list[Part]:
        """Each unknown alone, with everything else as the problem states."""
        parts = [self._cell(*belief) for belief in self.problem.beliefs]
        nan = float("nan")
        if self.experts is not None:
            above = self.experts - self.experts.mean(axis=0)
            same = np.broadcast_to(self.prior, (len(above), len(self.prior)))
            parts.append(Part("which expert is right", (nan, nan, nan), Worlds(above, same)))
        if self.sampler is not None:
            priors = self._priors(rng, DRAWS)  # sorted, so that `Worlds.some` spreads evenly
            unmoved = np.zeros((DRAWS, *self._shape))
            parts.append(Part("the prior", self._shares(priors), Worlds(unmoved, priors)))
        return parts

    def _cell(self, k: int, d: int, belief: Belief) -> Part:
        costs = np.zeros((_POINTS, *self._shape))
        costs[:, k, d] = _quantiles(belief, _POINTS) - belief.mean
        low, high = belief.quantiles(self._ends).tolist()
        what = f"cost of {self.problem.decisions[d]} for {self.problem.classes[k]}"
        same = np.broadcast_to(self.prior, (_POINTS, len(self.prior)))
        return Part(what, (belief.mean, low, high), Worlds(costs, same))

    def _shares(self, priors: FloatArray) -> tuple[float, float, float]:
        """Mean and quantiles of the share of the second of two classes."""
        if priors.shape[1] != 2:
            return (float("nan"),) * 3
        low, high = np.quantile(priors[:, 1], self._ends).tolist()
        return float(self.prior[1]), low, high

    def _priors(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """Priors (D, K), sorted by the share of the last class: evenly spaced quantiles of it."""
        if self.sampler is None:
            return np.broadcast_to(self.prior, (draws, len(self.prior)))
        drawn = _drawn(self.sampler, rng, DRAWS)
        shape = (DRAWS, len(self.prior))
        if drawn.shape != shape or not (drawn >= 0).all() or abs(drawn.sum(1) - 1).max() > 1e-6:
            raise InputError(
                f"uncertain must draw priors of shape {shape} that sum to one; it drew an array of "
                f"shape {drawn.shape}. Dirichlet(cases) is such a distribution."
            )
        self._refuse_other_mean(drawn)
        places = np.arange(draws) * (DRAWS / draws) + DRAWS / draws / 2
        return drawn[np.argsort(drawn[:, -1], kind="stable")][places.astype(np.intp)]

    def _refuse_other_mean(self, drawn: FloatArray) -> None:
        """Refuse draws whose mean is more than six standard errors from the stated prior."""
        mean = drawn.mean(axis=0)
        error = drawn.std(axis=0) / np.sqrt(len(drawn))
        if (np.abs(mean - self.prior) > 6 * error + 1e-6).any():
            raise InputError(
                f"problem must state the mean of the distribution of its prior; that is about "
                f"{mean.round(3).tolist()}, the prior {self.prior.tolist()}. Write "
                f"problem.with_prior(…) with the mean."
            )

    @property
    def _ends(self) -> FloatArray:
        return np.array([(1 - self.level) / 2, (1 + self.level) / 2])

    @property
    def _shape(self) -> tuple[int, int]:
        return self.problem.n_classes, self.problem.n_decisions


def read_uncertain(uncertain: object, problem: Problem) -> Uncertain | None:
    """Check what is said to be uncertain; None where everything is known.

    >>> from stakes import Problem
    >>> from stakes.inference import Dirichlet
    >>> problem = Problem.binary(false_alarm=1, miss=9, prior=[0.95, 0.05])
    >>> read_uncertain(Dirichlet([95, 5]), problem).sampler
    Dirichlet(cases=array([95.,  5.]))
    """
    stated = dict(uncertain) if isinstance(uncertain, Mapping) else _named(uncertain)
    strange = [name for name in stated if name not in ("costs", "prior")]
    if strange:
        raise InputError(
            f"uncertain must hold costs, a prior or both; it holds {strange[0]!r}. {_REMEDY}"
        )
    if not stated and not problem.beliefs:
        return None
    experts = _experts(stated["costs"], problem) if "costs" in stated else None
    sampler = _sampler(stated["prior"], problem) if "prior" in stated else None
    return Uncertain(experts, sampler)


def _named(uncertain: Any) -> dict[str, Any]:
    if uncertain is None:
        return {}
    if callable(uncertain):
        return {"prior": uncertain}
    listed = isinstance(uncertain, Sequence) or (
        isinstance(uncertain, np.ndarray) and uncertain.ndim
    )
    if listed and not isinstance(uncertain, str):
        return {"costs": uncertain}
    raise InputError(
        f"uncertain must be a list of cost matrices or a distribution of the prior; got "
        f"{type(uncertain).__name__}. {_REMEDY}"
    )


def _drawn(sampler: Any, rng: np.random.Generator, draws: int) -> FloatArray:
    """Draws from a distribution of the prior; an empty array where these are not numbers."""
    try:
        signature(sampler).bind(rng, draws)
    except TypeError as error:
        raise InputError(
            f"uncertain must be called as sampler(rng, size) for priors; it cannot: {error}. "
            f"Dirichlet(cases) is such a distribution."
        ) from None
    except ValueError:  # built-in functions may have no signature to check
        pass
    try:
        return np.asarray(sampler(rng, draws), dtype=np.float64)
    except ValueError:
        return np.empty(0)


def _experts(matrices: Any, problem: Problem) -> FloatArray:
    """Experts' costs (E, K, M), whose mean must be that of the problem."""
    if problem.beliefs or problem.columns:
        reason = "distributions in its cells" if problem.beliefs else "expressions of columns"
        raise InputError(
            f"uncertain must leave out costs where those of the problem have {reason}; both say "
            f"what the costs may be. Leave one of them out."
        )
    listed = matrices if isinstance(matrices, Sequence | np.ndarray) else ()
    tables = [matrix.costs if isinstance(matrix, Problem) else matrix for matrix in listed]
    costs = (
        np.stack([_check.floats("uncertain", matrix, ndim=2) for matrix in tables])
        if tables
        else np.empty((0, 0, 0))
    )
    if costs.shape[1:] != problem.costs.shape or len(costs) < 2:
        raise InputError(
            f"uncertain must hold two matrices at least, each of {problem.costs.shape} costs; the "
            f"shape of all is {costs.shape}. Rows are classes, columns are decisions."
        )
    mean = costs.mean(axis=0)
    size = float(np.abs(costs).max())
    if np.abs(mean - problem.costs).max() > 1e-6 * size:
        k, d = np.unravel_index(np.abs(mean - problem.costs).argmax(), mean.shape)
        raise InputError(
            f"problem must have the mean of the experts' costs, by which decisions are made; the "
            f"mean cost of {problem.decisions[d]} for {problem.classes[k]} is {mean[k, d]:g}, the "
            f"problem says {problem.costs[k, d]:g}. Write Problem(np.mean(matrices, axis=0), …)."
        )
    return costs


def _sampler(sampler: Any, problem: Problem) -> Any:
    if not callable(sampler):
        raise InputError(
            f"uncertain must have a distribution of the prior, a function of a generator and a "
            f"number of draws; got {type(sampler).__name__}. Dirichlet([95, 5]) is one."
        )
    if problem.prior is None:
        raise InputError(
            "problem must state the prior whose distribution is given; it states none. Write "
            "problem.with_prior(…), the mean of the distribution."
        )
    if isinstance(sampler, Dirichlet):
        mean = sampler.cases / sampler.cases.sum()
        if mean.shape != problem.prior.shape or np.abs(mean - problem.prior).max() > 1e-6:
            raise InputError(
                f"problem must state the mean of the distribution of its prior; that is "
                f"{mean.tolist()}, the prior {problem.prior.tolist()}. Write "
                f"problem.with_prior({mean.tolist()})."
            )
    return sampler


def _quantiles(belief: Belief, size: int) -> FloatArray:
    """Equally likely amounts (size,), in order, whose mean is that of the distribution.

    They are the medians of equally likely intervals. Their mean misses some of the longer tail,
    and the outermost point is moved to correct that.
    """
    points = belief.quantiles((np.arange(size) + 0.5) / size)
    missing = belief.mean - float(points.mean())
    points[-1 if missing > 0 else 0] += size * missing
    return points
