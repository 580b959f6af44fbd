"""Problem: what is at stake, a cost for every true class and every decision."""

from stakes.problem._cases import CaseCosts, costs_of_class
from stakes.problem._limit import Limit, infeasible
from stakes.problem._naive import Naive
from stakes.problem._problem import Problem

__all__ = ["CaseCosts", "Limit", "Naive", "Problem", "costs_of_class", "infeasible"]
