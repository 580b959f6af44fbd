"""Tallies: sums over cases, from which everything else is computed.

Rows are read once and become a tally; after that, rows are not needed again. Tallies merge with
``+``, carry leading axes (groups, replicates, thresholds) and do not depend on costs. `Tally`,
`CellTally` and `JointTally` are their contracts.
"""

from stakes.tally.base import (
    MOST_CELLS,
    ROUND,
    CellTally,
    JointTally,
    Labelled,
    Tally,
    read_rows,
    refuse_too_many,
    tallies_by_model,
)
from stakes.tally.binned_scores import Bins, BinSums, BitGrid, SortedRuns
from stakes.tally.counts import Counts, JointCounts
from stakes.tally.loss_moments import LossMoments
from stakes.tally.score_table import JointScores, ScoreTable, blocks, two_classes

__all__ = [
    "MOST_CELLS",
    "ROUND",
    "BinSums",
    "Bins",
    "BitGrid",
    "CellTally",
    "Counts",
    "JointCounts",
    "JointScores",
    "JointTally",
    "Labelled",
    "LossMoments",
    "ScoreTable",
    "SortedRuns",
    "Tally",
    "blocks",
    "read_rows",
    "refuse_too_many",
    "tallies_by_model",
    "two_classes",
]
