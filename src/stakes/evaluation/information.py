"""Uncertain costs: over how much of their range the verdict holds, and what certainty is worth.

The cost of a system is linear in the costs and in the prior, so that its tallies give its cost in
every world that could be the true one. The expected value of perfect information (EVPI) is what
today's choice costs above the cheapest system of each world, on average. The expected value of
partial perfect information (EVPPI) is the same for one unknown, with the others at their means.
Means suffice because costs are linear in each unknown, and the unknowns are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isnan, nan

import numpy as np

from stakes import _text
from stakes._arithmetic import least
from stakes._check import BoolArray, FloatArray
from stakes._value import record
from stakes.evaluation.beliefs import Part, Unknown, Worlds
from stakes.evaluation.flips import Rivals
from stakes.inference import Measured, profile_threshold
from stakes.report import UncertainPart, Uncertainty

_REMADE = 256  # most worlds in which rules are remade
_HALVES = 10  # times that cases are halved: on one half rules are chosen, on the other charged
_REPLICATES = 200  # bootstrap replicates of folds
_ROWS = 4_000_000  # about how many decisions this may take in all, which bounds its time


@record
class Remake:
    """What J of today's rules and R rules that are remade for each of D worlds cost there.

    `costs` are what each of F folds of the cases adds to that, (D, J + R, F).
    """

    costs: Callable[[Worlds, Sequence[str]], FloatArray]
    n_rows: int

    @property
    def affordable(self) -> int:
        """In how many worlds rules are remade."""
        return max(16, min(_REMADE, _ROWS // max(self.n_rows, 1)))


def uncertainty_of(
    unknown: Unknown, rivals: Rivals, chosen: str, seed: int, remake: Remake | None
) -> Uncertainty:
    """How today's choice fares in all worlds; with `remake`, rules are also remade for each."""
    names = tuple(map(str, rivals.charged.names))
    choice, rng = names.index(chosen), np.random.default_rng([seed, 2])
    worlds = unknown.worlds(rng)
    costs = costs_in(worlds, rivals)
    shares = least(costs).mean(axis=0)  # systems that tie are the cheapest alike
    known = _above(costs_in(unknown.mean, rivals), choice)
    evpi, more = _regret(costs, choice, known), None
    if remake is not None:
        more = _worth_remade(unknown.worlds(rng, remake.affordable), rivals, remake, unknown.level)
    parts = [
        _part(part, rivals, choice, known, remake, unknown.level) for part in unknown.parts(rng)
    ]
    order = np.argsort(-shares, kind="stable")
    uncertainty = Uncertainty(
        choice=names[choice],
        holds=float(shares[choice]),
        evpi=evpi,
        evpi_remade=None if more is None else more.value,
        evpi_remade_low=nan if more is None else more.low,
        evpi_remade_high=nan if more is None else more.high,
        parts=tuple(sorted(parts, key=lambda part: -max(_worth(part)))),
        cheapest=tuple((names[j], float(shares[j])) for j in order if shares[j] > 0),
        draws=len(worlds.prior),
        sentences=(),
    )
    sentences = _sentences(uncertainty, unknown)
    return uncertainty._but(sentences=sentences)


def costs_in(worlds: Worlds, rivals: Rivals) -> FloatArray:
    """What each rival costs in each world, (D, J)."""
    today = np.ones(worlds.costs.shape[1:])
    return rivals.charged.costs(today, worlds.prior) + rivals.decided.costs(*worlds)


def _regret(costs: FloatArray, choice: int, known: float) -> float:
    """What today's choice costs above the cheapest of each world (D, J), on average.

    Its regret at the means, `known`, is subtracted, because no uncertainty causes it. It is
    positive where the verdict deploys no model although one was cheaper on these cases: corrected
    for the choice on these cases, that model was not.
    """
    return max(_above(costs, choice) - known, 0.0)


def _above(costs: FloatArray, choice: int) -> float:
    return float((costs[:, choice] - costs.min(axis=1)).mean())


