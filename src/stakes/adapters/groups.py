"""Group-bys over codes, which leave the engine as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from stakes.adapters.expressions import Lazy, sum_of

Arrays = dict[str, npt.NDArray[Any]]

ROWS = "rows"
_KEY = "key"
_MOST = 1 << 62  # codes that are packed into one whole number


def grouped(
    frame: Lazy,
    sizes: Mapping[str, int],
    sums: Mapping[str, nw.Expr],
    more: Sequence[str] = (),
) -> Lazy:
    """Rows and sums for each combination of codes, and of `more` columns, that occurs.

    Codes lie below their sizes. They are packed into whole numbers, since engines group by one key
    faster than by several; `arrays_of` takes them apart.
    """
    packs = _packs(sizes)
    keys = [f"{_KEY}{place}" for place in range(len(packs))]
    packed = frame.with_columns(
        _packed(pack).alias(key) for key, pack in zip(keys, packs, strict=True)
    )
    made = [total.alias(name) for name, total in sums.items()]
    return packed.group_by(*keys, *more).agg(nw.len().alias(ROWS), *made)


def arrays_of(made: Lazy, sizes: Mapping[str, int]) -> Arrays:
    """What `grouped` made, as arrays; labels are texts, or None."""
    frame = made.collect()
    found: Arrays = {}
    for place, pack in enumerate(_packs(sizes)):
        codes = np.unravel_index(frame[f"{_KEY}{place}"].to_numpy(), tuple(pack.values()))
        found |= {name: code.astype(np.intp) for name, code in zip(pack, codes, strict=True)}
    for name in frame.columns:
        if not name.startswith(_KEY):
            is_text = frame.schema[name] == nw.String
            kind = object if is_text else np.float64
            found[name] = np.array(frame[name].to_list() if is_text else frame[name], dtype=kind)
    return found


def _packs(sizes: Mapping[str, int]) -> list[dict[str, int]]:
    packs: list[dict[str, int]] = [{}]
    for name, size in sizes.items():
        if prod(packs[-1].values()) * size > _MOST:
            packs.append({})
        packs[-1][name] = size
    return packs


def _packed(pack: Mapping[str, int]) -> nw.Expr:
    """One number for several codes, the last one varying fastest."""
    steps = np.cumprod([1, *list(pack.values())[:0:-1]])[::-1].tolist()
    codes = (nw.col(name).cast(nw.Int64) for name in pack)
    return sum_of([code * step for code, step in zip(codes, steps, strict=True)])
