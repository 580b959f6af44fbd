"""The façade: rows in, a report out.

The only home of defaults; the report prints what was chosen.
"""

from stakes.evaluation.evaluate_rows import evaluate

__all__ = ["evaluate"]
