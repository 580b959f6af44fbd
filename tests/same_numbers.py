"""The same reports with another Python: every number, sentence and table of their JSON.

``python tests/same_numbers.py FILE`` makes sixteen reports (those of ``report_kinds``, and larger
ones with calibrators, many models, ties, weights and clusters) and writes them to FILE. Run again
with another Python, or with other versions of numpy and scipy, it compares what it makes with FILE:
text must be equal, and numbers must agree to seven digits, or it fails. It needs no more than numpy
and scipy.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from report_kinds import BINARY, KINDS, WIDE
from stakes import Decisions, Posteriors, Problem, Report, Scores, evaluate
from stakes.calibration import BetaMap, Isotonic, Temperature

AGREE = 1e-7  # relative; searches by steps, such as calibrators, end within less of their optimum
MADE_BY = ("version", "python", "numpy", "scipy", "checksum")  # what may differ


def _larger() -> Iterator[tuple[str, Report]]:
    rng = np.random.default_rng(7)
    n = 1200
    y = (rng.random(n) < 0.2).astype(int)
    signal = rng.normal(2.0 * y - 1, 1.2)
    p = 1 / (1 + np.exp(-signal))
    labels, tied = np.array(WIDE.classes)[y], np.round(p, 1)
    weights, patients = rng.integers(1, 9, n) / 4, rng.integers(0, 90, n)
    three = rng.integers(0, 3, n)
    sharp = np.exp(rng.normal(0, 1, (n, 3)) + 2 * np.eye(3)[three])
    sharp /= sharp.sum(axis=1, keepdims=True)
    costs = Problem([[0, 1, 4, 2], [3, 0, 3, 2], [9, 5, 0, 2]], prior=[0.6, 0.3, 0.1])
    yield "ties and weights", evaluate(labels, tied, WIDE, weights=weights, calibrator=None)
    yield "isotonic", evaluate(labels, {"p": p, "q": tied}, WIDE, calibrator=Isotonic())
    yield "beta", evaluate(y, {"p": p, "q": tied}, BINARY, calibrator=BetaMap(), clusters=patients)
    yield "chosen", evaluate(y, {"p": p, "s": Scores(signal)}, BINARY, volume=1e6, period="year")
    yield "four decisions", evaluate(three, Posteriors(sharp), costs, calibrator=Temperature())
    yield "sites", evaluate(three, sharp, costs, by={"site": patients % 7}, calibrator=None)
    many = {f"m{k}": Decisions((p > k / 30).astype(int)) for k in range(1, 25)}
    yield "many models", evaluate(y, many, BINARY, calibrator=None)
    few = {"p": p, "q": Decisions(signal > 0.5)}
    yield "few clusters", evaluate(y, few, BINARY, clusters=patients % 6, calibrator=None)


def sixteen() -> dict[str, Any]:
    """The reports, as JSON would hold them."""
    reports = {**{name: make() for name, make in KINDS.items()}, **dict(_larger())}
    return {name: json.loads(report.to_json()) for name, report in reports.items()}


def differences(old: Any, new: Any, path: str = "") -> Iterator[tuple[float, str]]:
    """How far numbers are from each other, relative to the larger, and infinity of all else."""
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        for key in old.keys() - MADE_BY:
            yield from differences(old[key], new[key], f"{path}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (first, second) in enumerate(zip(old, new, strict=True)):
            yield from differences(first, second, f"{path}[{place}]")
    elif old != new:
        numbers = all(type(value) in (int, float) for value in (old, new))
        gap = abs(old - new) / max(abs(old), abs(new), 1e-9) if numbers else inf
        yield gap, f"{path}: {old!r:.80} and {new!r:.80}"


def main(file: Path) -> int:
    """Write the reports, or compare them with those that are there."""
    here = f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}"
    reports = sixteen()
    if not file.exists():
        file.write_text(json.dumps({"by": here, "reports": reports}))
        print(f"{file}: {len(reports)} reports of {here}; run this again with another Python")
        return 0
    before = json.loads(file.read_text())
    gaps = sorted(differences(before["reports"], reports), reverse=True)
    for gap, where in [pair for pair in gaps if pair[0] > AGREE][:20]:
        print(f"{gap:.1e}  {where}")
    largest = f"the largest {gaps[0][0]:.1e}, {gaps[0][1]}" if gaps else "none of them"
    print(f"{before['by']} and {here}: {len(reports)} reports, {len(gaps)} differences, {largest}")
    return int(bool(gaps) and gaps[0][0] > AGREE)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
