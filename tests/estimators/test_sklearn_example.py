"""Breast cancer, from estimators to a report to a rule, in fifteen lines."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import numpy as np
from numpy.testing import assert_array_equal

EXAMPLE = Path(__file__).parents[2] / "examples" / "breast_cancer.py"


def test_breast_cancer_goes_from_estimators_to_a_rule_in_fifteen_lines(capsys):
    source = EXAMPLE.read_text(encoding="utf-8")
    body = ast.parse(source).body[1:]
    lines = {line for node in body for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    assert len(lines) == 15
    names = runpy.run_path(str(EXAMPLE))
    text = capsys.readouterr().out
    assert "Costs are those of procedures, not of one fitted model" in " ".join(text.split())
    assert "Rule of line" in text
    report, clf, X, y = (names[name] for name in ("report", "clf", "X", "y"))
    assert report.verdict.model == "line"
    decided = clf.predict(X)
    assert set(decided) == {"operate", "biopsy", "discharge"}
    costs = clf.rule_.problem.costs
    paid = costs[y, [clf.rule_.problem.decisions.index(decision) for decision in decided]]
    assert np.mean(paid) == -clf.score(X, y)
    assert np.mean(paid) < report.naive.cost / 3
    assert_array_equal(clf.classes_, [0, 1])
