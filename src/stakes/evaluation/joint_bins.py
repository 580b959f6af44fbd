"""Joint counts of the scores of two systems in bins, from which a page can compare them later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import isnan, sqrt

import numpy as np

from stakes._arithmetic import table_of
from stakes._check import FloatArray, IntArray
from stakes.evaluation.evidence import FEW_SOURCES, Evidence
from stakes.evaluation.score_bins import even_places
from stakes.inference import SampledCosts
from stakes.problem import Problem
from stakes.report import (
    BAYES,
    MOVED,
    POSTERIOR_RULES,
    RECALIBRATED,
    DecisionSource,
    JointBins,
    ModelQuality,
    PairCounts,
    System,
)
from stakes.tally import ScoreTable

_WHOLE = 1_000_000  # most cells of one pair, including empty ones
_CELLS = 9000  # most occupied cells of all pairs of sources with many bins: room on a page
_ALL_CELLS = 100_000  # and of all pairs, if there are more sources: a page on many models is large
_BINS = 8, 24  # fewest and most bins of one source


def joint_bins_of(
    systems: tuple[System, ...],
    models: tuple[ModelQuality, ...],
    evidence: Evidence,
    costs: SampledCosts,
) -> JointBins | None:
    """Joint bins of the cheapest systems; None where pairs cannot be counted, or need too much.

    Beyond the first few, the bins of a source are the decisions of the report: enough to know at
    its stakes which systems cannot be told from the cheapest.
    """
    if evidence.pairs is None:
        return None
    rivals = [entry for entry in systems if entry.candidate and not isnan(entry.cost.value)]
    rivals.sort(key=lambda entry: entry.cost.value)
    named = {entry.model: entry for entry in models}
    keys = dict.fromkeys(_key(entry, named[entry.model]) for entry in rivals)
    wanted = list(keys)[: evidence.most_sources]
    size = max(min(len(wanted), FEW_SOURCES), 2)
    most = int(np.clip(sqrt(_CELLS / (size * (size - 1))), *_BINS))
    sources: list[DecisionSource] = []
    all_edges = []
    for model, recalibrated, system in wanted:
        table = named[model].recalibrated if recalibrated else named[model].table
        stops, edges = np.empty(0, np.intp), np.empty(0)
        if system is None and table is not None:
            cuts = _cuts(table, model, recalibrated, systems)
            fine = len(sources) < FEW_SOURCES
            stops = _stops(table, most, cuts) if fine else np.array([*cuts, table.scores.size])
            edges = _edges(table, stops, _raw(evidence, model, recalibrated=recalibrated))
        sources.append(DecisionSource(model, recalibrated, system, stops))
        all_edges.append(edges)
    largest = max((source_size(entry, evidence.problem) for entry in sources), default=0)
    if evidence.problem.n_classes * largest**2 > _WHOLE:
        return None
    names = tuple(entry.name for entry in systems)
    fitting = costs.choice.errors.among(names).fitting
    tables = evidence.pairs(sources, all_edges)
    n_sources = _n_kept(tables, len(sources))
    kept = tuple(tables[pair] for pair in combinations(range(n_sources), 2))
    return JointBins(tuple(sources[:n_sources]), kept, fitting)


def _n_kept(tables: Mapping[tuple[int, int], PairCounts], n_sources: int) -> int:
    """How many sources there is room for, the first ones; two always."""
    # Fewer sources rather than coarser bins: bins must keep the cuts of the decisions exactly.
    added = [sum(tables[i, j].places.size for i in range(j)) for j in range(n_sources)]
    total = np.cumsum(added)
    n_fine = max(2, int(np.count_nonzero(total[:FEW_SOURCES] <= _CELLS)))
    n_all = int(np.count_nonzero(total <= _ALL_CELLS)) if n_fine == FEW_SOURCES else n_fine
    return min(n_sources, max(n_fine, n_all))


def source_size(source: DecisionSource, problem: Problem) -> int:
    """The number of bins of a source.

    Parameters
    ----------
    source : what systems decide by
    problem : the problem, whose decisions are the bins of a source without scores

    Returns
    -------
    the number of bins

    Examples
    --------
    >>> source = DecisionSource("net", False, None, np.array([4, 9]))
    >>> source_size(source, Problem.zero_one(3))
    2
    """
    return source.ends.size or problem.n_decisions


def pair_counts(
    truth: IntArray,
    weights: FloatArray | None,
    codes: Mapping[int, IntArray],
    sizes: Sequence[int],
    n_classes: int,
) -> dict[tuple[int, int], PairCounts]:
    """Cases (n,) of each class in bins of each pair of the sources that have codes.

    Parameters
    ----------
    truth : true classes, (n,)
    weights : what each case counts, (n,)
    codes : bins of the cases, (n,), by the position of the source
    sizes : how many bins each source has
    n_classes : how many classes there are

    Returns
    -------
    the counts by the positions of the two sources

    Examples
    --------
    >>> truth, codes = np.array([0, 1, 1]), {0: np.array([0, 1, 1]), 1: np.array([0, 0, 1])}
    >>> pairs = pair_counts(truth, None, codes, [2, 2], 2)
    >>> pairs[0, 1].places, pairs[0, 1].weights
    (array([0, 6, 7]), array([1., 1., 1.]))
    """
    pairs = {}
    for first, second in combinations(codes, 2):
        shape = n_classes, sizes[first], sizes[second]
        table = table_of(weights, [truth, codes[first], codes[second]], shape).ravel()
        places = np.flatnonzero(table)
        pairs[first, second] = PairCounts(places, table[places])
    return pairs


def _key(system: System, model: ModelQuality) -> tuple[str, bool, str | None]:
    """What a system decides by: model, whether recalibrated, and its name if it has no scores."""
    if system.rule in POSTERIOR_RULES and model.table_of(system.rule) is not None:
        return system.model, system.rule == RECALIBRATED, None
    return system.model, False, system.name


def _cuts(
    table: ScoreTable, model: str, recalibrated: bool, systems: tuple[System, ...]
) -> list[int]:
    """Positions in the table at which decisions of the report change; bins must end there."""
    positions: set[int] = set()
    below = np.concatenate([[0.0], table.weights.sum(axis=1).cumsum()])
    for system in systems:
        rules = (RECALIBRATED,) if recalibrated else (BAYES, MOVED)
        if system.model == model and system.rule in rules:
            for size in _runs(system):
                positions.add(int(np.argmin(np.abs(below - size))))
    return sorted(positions - {0, table.scores.size})


def _runs(system: System) -> Iterator[float]:
    """How many cases lie below each change of decision, with decisions ordered by score."""
    # Higher scores go with a larger share of the second class, which gives the order of decisions.
    cases = system.counts.values.sum(axis=0)
    tilt = system.counts.values[1] / np.maximum(cases, 1e-300)
    yield from np.cumsum(cases[np.argsort(tilt, kind="stable")])


def _stops(table: ScoreTable, most: int, cuts: list[int]) -> IntArray:
    """Ends of bins that divide both classes evenly, cuts included."""
    even = even_places(table, max(most - len(cuts), 2)) + 1
    inner = {*even.tolist(), *cuts} - {0, table.scores.size}
    return np.array([*sorted(inner), table.scores.size], dtype=np.intp)


def _raw(evidence: Evidence, model: str, *, recalibrated: bool) -> ScoreTable:
    """The table with all distinct scores, where that of the report is pooled."""
    tallied = evidence.model(model)
    table = tallied.recalibrated if recalibrated else tallied.table
    assert table is not None
    return table


def _edges(table: ScoreTable, stops: IntArray, raw: ScoreTable) -> FloatArray:
    """The highest score in every bin but the last, as cases have it."""
    below = table.weights.sum(axis=1).cumsum()[stops[:-1] - 1]
    # Weights are whole numbers here, so that half a case of slack absorbs rounding.
    place = np.searchsorted(raw.weights.sum(axis=1).cumsum(), below - 0.5)
    return np.asarray(raw.scores[place])
