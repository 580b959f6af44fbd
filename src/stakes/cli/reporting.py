"""The report of a file: from arrays, or from tallies where they would not fit into memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stakes.calibration import Calibrator
from stakes.cli.columns import Request, plan_for
from stakes.cli.loading import input_source, load_or_tally, working
from stakes.cli.wording import with_options
from stakes.evaluation import evaluate
from stakes.evaluation.conclusions import report_of
from stakes.evaluation.evidence import Evidence
from stakes.problem import Problem
from stakes.report import Report


def report_on(
    files: Sequence[str],
    problem: Problem,
    request: Request,
    *,
    limit: int,
    calibrator: Calibrator | None,
    posterior_prior: object = None,
    level: float = 0.95,
    replicates: int = 2000,
    seed: int = 0,
) -> Report:
    """What the predictions in files cost; columns beyond the limit stay inside the engine."""
    asked: dict[str, Any] = {"posterior_prior": posterior_prior, "calibrator": calibrator}
    drawing: dict[str, Any] = {"level": level, "replicates": replicates, "seed": seed}
    with input_source(files) as source:
        plan = plan_for(source, problem, request)
        data = load_or_tally(source, problem, plan, limit=limit, **asked)
    if isinstance(data, Evidence):
        rng = np.random.default_rng(seed)
        return with_options(report_of(data, **drawing, rng=rng))
    given = {name: getattr(data, name) for name in ("weights", "by", "cluster")}
    with working("evaluating", len(data.truth), steps=False):
        report = evaluate(data.truth, data.models, problem, **given, **asked, **drawing)
    return with_options(report)
