"""Decisions on lazy frames, for tests of every engine: each check takes a maker of frames."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

pytest.importorskip("narwhals")

import narwhals.stable.v2 as nw

from stakes import Posteriors, Problem, Rule, Scores, bayes_decisions
from stakes.calibration import (
    Affine,
    BetaMap,
    FullAffine,
    Histogram,
    Identity,
    Isotonic,
    Logistic,
    OneVsRestIsotonic,
    Temperature,
    VectorScaling,
)
from stakes.scoring import EqualWidth

Make = Callable[[dict[str, Any]], Any]

N = 400
RNG = np.random.default_rng(61)
P = np.concatenate([RNG.random(N - 5).round(2), [0.0, 1.0, 0.1, 0.3, 3 / 28]])
SOFT = RNG.dirichlet(np.ones(3), N)
Y = RNG.random(N) < P
ROWS: dict[str, Any] = {
    "place": np.arange(N),
    "p": P,
    "well": 1 - P,
    "ill": P,
    "single": P.astype(np.float32),
    "s": np.round(8 * P - 3, 1),
    "t_0": SOFT[:, 0],
    "t_1": SOFT[:, 1],
    "t_2": SOFT[:, 2],
    "amount": RNG.integers(1, 60, N).astype(float),
    "fee": RNG.random(N).round(3),
    "did": np.where(RNG.random(N) < 0.5, "wait", "treat").tolist(),
}
TWO = Problem.binary(false_alarm=1, miss=9, classes=["well", "ill"], decisions=["wait", "treat"])
CHARGED = Problem(
    {
        "well": {"wait": 0, "ask": "fee + 1", "treat": "max(3, 0.1*amount)"},
        "ill": {"wait": "where(amount > 30, amount, 30)", "ask": 4, "treat": "min(fee, 0.5)"},
    }
)
# Tied at 0.3, which single precision rounds up.
TIED = Problem([[0, "3 + 0*fee"], ["7 + 0*amount", 0]])


@dataclass(frozen=True)
class Case:
    """A problem, the columns of its posteriors, and the same as an array."""

    problem: Problem
    columns: Any
    posteriors: Any
    charged: bool = False


CASES = {
    "two classes": Case(TWO, "p", P),
    "columns called as the classes": Case(TWO, None, np.column_stack([1 - P, P])),
    "three decisions": Case(Problem([[0, 3, 25], [180, 8, 0]]), "p", P),
    "three classes, whole labels": Case(
        Problem([[0, 3], [2, 0], [7, 1]], decisions=[5, 6]), ["t_0", "t_1", "t_2"], SOFT
    ),
    "single precision": Case(Problem.binary(false_alarm=3, miss=7), "single", P.astype(np.float32)),
    "costs of every case": Case(CHARGED, "p", P, charged=True),
    "costs of every case, single precision": Case(
        TIED, "single", P.astype(np.float32), charged=True
    ),
    "costs of every case, both columns": Case(
        CHARGED, None, np.column_stack([1 - P, P]), charged=True
    ),
}


def decisions(frame: Any) -> list[Any]:
    rows = nw.from_native(frame).lazy().sort("place").collect()
    return [None if decision != decision else decision for decision in rows["decision"].to_list()]


def check_bayes_decisions(make: Make, name: str) -> None:
    case = CASES[name]
    data = {name: ROWS[name] for name in ("amount", "fee")} if case.charged else None
    posteriors = Posteriors(case.posteriors, classes=case.problem.classes)
    if case.posteriors.ndim == 1:
        posteriors = case.posteriors
    expected = bayes_decisions(posteriors, case.problem, data=data)
    assert len(set(expected.tolist())) > 1
    decided = bayes_decisions(make(ROWS), case.problem, columns=case.columns)
    assert type(decided) is type(make(ROWS))
    assert decisions(decided) == expected.tolist()


MAP = Isotonic().fit(P, Y).relabelled(TWO.classes)
LINE = Logistic().fit(Scores(ROWS["s"]), Y).relabelled(TWO.classes)
Y3 = (RNG.random(N)[:, None] > SOFT.cumsum(axis=1)).sum(axis=1)
THREE = Problem(
    [[0, "fee"], ["0.2*amount", 1], [7, "fee + 1"]], classes=["a", "b", "c"], decisions=[5, 6]
)
PRIOR = [0.2, 0.3, 0.5]
OF_TWO: dict[str, Any] = {
    "affine": Affine(),
    "beta": BetaMap(),
    "temperature": Temperature(),
    "vector": VectorScaling(),
    "full affine": FullAffine(),
    "histogram": Histogram(EqualWidth(5)),
    "isotonic": Isotonic(),
    "one vs rest": OneVsRestIsotonic(),
    "identity": Identity(),
}
OF_THREE = {
    name: OF_TWO[name]
    for name in ("affine", "temperature", "vector", "full affine", "one vs rest", "identity")
}
MOVED: dict[str, Any] = {"from_prior": [0.5, 0.5], "to_prior": [0.9, 0.1]}
RULES: dict[str, tuple[Rule, Any, Any]] = {
    "posteriors": (Rule(TWO), "p", P),
    "a threshold on scores": (Rule(TWO, "scores", threshold=0.7), "s", ROWS["s"]),
    "an isotonic map": (Rule(TWO, map=MAP), "p", P),
    "a line of scores": (Rule(TWO, "scores", map=LINE), "s", ROWS["s"]),
    "moved posteriors": (Rule(TWO, **MOVED), "p", P),
    "moved posteriors and costs of every case": (Rule(CHARGED, **MOVED), "p", P),
    "decisions": (Rule(TWO, "decisions"), "did", ROWS["did"]),
    "a line of scores and costs of every case": (
        Rule(CHARGED, "scores", map=LINE),
        "s",
        ROWS["s"],
    ),
    **{
        f"{name}, costs of every case": (
            Rule(CHARGED, map=calibrator.fit(P, Y, prior=[0.7, 0.3]).relabelled(TWO.classes)),
            "p",
            P,
        )
        for name, calibrator in OF_TWO.items()
    },
    **{
        f"{name}, three classes": (
            Rule(THREE, map=calibrator.fit(SOFT, Y3, prior=PRIOR).relabelled(THREE.classes)),
            ["t_0", "t_1", "t_2"],
            SOFT,
        )
        for name, calibrator in OF_THREE.items()
    },
}


def check_rule(make: Make, what: str) -> None:
    rule, column, values = RULES[what]
    data = {name: ROWS[name] for name in ("amount", "fee")} if rule.problem.columns else None
    expected = rule.decide(values, data)
    assert len(set(expected.tolist())) > 1
    assert decisions(rule.decide(make(ROWS), columns=column)) == expected.tolist()


def check_gaps_have_no_decision(make: Make) -> None:
    rows = {"place": [0, 1, 2, 3], "p": [0.05, None, math.nan, 7.0]}
    assert decisions(bayes_decisions(make(rows), TWO, columns="p")) == ["wait", None, None, None]
    both = {"place": [0, 1, 2], "well": [0.5, 0.5, 0.891], "ill": [0.5, 0.6, 0.098]}
    assert decisions(bayes_decisions(make(both), TWO)) == ["treat", None, "wait"]
