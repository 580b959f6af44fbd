"""Problem: what is at stake, a cost for every true class and every decision."""

from stakes.problem._belief import Belief, Between, cell_text
from stakes.problem._cases import CaseCosts, costs_of_class
from stakes.problem._problem import Naive, Problem

__all__ = [
    "Belief",
    "Between",
    "CaseCosts",
    "Naive",
    "Problem",
    "cell_text",
    "costs_of_class",
]
