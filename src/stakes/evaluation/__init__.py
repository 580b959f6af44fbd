"""The façade: it takes rows and returns a report.

Defaults that carry meaning live here only, and the report prints those that were used.
"""

from stakes.evaluation.backwards import leads_in_sample, order_in_sample
from stakes.evaluation.build_report import report_of
from stakes.evaluation.case_charges import MOST_TERMS, Charges, charges_of
from stakes.evaluation.cases import (
    LARGEST_COST,
    LIBRARIES,
    Cases,
    frame_library,
    read_cases,
    read_models,
    refuse_both,
    refuse_misaligned,
    refuse_needless,
    refuse_scale,
    refuse_unknown,
)
from stakes.evaluation.changes import Changes, changes_between
from stakes.evaluation.column_order import FLOOR, better_order
from stakes.evaluation.column_ranks import column_ranks
from stakes.evaluation.cross_fitted import CrossFitted
from stakes.evaluation.decision_rules import (
    DecisionRule,
    is_movable,
    may_name,
    rules_by_system,
    rules_of,
)
from stakes.evaluation.evaluate_rows import evaluate
from stakes.evaluation.evidence import (
    RULES,
    ColumnRank,
    Evidence,
    JointSample,
    ModelTallies,
    PairsOf,
    mean_losses,
)
from stakes.evaluation.folds import (
    KEY_FOLDS,
    Fitted,
    Folds,
    fold_of_key,
    recalibrated,
    tuned_apart,
    used_folds,
)
from stakes.evaluation.joint_bins import pair_counts, source_size
from stakes.evaluation.limited_rules import priced_on_all
from stakes.evaluation.predictions import Predictions
from stakes.evaluation.repeated_values import RepeatedColumn, repeats_caveat
from stakes.evaluation.report_options import MOST_REPLICATES, ReportOptions
from stakes.evaluation.sentences import left_out, no_decision, no_move
from stakes.evaluation.tally_rows import CLASS_BINS, decided_by_rules, hardness_unit

__all__ = [
    "CLASS_BINS",
    "FLOOR",
    "KEY_FOLDS",
    "LARGEST_COST",
    "LIBRARIES",
    "MOST_REPLICATES",
    "MOST_TERMS",
    "RULES",
    "Cases",
    "Changes",
    "Charges",
    "ColumnRank",
    "CrossFitted",
    "DecisionRule",
    "Evidence",
    "Fitted",
    "Folds",
    "JointSample",
    "ModelTallies",
    "PairsOf",
    "Predictions",
    "RepeatedColumn",
    "ReportOptions",
    "better_order",
    "changes_between",
    "charges_of",
    "column_ranks",
    "decided_by_rules",
    "evaluate",
    "fold_of_key",
    "frame_library",
    "hardness_unit",
    "is_movable",
    "leads_in_sample",
    "left_out",
    "may_name",
    "mean_losses",
    "no_decision",
    "no_move",
    "order_in_sample",
    "pair_counts",
    "priced_on_all",
    "read_cases",
    "read_models",
    "recalibrated",
    "refuse_both",
    "refuse_misaligned",
    "refuse_needless",
    "refuse_scale",
    "refuse_unknown",
    "repeats_caveat",
    "report_of",
    "rules_by_system",
    "rules_of",
    "source_size",
    "tuned_apart",
    "used_folds",
]
