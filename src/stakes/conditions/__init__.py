r"""Operating conditions: what is known about the costs, as a distribution on [0, 1].

The loss of a decision rule depends on the costs through one number only: the cost proportion
:math:`c = c_{FA} / (c_{FA} + c_{miss})`, or the skew :math:`z = c\pi_0 / (c\pi_0 + (1-c)\pi_1)`,
which takes the class shares in as well. `CostProportions` and `Skews` say which of the two a
distribution is about (hernandez-orallo, section 2.2).
"""

from stakes.conditions.condition import Condition, CostProportions, Skews
from stakes.conditions.distributions import (
    Beta,
    Continuous,
    Distribution,
    Mixture,
    Point,
    Points,
    Sample,
    Truncated,
    Uniform,
)

__all__ = [
    "Beta",
    "Condition",
    "Continuous",
    "CostProportions",
    "Distribution",
    "Mixture",
    "Point",
    "Points",
    "Sample",
    "Skews",
    "Truncated",
    "Uniform",
]
