"""Limits of a problem: how they are written, read, refused and carried along."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from stakes import InputError, Limit, Problem, bayes_decision_indices, bayes_decisions, evaluate

REVIEW = Limit.share("review", at_most=0.05)
CAUGHT = Limit.rate("approve", given="fraud", at_most=0.1)
COSTS = {
    "legit": {"approve": 0, "review": 3, "block": 25},
    "fraud": {"approve": 180, "review": 8, "block": 0},
}
PAYMENTS = Problem(COSTS, unit="EUR", prior=[0.9, 0.1], limits=[REVIEW, CAUGHT])


def test_a_limit_says_what_it_bounds():
    assert str(REVIEW) == "review: at most 5 % of cases"
    assert str(Limit.rate("treat", given="ill", at_least=0.9)) == "treat: at least 90 % of ill"
    assert str(Limit.share("call", at_most=0.0004)) == "call: at most 0.04 % of cases"
    assert str(Limit.count("call", 9, at_least=4)) == "call: at least 4 and at most 9 cases"
    assert eval(repr(CAUGHT), {"Limit": Limit}) == CAUGHT
    assert "limits: review: at most 5 % of cases; approve" in repr(PAYMENTS)


def test_one_case_is_no_plural():
    assert str(Limit.count("review", 1)) == "review: at most 1 case"
    assert str(Limit.count("review", 3, at_least=1)) == "review: at least 1 and at most 3 cases"


def test_a_limit_is_a_value():
    again = Limit.share("review", at_most=0.05)
    assert again == REVIEW
    assert hash(again) == hash(REVIEW)
    assert again != Limit.share("review", at_least=0.05)
    assert pickle.loads(pickle.dumps(CAUGHT)) == CAUGHT
    assert copy.deepcopy(PAYMENTS) == PAYMENTS


def test_limits_are_part_of_what_a_problem_is():
    free = PAYMENTS.with_limits(None)
    assert free != PAYMENTS
    assert free.with_limits([REVIEW, CAUGHT]) == PAYMENTS
    assert not PAYMENTS.is_equivalent(free)
    assert PAYMENTS.is_equivalent(PAYMENTS.with_limits([CAUGHT, REVIEW]))


@pytest.mark.parametrize(
    "derive",
    [
        lambda p: p.with_prior([0.5, 0.5]),
        lambda p: p.with_abstention(1.0),
        lambda p: p.regret(),
        lambda p: p.rescaled(),
        lambda p: Problem.expected([p, p]),
    ],
)
def test_problems_made_of_one_with_limits_keep_them(derive):
    assert derive(PAYMENTS).limits == (REVIEW, CAUGHT)


def test_problems_with_columns_keep_limits_too():
    problem = Problem([[0, 3], ["amount", 0]], limits=[Limit.share(1, at_most=0.2)])
    data = {"amount": [10.0, 20.0]}
    assert problem.at(amount=5).limits == problem.limits
    assert problem.mean(data).limits == problem.limits
    with pytest.raises(InputError, match="problems must have the same limits"):
        Problem.expected([PAYMENTS, PAYMENTS.with_limits([REVIEW])])


def test_amounts_are_added_to_numbers_and_to_expressions():
    problem = Problem([[0, "-amount"], ["amount", 0]])
    data = {"amount": [2.0, 7.0]}
    more = np.array([[1.5, -2.0], [0.0, 4.0]])
    added = problem.plus(more)
    assert np.array_equal(added.case_costs(data), problem.case_costs(data) + more)
    assert np.array_equal(PAYMENTS.plus(np.ones((2, 3))).costs, PAYMENTS.costs + 1)
    assert PAYMENTS.plus(np.ones((2, 3))).limits == ()


def test_files_hold_limits(tmp_path):
    PAYMENTS.to_toml(tmp_path / "p.toml")
    assert Problem.from_toml(tmp_path / "p.toml") == PAYMENTS
    written = Problem(
        [[0, 1, 5], [1, 0, 5]],
        classes=[True, False],
        limits=[
            Limit.rate(2, given=True, at_least=1 / 3),
            Limit.share(0, at_most=0.1 + 0.2),
        ],
    )
    written.to_toml(tmp_path / "w.toml")
    assert Problem.from_toml(tmp_path / "w.toml") == written


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[limits]]\ndecision = "call"\nat_most = 0.1', "must be one of a, b; it is 'call'"),
        ('[[limits]]\ngiven = "x"\nat_most = 0.1', "one has no decision"),
        ('[[limits]]\ndecision = "a"\nmost = 0.1', "one holds 'most'"),
        ('[[limits]]\ndecision = "a"\ngiven = "z"\nat_most = 0.1', "given of a limit must be one"),
        ("limits = 3", "limits must be tables"),
    ],
)
def test_a_file_with_a_limit_that_cannot_be_read_says_why(tmp_path, text, message):
    head = "" if "[[" in text else f"{text}\n"
    tail = text if "[[" in text else ""
    path = tmp_path / "p.toml"
    path.write_text(f"{head}[costs]\nx = {{ a = 0, b = 1 }}\ny = {{ a = 2, b = 0 }}\n{tail}\n")
    with pytest.raises(InputError, match=message):
        Problem.from_toml(path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Limit.share("review"), "has neither. Write at_most=0.05, say"),
        (lambda: Limit("a", given="b", at_most=2, counted=True), "given must be left out of a"),
        (lambda: Limit("a", at_most=2, counted="no"), "counted must be True or False"),  # type: ignore[arg-type]
        (lambda: Limit.share("a", at_most=0.1, at_least=0.05), "has both. Write two limits"),
        (lambda: Limit.share("a", at_most=5), r"within \[0, 1\]; got int 5"),
        (
            lambda: Limit.count("a", 2.5),  # type: ignore[arg-type]
            "whole number",
        ),
        (lambda: Limit.count("a", 2, at_least=3), "at_least must not exceed at_most"),
        (
            lambda: Limit.rate("a", given=None, at_most=0.2),  # type: ignore[arg-type]
            "given must be a class",
        ),
        (lambda: Problem(COSTS, limits=["review"]), "limits must be a list of Limit; one is str"),
        (lambda: Problem(COSTS, limits="review"), "limits must be a list of Limit; got str"),
        (
            lambda: Problem(COSTS, limits={"review": 0.1}),
            "limits must be a list of Limit; got dict",
        ),
        (lambda: Problem(COSTS, limits=[Limit.count("review", 3)]), "counts cases of one batch"),
        (lambda: Problem(COSTS, limits=[Limit.share("call", at_most=0)]), "'call' is none of"),
        (
            lambda: Problem(COSTS, limits=[Limit.rate("block", given="x", at_most=0)]),
            "name a class of the problem; 'x' is none of",
        ),
    ],
)
def test_a_limit_that_cannot_be_meant_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_the_rate_of_a_class_that_never_occurs_is_no_limit():
    never = Problem(COSTS, prior=[1, 0], limits=[CAUGHT])
    with pytest.raises(InputError, match="must be on classes that occur; the share of 'fraud' is"):
        evaluate(["legit", "fraud"] * 20, {"m": np.linspace(0, 1, 40)}, never)


def share(decision, **bound):
    return Limit.share(decision, **bound)


@pytest.mark.parametrize(
    ("limits", "closest"),
    [
        ([share("review", at_most=0.1), share("review", at_least=0.2)], "0.1"),
        ([share("review", at_least=0.7), share("block", at_least=0.4)], "0.3"),
        (
            [
                share("review", at_most=0.2),
                share("block", at_most=0.2),
                share("approve", at_most=0.5),
            ],
            "0.6",
        ),
        (
            [
                Limit.rate("review", given="fraud", at_least=0.7),
                Limit.rate("approve", given="fraud", at_least=0.4),
            ],
            "0.3",
        ),
    ],
)
def test_limits_that_contradict_each_other_are_refused_with_the_closest_value(limits, closest):
    with pytest.raises(InputError, match=f"the closest value .* is {closest}") as caught:
        Problem(COSTS, limits=limits)
    assert caught.value.argument == "limits"


def test_limits_that_just_fit_are_taken():
    thirds = [share(decision, at_most=1 / 3) for decision in COSTS["legit"]]
    assert Problem(COSTS, limits=thirds).limits == tuple(thirds)


@pytest.mark.parametrize("decide", [bayes_decisions, bayes_decision_indices])
def test_bayes_decisions_refuse_limits_and_say_what_to_call(decide):
    with pytest.raises(InputError, match=r"Call stakes\.price_limits\(posteriors, problem\)"):
        decide([0.1, 0.9], PAYMENTS)


def test_lower_bounds_may_take_all_cases_together():
    exact = (
        Limit.share("no", at_least=0.75),
        Limit.share("yes", at_least=0.25),
        Limit.share("no", at_most=0.75),
    )
    costs = {"a": {"no": 0, "yes": 1}, "b": {"no": 4, "yes": 0}}
    assert Problem(costs, limits=exact).limits == exact


def test_a_limit_is_kept_on_all_cases_where_there_are_too_few_for_folds():
    y, p = np.array([0] * 19 + [1]), np.linspace(0.05, 0.9, 20)
    problem = Problem.binary(false_alarm=1, miss=9).with_limits([Limit.share(1, at_most=0.2)])
    report = evaluate(y, {"m": p}, problem, calibrator=None, replicates=5)
    assert report.systems[0].counts.values[:, 1].sum() <= 4
    assert any("fitted to these very cases" in caveat.text for caveat in report.caveats)


def test_one_limit_needs_no_list():
    assert Problem(COSTS, limits=REVIEW) == Problem(COSTS, limits=[REVIEW])
    assert Problem(COSTS).with_limits(REVIEW).limits == (REVIEW,)
