"""Write docs/claims.md: every claim of the papers, what computes it, and the tests that check it.

A test checks a claim when its name carries the claim's id: ``test_E8_…``, or ``test_E5_E6_…`` for
two. Run ``python docs/claims.py`` after adding such a test; the suite fails while the table is old.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs" / "claims.md"

PAPERS = {
    "E": "Expected cost (ferrer-ec)",
    "A": "Metrics over many confusion matrices (ferrer-analysis)",
    "K": "Multi-class goodness of fit (itai-katz)",
    "D": "Utilities (dyrland)",
    "H": "Threshold choice and expected loss (hernandez-orallo)",
}

CLAIMS = {
    "E1": "The mean cost over cases is the sum over classes and decisions of cost × prior × rate.",
    "E2": "Priors of the deployment replace the shares of the data; the rates within classes stay.",
    "E3": "Utilities are costs with the sign changed; regrets rank systems as the costs do.",
    "E4": "Decisions need not be classes: tables may be wider or narrower than square.",
    "E5": "Normalised cost is 0 for perfect and 1 for naive decisions, whatever the costs.",
    "E6": "For two classes the normalised cost depends on the costs and the prior by one ratio.",
    "E7": "Error rate and balanced error rate are expected costs.",
    "E8": "The Bayes decision has the least expected cost; the first one wins a tie.",
    "E9": "Under 0-1 costs the Bayes decision is the most probable class.",
    "E10": "For two classes the Bayes decision is a threshold on the posterior or its log-odds.",
    "E11": "Abstaining at cost α pays when every posterior lies below 1 − α.",
    "E12": "1 − F-beta is an expected cost divided by a term that moves with the decisions.",
    "E13": "The best F-beta of a system that does not look at the case has a closed form.",
    "E14": "MCC is one minus the balanced normalised cost, times a factor that moves.",
    "E15": "Macro F has two meanings, and both are offered under names of their own.",
    "E16": "Net benefit is a normalised cost, shifted and scaled, and its threshold is its cost.",
    "E17": "LR+ is 1 + (1 − balanced normalised cost) / false-alarm rate.",
    "E18": "Calibrated Bayes decisions err no more than the EER and either prior.",
    "E19": "The threshold that is best for a metric tells which costs the metric implies.",
    "E20": "Curves of metrics over thresholds, and the costs implied by their optima.",
    "E21": "Costs of naive, most-probable and Bayes decisions under five cost matrices.",
    "E22": "The simulator draws nearest-integer class counts and knows the exact posteriors.",
    "E23": "Calibration can be assessed and mended.",
    "A1": "Nine metrics of 21 systems; the cost-1.5 column was printed for a cost of √2.",
    "A2": "Expected costs against MCC and F1 over all binary confusion matrices.",
    "A3": "The normalised balanced cost is the sum of the error rates, divided by K − 1.",
    "K0": "The test of 50,000 people: 490 false alarms, a third of the detected are healthy.",
    "K1": "The power mean, from the minimum through harmonic and geometric to the maximum.",
    "K2": "General F1 and Fowlkes-Mallows: a mean within each class, an average over classes.",
    "K3": "The F1 of the negative class is the harmonic mean of specificity and NPV.",
    "K4": "The power mean of sensitivity, precision, specificity and NPV.",
    "K5": "The determinant of the matrix of geometric means generalises MCC.",
    "K6": "That determinant is MCC for 2 × 2, bounded by one, and blind to relabelling.",
    "K7": "The determinant of the worked example is 0.225669.",
    "K8": "Cramér's φ, which is the absolute MCC for 2 × 2.",
    "K9": "Any binary metric averaged over all pairs of classes.",
    "K10": "A metric is suitable when it has five properties; a failing one gets a witness.",
    "K11": "A determinant of ±1 means a perfect relabelling, which is named.",
    "K12": "Additive smoothing of a table of counts.",
    "K13": "General F1 and Cramér's φ of the worked example; both are 1 on the identity.",
    "D1": "Seven metrics of classifiers A and B.",
    "D2": "Utility yields of A and B, in the factory and in the hospital.",
    "D3": "Maximising expected utility is the Bayes decision.",
    "D4": "An affine change of utilities ranks alike; utilities rescale to [0, 1].",
    "D5": "A binary utility matrix is a point of a hexagon.",
    "D6": "A metric complies only if it ranks as one linear function of the counts does.",
    "D7": "Metrics against yields for random confusion matrices.",
    "D8": "With unknown utilities, use their expectation; symmetric ignorance gives accuracy.",
    "D9": "How often each metric ranks a pair of classifiers wrongly.",
    "D10": "The same for wrongly assessed utilities, over the size of the error.",
    "D11": "The best ROC point is where the tangent has the slope that the costs demand.",
    "D12": "Utilities that differ from case to case accumulate.",
    "H1": "A fixed threshold leads to a weighted 0-1 loss.",
    "H2": "A fixed rate of positive decisions, realised by interpolation.",
    "H3": "Uniformly drawn thresholds lead to the mean absolute error.",
    "H4": "Score-driven thresholds under uniform costs lead to the Brier score.",
    "H5": "Uniformly drawn rates lead to AUC.",
    "H6": "Rate-driven thresholds lead to AUC too, one sixth lower.",
    "H7": "Optimal thresholds lead to the refinement loss of the convex hull.",
    "H8": "The Brier score is calibration loss plus refinement loss, bin by single score.",
    "H9": "Evenly spaced scores tie Brier score, MAE and AUC together.",
    "H10": "For calibrated scores Brier score, half MAE and refinement loss agree.",
    "H11": "Isotonic calibration is the convex hull, and best for every proper score.",
    "H12": "The order of the expected losses, and their values for a perfect ranking.",
    "H13": "Models A and B under the threshold-choice methods.",
    "H14": "Which metric belongs to which method; the other names of AUC.",
    "H15": "The area under each loss curve is its expected loss.",
    "H16": "Hand's H with any distribution of costs.",
    "H17": "Cost and skew versions agree for equal classes; random cost magnitudes.",
    "H18": "Any distribution of operating conditions, exactly and piece by piece.",
    "H19": "Convex models, and the three transformations that make scores so.",
}

# Where the library has what a claim is about, in the order in which a reader would look.
FUNCTIONS = {
    "E1": "measures.expected_cost",
    "E2": "measures.expected_cost Problem.with_prior",
    "E3": "Problem.from_utilities Problem.regret",
    "E4": "Problem measures.expected_cost",
    "E5": "measures.normalized_cost measures.naive_cost measures.perfect_cost",
    "E6": "measures.normalized_cost",
    "E7": "measures.error_rate measures.balanced_error_rate",
    "E8": "decide.bayes_decisions",
    "E9": "decide.bayes_decisions Problem.zero_one",
    "E10": "Problem.threshold Problem.log_odds_threshold",
    "E11": "Problem.with_abstention",
    "E12": "measures.f_beta",
    "E13": "measures.best_naive_f_beta",
    "E14": "measures.mcc",
    "E15": "measures.macro_f_beta measures.f_beta_of_averages",
    "E16": "measures.net_benefit curves.decision_curve",
    "E17": "measures.likelihood_ratio_positive",
    "E18": "ranking.equal_error_rate curves.detection_error_tradeoff",
    "E19": "audit.implied_costs",
    "E20": "audit.implied_costs thresholds.best_threshold",
    "E21": "measures.naive_cost decide.bayes_decisions measures.normalized_cost",
    "E22": "simulate.gaussian_classes",
    "E23": "calibration.cost_of_miscalibration calibration.cross_calibrate",
    "A1": "measures.normalized_cost measures.mcc measures.f_beta",
    "A2": "measures.normalized_cost measures.mcc measures.f_beta",
    "A3": "measures.normalized_cost Problem.balanced",
    "K0": "measures.precision measures.recall",
    "K1": "agreement.power_mean",
    "K2": "agreement.general_f1 agreement.general_fowlkes_mallows",
    "K3": "agreement.f1_of_negatives",
    "K4": "agreement.mean_of_four_rates",
    "K5": "agreement.association_matrix agreement.determinant_mcc",
    "K6": "agreement.determinant_mcc",
    "K7": "agreement.determinant_mcc",
    "K8": "agreement.cramers_phi",
    "K9": "agreement.pairwise agreement.all_against_all",
    "K10": "audit.suitability",
    "K11": "agreement.perfect_relabelling",
    "K12": "Counts.smoothed",
    "K13": "agreement.general_f1 agreement.cramers_phi",
    "D1": "audit.disagreement",
    "D2": "measures.utility_yield",
    "D3": "decide.bayes_decisions",
    "D4": "Problem.is_affine_of Problem.rescaled",
    "D5": "audit.utility_coordinates audit.utilities_at",
    "D6": "audit.compliance",
    "D7": "simulate.random_confusion audit.against_yield",
    "D8": "Problem.expected audit.UniformUtilities",
    "D9": "audit.misranking audit.exact_misranking",
    "D10": "audit.misranking",
    "D11": "thresholds.best_threshold",
    "D12": "metrics.expected_cost Problem.by_case",
    "H1": "thresholds.ScoreFixed",
    "H2": "thresholds.RateFixed",
    "H3": "thresholds.ScoreUniform scoring.mean_absolute_error",
    "H4": "thresholds.ScoreDriven scoring.brier",
    "H5": "thresholds.RateUniform ranking.auc",
    "H6": "thresholds.RateDriven ranking.auc",
    "H7": "thresholds.Optimal scoring.refinement_loss",
    "H8": "scoring.calibration_loss scoring.refinement_loss",
    "H9": "ranking.evenly_spaced ranking.midpoint_spaced",
    "H10": "ranking.isotonic scoring.refinement_loss",
    "H11": "calibration.Isotonic ranking.roc_hull",
    "H12": "thresholds.expected_loss",
    "H13": "curves.rate_driven_curve",
    "H14": "ranking.auc ranking.mann_whitney_u ranking.gini ranking.kendall_distance",
    "H15": "curves.cost_curve curves.brier_curve curves.rate_driven_curve curves.optimal_curve",
    "H16": "thresholds.h_measure",
    "H17": "conditions.CostProportions conditions.Skews",
    "H18": "thresholds.expected_loss conditions.Mixture",
    "H19": "ranking.is_convex ranking.convexified",
}


def ids_in(test_name: str) -> list[str]:
    """Read E5 and E6 from ``test_E5_E6_normalised_cost``."""
    match = re.match(r"test((?:_[EAKDH]\d+)+)(?=_|$)", test_name)
    return match.group(1).strip("_").split("_") if match else []


def tests_by_claim(folder: Path) -> dict[str, list[str]]:
    """Map each id to the tests that carry it, as ``path::function``, in order."""
    tests: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                for claim in ids_in(node.name):
                    place = f"{path.relative_to(folder.parent).as_posix()}::{node.name}"
                    tests.setdefault(claim, []).append(place)
    return {claim: sorted(places) for claim, places in tests.items()}


def written(tests: dict[str, list[str]]) -> str:
    """Return the page: one table per paper, one row per claim."""
    lines = [
        "<!-- Written by docs/claims.py; do not edit. -->",
        "# Claims, functions and tests",
        "",
        f"Tests check {len(tests)} of {len(CLAIMS)} claims.",
    ]
    for letter, title in PAPERS.items():
        lines += ["", f"## {title}", "", "| id | claim | function | tests |", "|---|---|---|---|"]
        for claim, statement in CLAIMS.items():
            if claim[0] == letter:
                functions = "<br>".join(f"`stakes.{name}`" for name in FUNCTIONS[claim].split())
                checks = "<br>".join(f"`{test}`" for test in tests.get(claim, ()))
                lines.append(f"| {claim} | {statement} | {functions} | {checks} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    TABLE.write_text(written(tests_by_claim(ROOT / "tests")), encoding="utf-8")
    print(f"{TABLE.relative_to(ROOT)} is up to date")
