"""The border: array-likes in, trusted read-only arrays out.

The only place that validates. Every function takes the name of the argument first, and every
message says: argument, rule, evidence (how many, the first and where), remedy.
"""

from stakes._check.kinds import BoolArray, FloatArray, IntArray, Label, Labels, frozen
from stakes._check.labels import by_label, codes, distinct, labels, same_labels
from stakes._check.numbers import (
    floats,
    non_negative,
    number,
    probabilities,
    real_scores,
    reals,
    unwrapped,
)
from stakes._check.rows import same_length, weights
from stakes._check.shares import posteriors, prior

__all__ = [
    "BoolArray",
    "FloatArray",
    "IntArray",
    "Label",
    "Labels",
    "by_label",
    "codes",
    "distinct",
    "floats",
    "frozen",
    "labels",
    "non_negative",
    "number",
    "posteriors",
    "prior",
    "probabilities",
    "real_scores",
    "reals",
    "same_labels",
    "same_length",
    "unwrapped",
    "weights",
]
