"""What a classifier's decisions cost, which model to deploy, and how sure one can be.

Bring predictions and what is at stake: a `Problem` holds a cost for every true class and every
decision. `evaluate` gives a report, `evaluate_frame` one of columns of a frame or of files. Below,
rows become tallies (`Counts`, `JointCounts`, `ScoreTable`, `LossMoments`), and measures are
functions of tallies. Names are loaded when they are first used, so that importing this package
loads numpy and nothing heavier; type checkers read ``__init__.pyi``.
"""

from importlib import import_module
from typing import Any

from stakes._version import __version__ as __version__

_HOME = {
    "adapters.columns": ("Columns",),
    "adapters.frame": ("evaluate_frame",),
    "conditions": (
        "Beta",
        "CostProportions",
        "Mixture",
        "Point",
        "Points",
        "Sample",
        "Skews",
        "Truncated",
        "Uniform",
    ),
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
    "evaluation": ("evaluate",),
    "limits": ("price_limits",),
    "measures": ("expected_cost", "normalized_cost"),
    "problem": ("Between", "Limit", "Problem"),
    "ranking": ("auc", "equal_error_rate"),
    "report": ("Report",),
    "rows": ("Decisions", "Posteriors", "Scores"),
    "rule": ("Rule",),
    "tally": ("Counts", "JointCounts", "LossMoments", "ScoreTable"),
    "thresholds": (
        "Optimal",
        "RateDriven",
        "RateFixed",
        "RateUniform",
        "ScoreDriven",
        "ScoreFixed",
        "ScoreUniform",
        "best_threshold",
        "expected_loss",
        "h_measure",
    ),
}
_ROOMS = (
    "adapters",
    "agreement",
    "audit",
    "calibration",
    "cli",
    "conditions",
    "curve",
    "curves",
    "decide",
    "displays",
    "errors",
    "evaluation",
    "inference",
    "limits",
    "measures",
    "metrics",
    "plot",
    "problem",
    "ranking",
    "regions",
    "render",
    "report",
    "rows",
    "rule",
    "scoring",
    "simulate",
    "sklearn",
    "tally",
    "thresholds",
    "torch",
)
_ROOM_OF = {name: room for room, names in _HOME.items() for name in names}

__all__ = sorted(_ROOM_OF)


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
