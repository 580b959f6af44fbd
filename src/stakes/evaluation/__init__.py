"""The façade: rows in, a report out.

The only home of defaults; the report prints what was chosen.
"""

from stakes.evaluation.facade import evaluate

__all__ = ["evaluate"]
