"""Tallies: sums over cases, from which everything else is computed.

Rows are read once and become a tally; after that, rows are not needed again. Tallies merge with
``+``, carry leading axes (groups, replicates, thresholds) and do not depend on costs. `Tally`,
`CellTally` and `JointTally` are their contracts.
"""

from stakes.tally.base import CellTally, JointTally, Tally, tallies_by_model
from stakes.tally.binned_scores import Bins, BinSums
from stakes.tally.bit_bins import BitGrid
from stakes.tally.bucket_sort import blocks
from stakes.tally.counts import Counts
from stakes.tally.joint_counts import JointCounts
from stakes.tally.joint_scores import JointScores
from stakes.tally.loss_moments import LossMoments
from stakes.tally.read_rows import MOST_CELLS, ROUND, Labelled, read_rows, refuse_too_many
from stakes.tally.score_table import ScoreTable, two_classes
from stakes.tally.sorted_runs import SortedRuns

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
