"""Sections 3.2 and 4. The worked examples with three classes, and the printed program."""

from __future__ import annotations

from itai_katz.as_printed import as_program, cramer_as_printed
from itai_katz.metrics import METRICS
from page import ROUNDING, Page

from stakes import Counts
from stakes.agreement import association_matrix, perfect_relabelling


def build(page: Page) -> None:
    """Metrics of the paper's tables, and what its program computes instead of det M."""
    paper, wrong = page.printed, page.printed["misprint"]
    names = "program", "avoids_a_class", "permutation", "identity"
    tables = {name: Counts(paper[name]) for name in names}
    value = {metric: [of(c) for c in tables.values()] for metric, of in METRICS.items()}
    page.table(
        {
            "table": [str(counts.values.astype(int).tolist()) for counts in tables.values()],
            **value,
            "perfect relabelling": [perfect_relabelling(c) or "–" for c in tables.values()],
        },
        decimals=6,
    )
    det, avoids = dict(zip(tables, value["det M"], strict=True)), "the table that avoids a class"
    print_, here = paper["determinant"], det["avoids_a_class"]
    reason = {"misprint": wrong["determinant"], "right": paper["right"]["determinant"]}
    page.compare(f"det M of {avoids}", print_, here, decimals=3, **reason)
    page.equal("1 for the identity, by every metric", [of[-1] for of in value.values()], 1)
    page.equal("det M is 1 for a permutation too", det["permutation"], 1)
    words, shown = (
        "det M is 1 only for the perfect test",
        f"{det['permutation']:g} for a permutation",
    )
    page.claim(words, shown, abs(det["permutation"] - 1) > ROUNDING, misprint=wrong["only"])
    phi, true = cramer_as_printed(tables["program"].values), value["Cramér's φ"][0]
    words = f"Cramér's φ as printed, {phi:.5f}, is that of the program, {true:.4f}"
    page.equal(words, phi, true, misprint=wrong["cramer"])
    ran = {name: as_program(tables[name].values) for name in ("program", "avoids_a_class")}
    words = f"the printed program, {ran['program']:.6f}, computes det M, {det['program']:.6f}"
    page.equal(words, ran["program"], det["program"], misprint=wrong["program"])
    page.check_equal(f"the printed program does so for {avoids}", ran["avoids_a_class"], here)
    m = association_matrix(tables["program"], mean=0)
    page.equal("M is symmetric", m, m.T, misprint=wrong["symmetric"])
