"""A table of metrics with intervals: what a paper prints, as a value."""

from __future__ import annotations

from typing import Any, NamedTuple

from stakes._check import Label
from stakes._text import html_table, number, text_table
from stakes._value import Value, record
from stakes.errors import InputError


class MetricRow(NamedTuple):
    """One metric of one test or model, and its interval; nan where undefined.

    Parameters
    ----------
    name : label of the test or model
    metric : name of the metric
    value : its value
    low : lower limit of the interval
    high : upper limit of the interval

    Examples
    --------
    Three of four positives are found, and one of four negatives is a false alarm:

    >>> from stakes import Problem
    >>> from stakes.metrics import clinical_table
    >>> y, decided = [0, 0, 0, 0, 1, 1, 1, 1] * 9, [0, 0, 0, 1, 0, 1, 1, 1] * 9
    >>> row = clinical_table(y, decided, Problem.zero_one(2))["sensitivity"]
    >>> row.metric, row.value, round(row.low, 2), round(row.high, 2)
    ('sensitivity', 0.75, 0.59, 0.86)
    """

    name: Label  # of the test, or "new − old" for a difference
    metric: str
    value: float
    low: float
    high: float


@record(repr=False)
class MetricTable(Value):
    """Metrics with intervals of one or several tests.

    Attributes
    ----------
    title : what was assumed, in words
    rows : a MetricRow for every metric of every test
    level : confidence level of the intervals

    ``table["sensitivity"]`` is the row of a table of one test; ``table["new", "sensitivity"]``
    that of one among several.

    Examples
    --------
    >>> from stakes import Problem
    >>> from stakes.metrics import clinical_table
    >>> y, new, old = [0, 0, 1, 1] * 9, [0, 0, 0, 1] * 9, [0, 1, 0, 1] * 9
    >>> table = clinical_table(y, {"new": new, "old": old}, Problem.zero_one(2))
    >>> table["new", "specificity"].value, table["old", "specificity"].value
    (1.0, 0.5)
    """

    title: str
    rows: tuple[MetricRow, ...]
    level: float

    def __getitem__(self, key: str | tuple[Label, str]) -> MetricRow:
        valid = isinstance(key, str) or (
            isinstance(key, tuple) and [isinstance(part, Label) for part in key] == [True, True]
        )
        wanted = key if isinstance(key, tuple) else (None, key)
        matches = [
            row
            for row in self.rows
            if valid and wanted[0] in (None, row.name) and row.metric == wanted[1]
        ]
        if len(matches) == 1:
            return matches[0]
        names = ", ".join(dict.fromkeys(repr(row.name) for row in self.rows))
        metrics = ", ".join(dict.fromkeys(repr(row.metric) for row in self.rows))
        raise InputError(
            f"key must name one row; the table has {len(matches)} rows for "
            f"{' '.join(repr(key).split())}. "
            f"Ask for table[metric], or for "
            f"table[name, metric] where there are several names; names are {names}, metrics "
            f"{metrics}."
        )

    def frame(self, library: Any = None) -> Any:
        """The rows as a frame of pandas, Polars or PyArrow.

        Columns are name, metric, value, low and high.

        Parameters
        ----------
        library : ``"pandas"``, ``"polars"`` or ``"pyarrow"``; None: the first that is installed

        Returns
        -------
        the rows as a frame

        Examples
        --------
        >>> table = MetricTable("one test", (MetricRow("", "sensitivity", 0.8, 0.7, 0.9),), 0.95)
        >>> table.frame("pyarrow").column_names
        ['name', 'metric', 'value', 'low', 'high']
        """
        from stakes.adapters.frame import frame_of

        return frame_of(self._columns(), library, None)

    def _columns(self) -> dict[str, list[Any]]:
        columns = {part: [getattr(row, part) for row in self.rows] for part in MetricRow._fields}
        return {**columns, "name": [str(name) for name in columns["name"]]}

    def _table(self) -> tuple[list[object], list[list[object]]]:
        several = len({row.name for row in self.rows}) > 1
        header: list[object] = ["", "value", f"{100 * self.level:g}% low", "high"]
        rows: list[list[object]] = []
        previous: Label | None = None
        for row in self.rows:
            if several and row.name != previous:
                rows.append([row.name, "", "", ""])
            previous = row.name
            numbers = (number(part, 3) for part in (row.value, row.low, row.high))
            rows.append(["  " * several + row.metric, *numbers])
        return header, rows

    def __repr__(self) -> str:
        return f"{self.title}\n{text_table(*self._table())}"

    def _repr_html_(self) -> str:
        return html_table(*self._table(), self.title)
