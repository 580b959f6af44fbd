"""Their call and ours, both executed where the other package is installed.

    python benchmarks/migration.py            # every package that this environment has
    python benchmarks/migration.py scores     # one of them

Prints the difference of the two results, row by row; `docs/comparison.md` has the same calls, and
a test compares the two. Packages disagree about their dependencies: install each in a separate
environment, with numpy and scipy, and put ``src`` on the path.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

import stakes
from stakes import Counts, Problem, ScoreTable


class PeerError(Exception):
    """What the call of the other package raises, in one line."""


class Move(NamedTuple):
    """One call of another package and what to write instead."""

    package: str
    theirs: str
    ours: str


OURS = (
    "from stakes import calibration, measures, metrics, scoring; "
    "from stakes.conditions import Beta, CostProportions, net_benefit_from_cost"
)
# Package → how it is called in the table below.
IMPORTS = {
    "scikit-learn": "import sklearn.metrics as sk",
    "empulse": "import empulse.metrics as em",
    "hmeasure": "import hmeasure as hm",
    "dcurves": "import pandas as pd; from dcurves import dca; "
    "frame = pd.DataFrame({'y': y.astype(bool), 'p': p})",
    "model-diagnostics": "import model_diagnostics.scoring as md",
    "scores": "import xarray as xr; from scores import categorical, probability; "
    "fcst, obs, risk = (xr.DataArray(x, dims='case') for x in (d, y, p))",
    "expected_cost": "from expected_cost import ec; costs = ec.CostMatrix([[0, 1], [9, 0]])",
    "torchmetrics": "import torch; import torchmetrics.functional as tm; "
    "scores, truth, decided = (torch.as_tensor(x) for x in (p, y, d))",
    "NannyML": "import pandas as pd, nannyml; frame = pd.DataFrame({'y': y, 'd': d, 'p': p}); "
    "calculator = nannyml.PerformanceCalculator(metrics=['business_value'], y_true='y', "
    "y_pred='d', y_pred_proba='p', problem_type='classification_binary', chunk_size=1000, "
    "business_value_matrix=[[0, -1], [-9, 0]])",
}

_PER_CASE = "metrics.expected_cost(y, d, problem=problem)"
_AT_HOME = "metrics.expected_cost(y, d, problem=problem.with_prior([0.98, 0.02]))"
MOVES = [
    Move("scikit-learn", "sk.accuracy_score(y, d)", "measures.accuracy(counts)"),
    Move("scikit-learn", "sk.balanced_accuracy_score(y, d)", "measures.balanced_accuracy(counts)"),
    Move("scikit-learn", "sk.f1_score(y, d)", "measures.f_beta(counts, 1)[1]"),
    Move("scikit-learn", "sk.matthews_corrcoef(y, d)", "measures.mcc(counts)"),
    Move("scikit-learn", "sk.confusion_matrix(y, d)", "Counts.from_labels(y, d).values"),
    Move("scikit-learn", "sk.roc_auc_score(y, p)", "stakes.auc(table)"),
    Move("scikit-learn", "sk.brier_score_loss(y, p)", "scoring.brier(table)"),
    Move("scikit-learn", "sk.log_loss(y, p)", "scoring.log_loss(table)"),
    Move("empulse", "em.cost_loss(y, d, fp_cost=1, fn_cost=9)", f"len(y) * {_PER_CASE}"),
    Move(
        "empulse",
        "em.savings_score(y, d, fp_cost=1, fn_cost=9)",
        "1 - measures.normalized_cost(counts, problem)",
    ),
    Move(
        "empulse",
        "em.savings_score(y, d, fp_cost=2, fn_cost=amount)",
        "1 - metrics.normalized_cost(y, d, problem=Problem([[0, 2], ['amount', 0]]), "
        "data={'amount': amount})",
    ),
    Move("hmeasure", "hm.h_score(y, p)", "stakes.h_measure(table, Beta.severity(counts.shares))"),
    Move(
        "hmeasure",
        "hm.h_score(y, p, severity_ratio=1 / 9)",
        "stakes.h_measure(table, Beta(2, 10))",
    ),
    Move(
        "dcurves",
        "dca(frame, 'y', ['p'], thresholds=[0.1]).query('model == \"p\"').net_benefit",
        "metrics.clinical_table(y, d, problem)['net benefit'].value",
    ),
    Move(
        "dcurves",
        "dca(frame, 'y', ['p'], thresholds=[0.1], prevalence=0.02)"
        ".query('model == \"p\"').net_benefit",
        "metrics.clinical_table(y, d, problem.with_prior([0.98, 0.02]))['net benefit'].value",
    ),
    Move(
        "dcurves",
        "dca(frame, 'y', ['p'], thresholds=[0.1], harm={'p': 0.01})"
        ".query('model == \"p\"').net_benefit",
        "net_benefit_from_cost(stakes.evaluate(y, {'p': p}, Problem.from_threshold(0.1), "
        "calibrator=None, running_costs={'p': 0.01 * (1 - 0.1)}).best.cost.value, 0.1, "
        "prevalence=y.mean())",
    ),
    Move("model-diagnostics", "md.LogLoss()(y, p)", "scoring.log_loss(table)"),
    Move(
        "model-diagnostics",
        "md.decompose(y, p, scoring_function=md.SquaredError())['miscalibration'][0]",
        "calibration.decompose(table, scoring.HalfBrier()).miscalibration",
    ),
    Move(
        "model-diagnostics",
        "md.ElementaryScore(eta=0.3, functional='mean')(y, p)",
        "stakes.ScoreDriven().loss_curve(table, CostProportions)(0.3) / 2",
    ),
    Move("scores", "categorical.probability_of_detection(fcst, obs)", "measures.recall(counts)[1]"),
    Move(
        "scores",
        "categorical.probability_of_false_detection(fcst, obs)",
        "1 - measures.specificity(counts)[1]",
    ),
    Move("scores", "probability.brier_score(risk, obs)", "scoring.brier(table)"),
    Move("scores", "probability.roc_auc(risk, obs)", "stakes.auc(table)"),
    Move(
        "scores",
        "probability.murphy_score(risk, obs, [0.3], functional='expectile', alpha=0.5).total",
        "stakes.ScoreDriven().loss_curve(table, CostProportions)(0.3) / 4",
    ),
    Move(
        "scores",
        "categorical.relative_economic_value(fcst, obs, cost_loss_ratios=[0.1])",
        "1 - measures.normalized_cost(counts, problem)",
    ),
    Move(
        "expected_cost",
        "ec.average_cost(y, d, costs, priors=np.array([[0.98], [0.02]]))",
        _AT_HOME,
    ),
    Move(
        "expected_cost",
        "ec.average_cost(y, d, costs, adjusted=True)",
        "measures.normalized_cost(counts, problem)",
    ),
    Move(
        "expected_cost",
        "ec.bayes_decisions(np.stack([1 - p, p], 1), costs, score_type='posteriors')[0]",
        "stakes.bayes_decisions(p, problem)",
    ),
    Move("torchmetrics", "tm.auroc(scores, truth, task='binary')", "stakes.auc(table)"),
    Move(
        "torchmetrics",
        "tm.confusion_matrix(decided, truth, task='binary')",
        "Counts.from_labels(y, d).values",
    ),
    Move(
        "torchmetrics",
        "tm.matthews_corrcoef(decided, truth, task='binary')",
        "measures.mcc(counts)",
    ),
    Move(
        "NannyML",
        "calculator.fit(frame).calculate(frame).to_df()['business_value']['value'].iloc[0]",
        f"-len(y) * {_PER_CASE}",
    ),
]


def cases() -> dict[str, Any]:
    """A thousand rows with distinct scores and an amount, one in seven of them positive."""
    rng = np.random.default_rng(1884)
    y = (rng.random(1000) < 0.15).astype(int)
    log_odds = rng.normal(np.where(y == 1, 1.0, -1.0), np.sqrt(2)) + np.log(0.15 / 0.85)
    p = 1 / (1 + np.exp(-log_odds))
    problem = Problem.binary(false_alarm=1, miss=9)
    d = np.asarray(stakes.bayes_decisions(p, problem))
    return {
        "y": y,
        "p": p,
        "d": d,
        "problem": problem,
        "counts": Counts.from_decisions(y, d, problem),
        "table": ScoreTable.from_scores(y, p, positive=1),
        "amount": rng.lognormal(1, 1, 1000).round(2),
    }


def difference(move: Move) -> float:
    """The largest relative difference between the results of the two calls.

    >>> difference(Move("nobody", "1 - y.mean()", "counts.shares[0]"))
    0.0
    """
    names: dict[str, Any] = {**globals(), **cases()}
    exec(OURS, names)
    try:
        exec(IMPORTS.get(move.package, ""), names)
        theirs = np.asarray(eval(move.theirs, names), dtype=float)
    except ImportError:
        raise
    except Exception as error:
        raise PeerError(f"{type(error).__name__}: {error}") from error
    ours = np.asarray(eval(move.ours, names), dtype=float)
    return float(np.max(np.abs(ours - theirs) / np.maximum(1e-300, np.abs(theirs)).max()))


def main(wanted: list[str]) -> None:
    """Print what this environment can execute."""
    print("| package | their call | ours | relative difference |\n|---|---|---|---|")
    for move in MOVES:
        if wanted and move.package not in wanted:
            continue
        try:
            result = f"{difference(move):.0e}"
        except ImportError as missing:
            result = f"not executed: {missing}"
        except PeerError as error:
            result = f"failed: {error}"
        print(f"| {move.package} | `{move.theirs}` | `{move.ours}` | {result} |")


if __name__ == "__main__":
    main(sys.argv[1:])
