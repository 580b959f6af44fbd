"""Whether an evaluation fits into memory, checked before it begins."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Mapping

from stakes.errors import InputError
from stakes.problem import Problem
from stakes.rows import Decisions

_SHARED, _OWN = 9, 3  # class-by-decision tables in memory at the peak: shared, and per model
_ROWS = 4  # arrays of posteriors in memory at the peak
_FEW = 1 << 30  # an evaluation that needs no more bytes than this is never refused


def needed_bytes(n_classes: int, n_decisions: int, rows: list[int]) -> int:
    """About how many bytes an evaluation takes at its peak; `rows` are the rows of each model."""
    tables = _SHARED + _OWN * len(rows)
    return 8 * (n_classes * n_decisions * tables + _ROWS * n_classes * max(rows, default=0))


def refuse_too_large(problem: Problem, models: Mapping[str, object], n_rows: int) -> None:
    """Refuse an evaluation that does not fit; the message says how many classes would."""
    rows = [0 if isinstance(predictions, Decisions) else n_rows for predictions in models.values()]
    sizes = problem.n_classes, problem.n_decisions
    needed, available = needed_bytes(*sizes, rows), max(memory_bytes(), _FEW)
    if needed <= available:
        return
    fitting = _fitting(*sizes, rows, available)
    raise InputError(
        f"problem must have fewer classes than {problem.n_classes:,}: with {len(models):,} models "
        f"and {n_rows:,} cases it takes about {needed / 2**30:.1f} GiB, and there are "
        f"{available / 2**30:.1f} GiB. About {fitting:,} classes would fit: merge those that are "
        f"treated alike, or pass fewer models or cases."
    )


def _fitting(n_classes: int, n_decisions: int, rows: list[int], available: int) -> int:
    """How many classes would fit, with decisions in the same proportion to classes."""

    def needed(size: int) -> int:
        return needed_bytes(size, -(-size * n_decisions // n_classes), rows)

    return bisect_right(range(n_classes), available, key=needed) - 1


def memory_bytes() -> int:
    """The memory of this machine, or as much of it as this process may use."""
    total = 1 << 62
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return total
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return total if limit == resource.RLIM_INFINITY else min(total, limit)
