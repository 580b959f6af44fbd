"""Problem: what is at stake, a cost for every true class and every decision."""

from stakes.problem._cases import CaseCosts, costs_of_class
from stakes.problem._problem import Naive, Problem

__all__ = ["CaseCosts", "Naive", "Problem", "costs_of_class"]
