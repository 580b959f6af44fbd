"""Report: the results of `evaluate`, as a value."""

from stakes._check import guard
from stakes.report._consistency import RANGES, refuse_inconsistent
from stakes.report._findings import (
    AS_DECIDED,
    BAYES,
    FEWER_BINS,
    LEFT_OUT,
    MOST_BINS,
    MOST_SCORES,
    MOVED,
    POSTERIOR_RULES,
    RECALIBRATED,
    TUNED,
    TUNED_APART,
    Assumptions,
    Baseline,
    Caveat,
    CurvePoints,
    ModelQuality,
    NaiveDecision,
    Pick,
    Slice,
    SliceCost,
    UncertainPart,
    Uncertainty,
)
from stakes.report._flips import Flip, MovedNumber, flip_of
from stakes.report._other_stakes import MovedCosts, Stakes
from stakes.report._pairs import DecisionSource, JointBins, PairCounts
from stakes.report._report import Report
from stakes.report._systems import CORRECTED, OWN_COLUMN, Gate, System, Verdict, cheapest_of

__all__ = [
    "AS_DECIDED",
    "BAYES",
    "CORRECTED",
    "FEWER_BINS",
    "LEFT_OUT",
    "MOST_BINS",
    "MOST_SCORES",
    "MOVED",
    "OWN_COLUMN",
    "POSTERIOR_RULES",
    "RANGES",
    "RECALIBRATED",
    "TUNED",
    "TUNED_APART",
    "Assumptions",
    "Baseline",
    "Caveat",
    "CurvePoints",
    "DecisionSource",
    "Flip",
    "Gate",
    "JointBins",
    "ModelQuality",
    "MovedCosts",
    "MovedNumber",
    "NaiveDecision",
    "PairCounts",
    "Pick",
    "Report",
    "Slice",
    "SliceCost",
    "Stakes",
    "System",
    "UncertainPart",
    "Uncertainty",
    "Verdict",
    "cheapest_of",
    "flip_of",
    "refuse_inconsistent",
]

guard(__name__)