def _worth_remade(worlds: Worlds, rivals: Rivals, remake: Remake, level: float) -> Measured:
    """What it is worth to know the world before rules are remade and one is chosen.

    The least of several costs is too low on the cases on which they are compared: the value on all
    cases, today's least cost less the mean of the least costs of all worlds, is too high on
    average. Where rules are chosen on one half of the cases and charged on the other, it is too
    low. The estimate is in the middle, and its interval reaches from the lower end of the one to
    the upper end of the other (Mak, Morton and Wood 1999). The value is never negative.
    """
    names = tuple(map(str, rivals.charged.names))
    parts, n_today = remake.costs(worlds, names), len(names)
    n_folds = parts.shape[2]
    if n_folds < 2:  # one case or cluster says nothing about others
        return Measured(nan, nan, nan)
    rng = np.random.default_rng(0)  # folds are dealt at random already
    high = float(_least_costs(parts, np.ones((n_folds, 1)), n_today)[0])
    halves = np.array([rng.permutation(n_folds) < n_folds // 2 for _ in range(_HALVES)])
    halves = np.concatenate([halves, ~halves])
    low = float(np.mean([_apart(parts, half, n_today) for half in halves]))
    counts = rng.multinomial(n_folds, np.full(n_folds, 1 / n_folds), size=_REPLICATES).T.astype(
        float
    )
    error = max(_error(parts, n_today), float(_least_costs(parts, counts, n_today).std()))
    reach = error * float(np.sqrt(profile_threshold(level, np.asarray(n_folds - 1.0))))
    ends = ((low + high) / 2, min(low, high) - reach, max(low, high) + reach)
    return Measured(*(max(end, 0.0) for end in ends))


def _least_costs(parts: FloatArray, counts: FloatArray, n_today: int) -> FloatArray:
    """Today's least cost less the mean of those of all worlds, for B counts (F, B) of folds."""
    today, least = np.zeros((n_today, counts.shape[1])), np.zeros(counts.shape[1])
    for world in parts:  # one after another: all of them would take much memory
        costs = world @ counts
        today += costs[:n_today] / len(parts)
        least += costs.min(axis=0) / len(parts)
    return np.asarray(today.min(axis=0) - least)


def _apart(parts: FloatArray, half: BoolArray, n_today: int) -> float:
    """The value on some folds (F,) where rules are chosen on the others."""
    spent, others = parts[..., half].sum(axis=-1), parts[..., ~half].sum(axis=-1)
    today = others[:, :n_today].mean(axis=0).argmin()
    again = np.take_along_axis(spent, others.argmin(axis=1)[:, None], axis=1)[:, 0]
    return float((spent[:, today] - again).mean() * half.size / half.sum())


def _error(parts: FloatArray, n_today: int) -> float:
    """The standard error of the value of the rules that are the cheapest on all cases."""
    costs = parts.sum(axis=2)
    today, again = costs[:, :n_today].mean(axis=0).argmin(), costs.argmin(axis=1)
    each = (parts[:, today] - parts[np.arange(len(parts)), again]).mean(axis=0)
    return float(np.sqrt(each.size * each.var(ddof=1)))


def _part(
    part: Part, rivals: Rivals, choice: int, known: float, remake: Remake | None, level: float
) -> UncertainPart:
    evppi, more = _regret(costs_in(part.worlds, rivals), choice, known), None
    if remake is not None:
        some = part.worlds.some(remake.affordable // 4)
        more = _worth_remade(some, rivals, remake, level)
    mean, low, high = part.interval
    return UncertainPart(
        what=part.what,
        mean=mean,
        low=low,
        high=high,
        evppi=evppi,
        evppi_remade=None if more is None else more.value,
        evppi_remade_low=nan if more is None else more.low,
        evppi_remade_high=nan if more is None else more.high,
    )


def _sentences(uncertainty: Uncertainty, unknown: Unknown) -> tuple[str, ...]:
    unit = unknown.problem.unit
    others = [name for name, _ in uncertainty.cheapest if name != uncertainty.choice]
    more = " or another" if len(others) > 1 else ""
    elsewhere = f"; elsewhere it is {others[0]}{more}" if others else ""
    holds = _text.whole_percent(uncertainty.holds)
    sentences = [
        f"On these cases {uncertainty.choice} is the cheapest over {holds} of what {unknown.what} "
        f"may be{elsewhere}.",
        f"Knowing {unknown.what} before choosing among today's rules would be worth "
        f"{_text.in_unit(_text.prose(uncertainty.evpi, 3), unit)} per case (EVPI).",
    ]
    if uncertainty.evpi_remade is not None and not isnan(uncertainty.evpi_remade):
        low, high = uncertainty.evpi_remade_low, uncertainty.evpi_remade_high
        sentences.append(
            f"With rules remade for what is then known it would be worth "
            f"{_text.in_unit(_text.prose(uncertainty.evpi_remade, 3), unit)} per case "
            f"({_text.percent(unknown.level)} interval {_text.prose(low, 3)} to "
            f"{_text.prose(high, 3)})."
        )
    if len(uncertainty.parts) > 1 and max(_worth(uncertainty.parts[0])) > 0:
        sentences.append(f"The most valuable to find out is {uncertainty.parts[0].what}.")
    return tuple(sentences)


def _worth(part: UncertainPart) -> tuple[float, float]:
    return part.evppi, np.nan_to_num(part.evppi_remade or 0.0)
