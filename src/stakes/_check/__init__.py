"""The border: array-likes in, trusted read-only arrays out.

The only place that validates. Every function takes the name of the argument first, and every
message says: argument, rule, evidence (how many, the first and where), remedy.
"""

from stakes._check.alignment import aligned, same_length, weights
from stakes._check.doors import guard
from stakes._check.groups import (
    ClusterLabels,
    Groups,
    absent,
    clusters,
    columns_of,
    frame_columns,
    groups,
    missing_label,
)
from stakes._check.kinds import (
    BoolArray,
    FloatArray,
    IntArray,
    Label,
    Labels,
    Numbers,
    frozen,
    require,
)
from stakes._check.labels import (
    FoundLabels,
    answers,
    by_label,
    codes,
    decisions,
    distinct,
    encoded,
    labels,
    refuse_lazy,
    same_labels,
)
from stakes._check.numbers import (
    draws,
    floats,
    generator,
    level,
    no_leading_axes,
    non_negative,
    number,
    probabilities,
    real_scores,
    reals,
    rounding,
    unwrapped,
    whole,
)
from stakes._check.shares import posteriors, prior

__all__ = [
    "BoolArray",
    "ClusterLabels",
    "FloatArray",
    "FoundLabels",
    "Groups",
    "IntArray",
    "Label",
    "Labels",
    "Numbers",
    "absent",
    "aligned",
    "answers",
    "by_label",
    "clusters",
    "codes",
    "columns_of",
    "decisions",
    "distinct",
    "draws",
    "encoded",
    "floats",
    "frame_columns",
    "frozen",
    "generator",
    "groups",
    "guard",
    "labels",
    "level",
    "missing_label",
    "no_leading_axes",
    "non_negative",
    "number",
    "posteriors",
    "prior",
    "probabilities",
    "real_scores",
    "reals",
    "refuse_lazy",
    "require",
    "rounding",
    "same_labels",
    "same_length",
    "unwrapped",
    "weights",
    "whole",
]
