r"""Operating conditions: what is known about the costs, as a distribution on [0, 1].

The loss of a decision rule depends on the costs through one number only: the cost proportion
:math:`c = c_{FA} / (c_{FA} + c_{miss})`, or the skew :math:`z = c\pi_0 / (c\pi_0 + (1-c)\pi_1)`,
which also includes the class shares. `CostProportions` and `Skews` say which of the two a
distribution is about (hernandez-orallo, section 2.2). Conversion functions turn one into the other,
and net benefit into expected cost or relative economic value and back.
"""

from stakes.conditions.condition import (
    Condition,
    CostProportions,
    Skews,
    cost_from_net_benefit,
    cost_proportion_from_skew,
    net_benefit_from_cost,
    net_benefit_from_relative_value,
    relative_value_from_net_benefit,
    skew_from_cost_proportion,
)
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
    "cost_from_net_benefit",
    "cost_proportion_from_skew",
    "net_benefit_from_cost",
    "net_benefit_from_relative_value",
    "relative_value_from_net_benefit",
    "skew_from_cost_proportion",
]
