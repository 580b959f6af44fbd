"""Tallies of tensors, made on the device that holds them, CPU or GPU.

Tensors stay on their device; only a tally leaves it: counts, bins, distinct scores, or the hull.
Autograd is off, and half, bfloat16, single and double precision are read without conversion.
Invalid entries (nan, labels out of range, negative weights) are counted on the device and refused
when the tally is complete: functions refuse them before they return, torchmetrics modules at
``compute``, so that ``update`` never waits for the device. Wrong shapes, dtypes and devices are
refused at once.

Labels are positions: class 0 … K − 1 and decision 0 … M − 1, in the order of the problem.
Counts and bins are bit-identical on CPU and GPU for cases that count once or a whole number of
times; sums of fractional weights and mean losses may differ in their last digits.

Needs the extra ``torch``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stakes.errors import extra

if TYPE_CHECKING:
    from stakes.torch.device_cases import bayes_decisions, counts, loss_moments
    from stakes.torch.device_scores import (
        BinnedScores,
        Scale,
        ScoreHull,
        score_auc,
        score_bins,
        score_hull,
        score_table,
    )
    from stakes.torch.modules import BayesCost, Evaluation, ExpectedCost, NormalizedCost, ScoreBins

_HOME = {
    "device_cases": ("bayes_decisions", "counts", "loss_moments"),
    "device_scores": (
        *("BinnedScores", "Scale", "score_bins"),
        *("ScoreHull", "score_auc", "score_hull", "score_table"),
    ),
    "modules": ("BayesCost", "Evaluation", "ExpectedCost", "NormalizedCost", "ScoreBins"),
}
_FILE_OF = {name: file for file, names in _HOME.items() for name in names}

__all__ = [
    "BayesCost",
    "BinnedScores",
    "Evaluation",
    "ExpectedCost",
    "NormalizedCost",
    "Scale",
    "ScoreBins",
    "ScoreHull",
    "bayes_decisions",
    "counts",
    "loss_moments",
    "score_auc",
    "score_bins",
    "score_hull",
    "score_table",
]


def __getattr__(name: str) -> Any:
    if name not in _FILE_OF:
        raise AttributeError(f"module 'stakes.torch' has no attribute {name!r}")
    with extra("torch", f"stakes.torch.{name}"):
        value = getattr(import_module(f"stakes.torch.{_FILE_OF[name]}"), name)
    globals()[name] = value
    return value
