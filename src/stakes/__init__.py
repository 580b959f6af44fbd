"""What a classifier's decisions cost, which model to deploy, and how sure one can be.

Bring predictions and what is at stake: a `Problem` holds a cost for every true class and every
decision. Rows become tallies (`Counts`, `JointCounts`, `ScoreTable`, `LossMoments`); measures are
functions of tallies. Names are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stakes.decide import (
        bayes_decision_indices,
        bayes_decisions,
        estimate_prior,
        expected_costs,
        log_likelihood_ratios,
        posteriors_from_log_likelihoods,
        posteriors_from_log_odds,
        shift_prior,
    )
    from stakes.errors import InputError, MissingExtraError, StakesError
    from stakes.measures.cost import expected_cost, normalized_cost
    from stakes.problem import Problem
    from stakes.tally import Counts, JointCounts, LossMoments, ScoreTable

__version__ = "0.1.0.dev0"

_HOME = {
    "decide": (
        "bayes_decision_indices",
        "bayes_decisions",
        "estimate_prior",
        "expected_costs",
        "log_likelihood_ratios",
        "posteriors_from_log_likelihoods",
        "posteriors_from_log_odds",
        "shift_prior",
    ),
    "errors": ("InputError", "MissingExtraError", "StakesError"),
    "measures.cost": ("expected_cost", "normalized_cost"),
    "problem": ("Problem",),
    "tally": ("Counts", "JointCounts", "LossMoments", "ScoreTable"),
}
_ROOMS = ("agreement", "measures", "metrics", "simulate")
_ROOM_OF = {name: room for room, names in _HOME.items() for name in names}

__all__ = [
    "Counts",
    "InputError",
    "JointCounts",
    "LossMoments",
    "MissingExtraError",
    "Problem",
    "ScoreTable",
    "StakesError",
    "bayes_decision_indices",
    "bayes_decisions",
    "estimate_prior",
    "expected_cost",
    "expected_costs",
    "log_likelihood_ratios",
    "normalized_cost",
    "posteriors_from_log_likelihoods",
    "posteriors_from_log_odds",
    "shift_prior",
]


def __getattr__(name: str) -> Any:
    if name in _ROOM_OF:
        value = getattr(import_module(f"stakes.{_ROOM_OF[name]}"), name)
    elif name in _ROOMS:
        value = import_module(f"stakes.{name}")
    else:
        raise AttributeError(f"module 'stakes' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_ROOMS, "__version__"})
