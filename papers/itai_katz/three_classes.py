"""Sections 3.2 and 4. The worked examples with three classes, and the printed program."""

from __future__ import annotations

import numpy as np
from page import Page

from stakes import Counts
from stakes.agreement import (
    all_against_all,
    association_matrix,
    cramers_phi,
    determinant_mcc,
    general_f1,
    general_fowlkes_mallows,
    perfect_relabelling,
)
from stakes.measures import accuracy, mcc


def build(page: Page) -> None:
    """Metrics of the paper's tables."""
    print_ = page.printed
    examples = {name: Counts(print_[name]) for name in ("program", "avoids_a_class", "permutation")}
    examples["identity"] = Counts(np.eye(4))
    some = examples.values()
    page.table(
        {
            "table": [str(counts.values.astype(int).tolist()) for counts in some],
            "accuracy": [f"{accuracy(c):.4f}" for c in some],
            "general F1": [f"{general_f1(c, average=-1):.6f}" for c in some],
            "general FM": [f"{general_fowlkes_mallows(c, average=-1):.6f}" for c in some],
            "Cramér's φ": [f"{cramers_phi(c):.6f}" for c in some],
            "det M": [f"{determinant_mcc(c):.6f}" for c in some],
            "all against all, MCC": [f"{all_against_all(mcc, c, average=1):.4f}" for c in some],
            "perfect relabelling": [str(perfect_relabelling(c) or "–") for c in some],
        }
    )
    _compare(page, examples)


def _compare(page: Page, examples) -> None:
    print_ = page.printed
    det = {name: float(determinant_mcc(c)) for name, c in examples.items()}
    page.compare(
        "det M of the table that avoids a class",
        print_["determinant"],
        det["avoids_a_class"],
        decimals=3,
        misprint=print_["misprint"],
    )
    one = examples["identity"]
    three = [determinant_mcc(one), cramers_phi(one), general_f1(one, average=-1)]
    page.claim("1 for the identity, by all three", "yes", np.allclose(three, 1, atol=1e-12))
    page.claim(
        "1 for a permutation too", f"{det['permutation']:g}", abs(det["permutation"] - 1) < 1e-12
    )
    ran = as_program(examples["program"].values)
    page.claim(
        "the printed program computes det M",
        f"{ran:.6f}, not {det['program']:.6f}",
        abs(ran - det["program"]) < 1e-9,
        misprint=print_["misprint_program"],
    )
    other = as_program(examples["avoids_a_class"].values)
    page.check(
        "the printed program on the table that avoids a class",
        f"{other:.6f}",
        abs(other - det["avoids_a_class"]) < 1e-9,
    )
    m = association_matrix(examples["program"], mean=0)
    page.claim(
        "M is symmetric",
        f"off by {np.abs(m - m.T).max():.2f}",
        np.allclose(m, m.T),
        misprint=print_["misprint_symmetric"],
    )


def as_program(a) -> float:
    """What the program of section 4 does: pandas matches the sums of rows with columns."""
    m1, m2 = a / a.sum(axis=1), a / a.sum(axis=0)
    return float(np.linalg.det(np.sqrt(m1 * m2.T)))
