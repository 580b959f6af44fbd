"""Problem: what is at stake, a cost for every true class and every decision."""

from stakes.problem._charged import CaseCosts, costs_of_class
from stakes.problem._cost_table import LARGEST, Belief, Between, cell_text
from stakes.problem._limit import Limit, Naive, infeasible, listed_limits
from stakes.problem._problem import Problem

__all__ = [
    "LARGEST",
    "Belief",
    "Between",
    "CaseCosts",
    "Limit",
    "Naive",
    "Problem",
    "cell_text",
    "costs_of_class",
    "infeasible",
    "listed_limits",
]
