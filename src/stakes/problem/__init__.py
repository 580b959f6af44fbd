"""Problem: what is at stake, a cost for every true class and every decision."""

from stakes.problem._cases import CaseCosts
from stakes.problem._problem import Naive, Problem

__all__ = ["CaseCosts", "Naive", "Problem"]
