"""An estimate for every group, with a note where a group is too small for it."""

from __future__ import annotations

from stakes import _check
from stakes._check import FloatArray, IntArray, Label, Labels
from stakes._text import text_table
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.inference.estimate import Estimate
from stakes.inference.tally_checks import checked_tally
from stakes.tally import Tally


@record(repr=False)
class Slices(Value):
    """An estimate for every group.

    Attributes
    ----------
    groups : G labels
    estimate : its value has shape (G,)
    sizes : (G, K) cases of each class in each group
    notes : G texts, empty where the interval needs no warning

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.inference import Normal
    >>> values, errors = np.array([0.2, 0.4]), np.array([0.05, 0.1])
    >>> estimate = Estimate(values, errors, np.empty((0, 2)), Normal(), "delta method")
    >>> Slices(("north", "south"), estimate, np.array([[40, 20], [9, 6]]), ("", "few cases"))
    delta method
           cases  value  95% low   high
    north     60    0.2    0.102  0.298
    south     15    0.4    0.204  0.596  few cases
    """

    groups: Labels
    estimate: Estimate
    sizes: FloatArray
    notes: tuple[str, ...]

    def columns(self, level: float = 0.95) -> dict[str, list[object]]:
        """What can be drawn or printed, as columns of equal length.

        Parameters
        ----------
        level : confidence level of the intervals

        Returns
        -------
        columns of equal length

        Examples
        --------
        >>> import numpy as np
        >>> from stakes.inference import Normal
        >>> values, errors = np.array([0.2, 0.4]), np.array([0.05, 0.1])
        >>> estimate = Estimate(values, errors, np.empty((0, 2)), Normal(), "delta method")
        >>> sizes = np.array([[40, 20], [9, 6]])
        >>> Slices(("north", "south"), estimate, sizes, ("", "few cases")).columns()["note"]
        ['', 'few cases']
        """
        interval = self.estimate.interval(level)
        return {
            "group": list(self.groups),
            "cases": self.sizes.sum(axis=-1).tolist(),
            "value": self.estimate.value.tolist(),
            "low": interval.low.tolist(),
            "high": interval.high.tolist(),
            "note": list(self.notes),
        }

    def __str__(self) -> str:
        columns = self.columns(0.95)
        header = ["", "cases", "value", "95% low", "high", ""]
        rows = [
            [group, *(f"{number:.4g}" for number in numbers), note]
            for group, *numbers, note in zip(*columns.values(), strict=True)
        ]
        return f"{self.estimate.method}\n{text_table(header, rows)}"

    __repr__ = __str__


def slices(estimate: Estimate, tally: Tally, *, smallest: float) -> Slices:
    """Label an estimate of a tally that was made with ``by=``, group by group, with notes.

    A class with fewer than `smallest` cases in a group gets a note, and so do undefined
    replicates: such an interval contains the true value less often than its level says.

    Parameters
    ----------
    estimate : of shape (G,), by `bootstrap` or by formula, from this tally
    tally : with a leading axis of groups
    smallest : number of cases of a class below which a group gets a note

    Returns
    -------
    the estimate of each group, with notes

    Examples
    --------
    >>> from stakes.inference import delta_expected_cost
    >>> from stakes import Counts, Problem
    >>> y, decided = [0, 0, 0, 1, 1] * 20, [0, 0, 1, 1, 0] * 20
    >>> site = ["north"] * 90 + ["south"] * 10
    >>> counts = Counts.from_decisions(y, decided, Problem.zero_one(2), by=site)
    >>> print(slices(delta_expected_cost(counts, Problem.zero_one(2)), counts, smallest=10))
    delta method
           cases  value  95% low    high
    north     90    0.4   0.2982  0.5018
    south     10    0.4  0.07994  0.7201  few cases (6 of class 0, 4 of class 1)
    """
    _check.require("estimate", estimate, Estimate)
    axes = checked_tally(tally).leading
    if len(axes) != 1 or estimate.value.shape != axes:
        raise InputError(
            f"estimate and tally must have one axis of groups; the estimate has shape "
            f"{estimate.value.shape}, the tally leading axes {axes}. Make the tally "
            f"with by=, and measure one number for each group."
        )
    bound = _check.number("smallest", smallest, low=0)
    sizes = tally.class_weights
    labels = tally.groups or tuple(range(len(sizes)))
    replicates = len(estimate.replicates)
    few = (few_of_classes(size, tally.class_names, bound) for size in sizes)
    undefined = (
        f"{lost} of {replicates} replicates undefined" if lost else ""
        for lost in estimate.n_undefined
    )
    notes = tuple("; ".join(filter(None, both)) for both in zip(few, undefined, strict=True))
    return Slices._trusted(groups=labels, estimate=estimate, sizes=sizes, notes=notes)


def few_of_classes(sizes: FloatArray | IntArray, classes: Labels, smallest: float) -> str:
    """The note on a group of which some classes have too few cases; empty if all have enough.

    Parameters
    ----------
    sizes : (K,) cases of each class
    classes : K labels
    smallest : number of cases of a class below which they say little about it

    Returns
    -------
    the note

    Examples
    --------
    >>> import numpy as np
    >>> few_of_classes(np.array([60, 4]), ("healthy", "ill"), 10)
    'few cases (4 of ill)'
    """
    _check.shapes(f"{len(classes)}", sizes=sizes)
    short = [
        f"{size:.4g} of {label if _is_a_word(label) else f'class {label}'}"
        for size, label in zip(sizes, classes, strict=True)
        if size < smallest
    ]
    return f"few cases ({', '.join(short)})" if short else ""


def _is_a_word(label: Label) -> bool:
    """Whether a label is a text that does not read like a number."""
    return isinstance(label, str) and not label.strip("+-").replace(".", "", 1).isdigit()
