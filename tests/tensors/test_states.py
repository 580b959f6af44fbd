"""States of modules stay what they are: not shared, rounded, kept from before, or mixed up."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy
from torchmetrics import MetricCollection

from stakes import InputError, Problem, ScoreTable, best_threshold, evaluate
from stakes.torch import (
    BayesCost,
    Evaluation,
    ExpectedCost,
    NormalizedCost,
    Scale,
    ScoreBins,
    bayes_decisions,
    counts,
    loss_moments,
    score_bins,
    score_table,
)

RNG = np.random.default_rng(23)
NINE, FOUR = (Problem.binary(false_alarm=1, miss=miss) for miss in (9, 4))
SURE = torch.tensor([0.01, 0.99]), torch.tensor([0, 1])  # both problems decide alike
BETWEEN = torch.tensor([0.15, 0.15]), torch.tensor([0, 1])  # here they do not
NOTHING = torch.tensor([]), torch.tensor([], dtype=torch.int64)


# Metrics in one collection -----------------------------------------------------------------------


@pytest.mark.parametrize("first", [SURE, NOTHING], ids=["a batch of ease", "an empty batch"])
def test_evaluations_of_two_problems_in_a_collection_have_their_own_costs(first):
    together = MetricCollection({"nine": Evaluation(NINE), "four": Evaluation(FOUR)})
    for batch in (first, BETWEEN):
        together.update(*batch)
    n_cases = len(first[0]) + 2
    values = together.compute()
    assert float(values["nine_expected_cost"]) == pytest.approx(1 / n_cases)
    assert float(values["four_expected_cost"]) == pytest.approx(4 / n_cases)


def test_costs_of_any_size_distinguish_rules():
    """torchmetrics takes states that differ by less than 1e-8 for equal."""
    small = {str(miss): Problem([[0, 1e-9], [miss * 1e-9, 0]]) for miss in (4, 9)}
    together = MetricCollection({name: BayesCost(problem) for name, problem in small.items()})
    together.update(*SURE)
    together.update(*BETWEEN)
    values = together.compute()
    assert float(values["9"]) == pytest.approx(0.25e-9)
    assert float(values["4"]) == pytest.approx(1e-9)


@pytest.mark.parametrize("first", [torch.tensor([-30.0, 30.0]), torch.tensor([])])
def test_bins_of_other_scales_in_a_collection_are_their_own(first):
    truth = torch.tensor([0, 1])
    together = MetricCollection(
        {"any": ScoreBins(Scale.SCORES), "odds": ScoreBins(Scale.LOGITS)}, prefix=""
    )
    together.update(first, truth[: len(first)])
    together.update(torch.tensor([0.15, -0.3]), truth)
    assert len(together.compute_groups) == 2
    alone = score_bins(
        torch.cat([first, torch.tensor([0.15, -0.3])]),
        torch.cat([truth[: len(first)], truth]),
        scale=Scale.LOGITS,
    )
    assert together["odds"].binned().log_loss == pytest.approx(alone.log_loss)
    assert together["any"].binned().losses is None


def test_costs_given_and_normalised_still_share_their_counts():
    together = MetricCollection({"given": ExpectedCost(NINE), "naive": NormalizedCost(FOUR)})
    together.update(torch.tensor([0, 0, 1]), torch.tensor([0, 1, 1]))
    assert len(together.compute_groups) == 1
    values = together.compute()
    assert float(values["given"]) == 3.0
    assert float(values["naive"]) == 4.0


# Precision ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_a_model_of_low_precision_leaves_its_metrics_in_double(dtype):
    """20 million and one is no number of single precision."""
    model = torch.nn.ModuleDict({"net": torch.nn.Linear(2, 1), "cost": ExpectedCost(NINE)})
    model["bins"] = ScoreBins()
    model.to(dtype)
    model["cost"].set_dtype(dtype)
    assert model["net"].weight.dtype == dtype
    heavy = torch.tensor([20_000_000.0, 1.0], dtype=torch.float64)
    for metric in (model["cost"], model["bins"]):
        kinds = {getattr(metric, name).dtype for name in metric._defaults}
        assert kinds <= {torch.float64, torch.int64}
        metric.reset()
        assert {getattr(metric, name).dtype for name in metric._defaults} == kinds
    model["cost"].update(torch.tensor([0, 0]), torch.tensor([0, 0]), heavy)
    assert model["cost"].counts().values[0, 0] == 20_000_001


# States that come from elsewhere -----------------------------------------------------------------


def fed(metric, *batches):
    for batch in batches:
        metric.update(*batch)
    metric.persistent(True)
    return metric


def test_numbers_after_a_merge_or_a_checkpoint_are_the_new_ones():
    first, second = fed(BayesCost(NINE), BETWEEN), fed(BayesCost(NINE), SURE)
    assert (float(first.compute()), float(second.compute())) == (0.5, 0.0)
    first.merge_state(second)
    assert float(first.compute()) == 0.25
    second.load_state_dict(first.state_dict())
    assert float(second.compute()) == 0.25


@pytest.mark.filterwarnings("error")
def test_a_fresh_metric_that_was_filled_counts_as_updated():
    whole = fed(BayesCost(NINE), BETWEEN)
    merged, loaded = BayesCost(NINE), fed(BayesCost(NINE))
    merged.merge_state(whole)
    loaded.load_state_dict(whole.state_dict())
    assert float(merged.compute()) == float(loaded.compute()) == 0.5


def test_a_checkpoint_stays_as_it_was_when_training_goes_on():
    saved = fed(ScoreBins(), BETWEEN).state_dict()
    kept = copy.deepcopy(saved)
    other = fed(ScoreBins())
    other.load_state_dict(saved)
    other.update(*SURE)
    for name, value in kept.items():
        assert torch.equal(saved[name], value)


@pytest.mark.parametrize(
    ("metric", "other"),
    [
        (BayesCost(NINE), BayesCost(FOUR)),
        (BayesCost(NINE), BayesCost(NINE, logits=True)),
        (Evaluation(NINE), Evaluation(FOUR)),
        (ScoreBins(Scale.SCORES), ScoreBins(Scale.LOGITS)),
    ],
)
def test_tallies_of_another_problem_or_scale_are_refused(metric, other):
    fed(metric, BETWEEN), fed(other, BETWEEN)
    merged = metric.clone()
    merged.merge_state(other)
    with pytest.raises(InputError, match="tallied in the same way"):
        merged.compute()
    metric.load_state_dict(other.state_dict())
    with pytest.raises(InputError, match="tallied in the same way"):
        metric.compute()
    metric.reset()
    metric.update(*BETWEEN)
    metric.compute()


@pytest.mark.parametrize(
    ("metric", "kind"),
    [
        (ExpectedCost(NINE), torch.int64),
        (BayesCost(NINE), torch.float32),
        (ScoreBins(), torch.float32),
        (Evaluation(NINE), torch.float32),
    ],
)
def test_cases_on_another_device_than_the_metric_are_refused(metric, kind):
    away = torch.zeros(2, dtype=kind, device="meta")
    with pytest.raises(InputError, match=r"must be on the device of the metric, cpu; .* meta"):
        metric.update(away, torch.zeros(2, dtype=torch.int64, device="meta"))


# Logits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 20.0, 300.0])
def test_finite_logits_have_a_finite_log_loss_however_sure_they_are(scale):
    odds = torch.tensor(RNG.standard_normal(200) * scale)
    truth = torch.tensor(RNG.random(200) < 0.4)
    expected = float(binary_cross_entropy_with_logits(odds, truth.double()))
    pairs = torch.stack([-odds, odds], dim=1) / 2
    for logits in (odds, pairs):
        metric = Evaluation(NINE, logits=True)
        metric.update(logits, truth)
        assert float(metric.compute()["log_loss"]) == pytest.approx(expected, rel=1e-12)
    binned = score_bins(odds, truth, scale=Scale.LOGITS)
    assert binned.log_loss == pytest.approx(expected, rel=1e-13)
    rows, chosen = torch.tensor(RNG.standard_normal((200, 3)) * scale), torch.arange(200) % 3
    many = Evaluation(Problem(1 - np.eye(3)), logits=True)
    many.update(rows, chosen)
    assert float(many.compute()["log_loss"]) == pytest.approx(float(cross_entropy(rows, chosen)))


def test_an_infinite_logit_rules_the_truth_out():
    for logits in (torch.tensor([torch.inf, 1.0]), torch.tensor([[-torch.inf, 0.0], [0.0, 1.0]])):
        metric = Evaluation(NINE, logits=True)
        metric.update(logits, torch.tensor([0, 1]))
        assert float(metric.compute()["log_loss"]) == np.inf
        metric.reset()
        metric.update(logits, torch.tensor([1, 1]))
        assert np.isfinite(float(metric.compute()["log_loss"]))


# Positions and rows ------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "size"), [(torch.uint8, 256), (torch.int8, 128)])
def test_labels_of_small_kinds_reach_their_last_class(kind, size):
    problem, every = Problem(1 - np.eye(size)), torch.arange(size).to(kind)
    assert counts(every, every, problem).values.trace() == size
    metric = Evaluation(problem)
    metric.update(torch.eye(size), every)
    assert float(metric.compute()["log_loss"]) == 0
    losses = torch.ones((size, 1))
    assert loss_moments(every, losses, classes=tuple(range(size))).sums.sum() == size


def test_rows_of_very_many_classes_may_miss_one_by_what_softmax_does():
    """In single precision, that of torch missed one by 3.5e-6 for 20,000 classes."""
    size = 20_000
    problem = Problem(np.stack([np.arange(size) % 2, np.ones(size) / 4], axis=1))
    for factor, fine in ((1 + 4e-6, True), (1.001, False)):
        metric = BayesCost(problem)
        rows = torch.full((3, size), factor / size, dtype=torch.float32)
        assert float((rows.double().sum(dim=1) - 1).abs().min()) > 1e-6
        metric.update(rows, torch.zeros(3, dtype=torch.int64))
        if fine:
            metric.compute()
        else:
            with pytest.raises(InputError, match="must sum to one"):
                metric.compute()


# Bins --------------------------------------------------------------------------------------------


def test_the_best_threshold_of_bins_costs_on_the_scores_what_it_says():
    for miss in (0.2, 1, 9):
        scores = (RNG.random(900) * 2e-3 + 0.6).astype(np.float32)  # few bins, both classes in each
        truth = RNG.random(900) < (scores - 0.6) / 2e-3
        problem = Problem.binary(false_alarm=1, miss=miss)
        bins = score_bins(torch.tensor(scores), torch.tensor(truth))
        best = bins.best_threshold(problem)
        decided = scores.astype(float) > best.threshold
        paid = np.mean(problem.costs[truth.astype(int), decided.astype(int)])
        assert paid == pytest.approx(best.cost)
        exact = best_threshold(ScoreTable.from_scores(truth, scores), problem).cost
        assert exact - 1e-12 <= best.cost <= exact + bins.cost_error(problem) + 1e-12


def test_the_bound_on_costs_is_for_thresholds_only_and_zero_without_one_class():
    near, labels = torch.tensor([0.6, 0.6001, 0.60011, 0.6002]), torch.tensor([0, 1, 0, 1])
    assert score_bins(near, labels * 0).cost_error(NINE) == 0
    with pytest.raises(InputError, match="two classes and two decisions"):
        score_bins(near, labels).cost_error(Problem([[0, 3, 25], [180, 8, 0]]))


@pytest.mark.filterwarnings("error")
def test_scores_as_large_as_they_come_make_no_noise():
    large = torch.tensor([1.7e308, 1.7e308, 1e300, -1.7e308], dtype=torch.float64)
    table = score_bins(large, torch.tensor([0, 1, 0, 1]), torch.tensor([10, 10, 3, 3])).table
    assert table.scores.tolist() == [-1.7e308, 1e300, 1.7e308]


# Weights -----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("tally", [score_bins, score_table])
def test_weights_whose_sum_is_no_number_are_refused(tally):
    heavy = torch.full((3,), 1e308, dtype=torch.float64)
    with pytest.raises(InputError, match="weights must have a total that is a number"):
        tally(torch.tensor([0.3, 0.3, 0.9]), torch.tensor([0, 0, 1]), heavy)


def test_reports_refuse_weights_as_those_of_rows_do_and_agree_on_large_ones():
    p, weights = RNG.random(200) ** 2, RNG.random(200)
    truth = (RNG.random(200) < p).astype(int)
    for factor in (1e-170, 1e160):
        metric = Evaluation(NINE)
        metric.update(torch.tensor(p), torch.tensor(truth), torch.tensor(weights * factor))
        with pytest.raises(InputError, match="weights must be of a size whose squares are numbers"):
            metric.report()
    metric.reset()
    metric.update(torch.tensor(p), torch.tensor(truth), torch.tensor(weights * 1e90))
    cost = metric.report().system("model (as is)").cost
    rows = evaluate(truth, {"model": p}, NINE, calibrator=None, weights=weights, replicates=50)
    expected = rows.system("model (as is)").cost
    assert (cost.low, cost.high) == pytest.approx((expected.low, expected.high))


def test_decisions_of_bfloat16_are_those_of_a_slow_twin():
    """Numbers of eight bits stand for all that round to them; numpy has none of these."""
    costs = np.array([[0.0, 3.0, 25.0], [180.0, 8.0, 0.0]])
    posteriors = torch.tensor(RNG.random(500) ** 4).to(torch.bfloat16)
    actual = bayes_decisions(posteriors, Problem(costs))
    for p, decided in zip(posteriors.double().tolist(), actual.tolist(), strict=True):
        expected, off = (1 - p) * costs[0] + p * costs[1], p * 2.0**-8 * costs.sum(axis=0)
        assert expected[decided] - off[decided] <= (expected + off).min() + 1e-9
        for cheaper in range(decided):
            assert expected[cheaper] - off[cheaper] > (expected + off).min() - 1e-9
