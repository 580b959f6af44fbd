"""Measures: pure functions of counts (and of a problem), one formula each.

`cost` holds expected cost and related measures, `confusion` the familiar metrics of a square table,
`linear` costs as sums of terms, `chance` agreement beyond chance, `clinical` the measures of
diagnostic tests. Leading axes are carried through; undefined is nan.

Takes tallies.
"""

from stakes._check import guard
from stakes.measures import chance, clinical, confusion, cost, linear
from stakes.measures.chance import *  # noqa: F403
from stakes.measures.clinical import *  # noqa: F403
from stakes.measures.confusion import *  # noqa: F403
from stakes.measures.cost import *  # noqa: F403
from stakes.measures.linear import *  # noqa: F403

__all__: list[str] = []
__all__ += chance.__all__
__all__ += clinical.__all__
__all__ += confusion.__all__
__all__ += cost.__all__
__all__ += linear.__all__

guard(__name__)
