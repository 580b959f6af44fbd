"""Reports as text and Markdown: readable whatever the labels, the costs and the sizes are."""

from __future__ import annotations

import decimal
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stakes import Counts, Decisions, Limit, Problem, Report, Scores, _text, evaluate
from stakes._text import measured, measured_column, probability, supported
from stakes.inference import Measured, few_of_classes
from stakes.render.html import clarity
from stakes.render.layout import LinePicture, Section, Table, middle
from stakes.render.system_tables import _always, _largest, _slice
from stakes.render.tables import QUALITY, _spans, _spent, sections
from stakes.render.text_formats import _table

FAST: dict[str, Any] = {"calibrator": None, "replicates": 10}
FRAUD = Problem(
    [[0, 3, 25], [180, 8, 0]],
    classes=["legit", "fraud"],
    decisions=["approve", "review", "block"],
    prior=[0.98, 0.02],
    unit="EUR",
)

BINARY = Problem.binary(false_alarm=1, miss=5)


def report_of(problem: Problem, n_cases: int = 300, **settings) -> Report:
    rng = np.random.default_rng(4)
    y = (rng.random(n_cases) < 0.3).astype(int)
    log_odds = rng.normal(np.where(y == 1, 1.0, -1.0), 2**0.5)
    models = {"plain": 1 / (1 + np.exp(-log_odds)), "sharp": 1 / (1 + np.exp(-3 * log_odds))}
    labels = np.array(problem.classes, dtype=object)[y]
    return evaluate(labels, models, problem, **{"replicates": 20, "calibrator": None, **settings})


def many(name: str) -> Report:
    """Ten classes, eleven decisions, six models, twenty slices, all with long names."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 1000)
    models = {}
    for j in range(6):
        raw = rng.random((1000, 10)) ** 4 + (0.3 + 0.1 * j) * np.eye(10)[y]
        models[f"gradient boosted model {name} {j}"] = raw / raw.sum(axis=1, keepdims=True)
    problem = Problem(
        rng.integers(1, 9, (10, 11)).astype(float),
        classes=[f"class {name} {k}" for k in range(10)],
        decisions=[f"decision {name} {d}" for d in range(11)],
    )
    groups = np.array([f"site {name} {i}" for i in range(20)])[rng.integers(0, 20, 1000)]
    return evaluate(np.array(problem.classes)[y], models, problem, by=groups, replicates=10)


def part(report: Report, title: str) -> Section:
    return next(section for section in sections(report) if section.title.startswith(title))


def cells(report: Report, title: str) -> list[tuple[str, ...]]:
    table = part(report, title).table
    assert table is not None
    return list(table.rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param("of the third generation, number", marks=pytest.mark.slow), "x" * 150]
)
def test_large_reports_with_long_names_keep_to_a_hundred_columns(name):
    report = many(name)
    tables = [line for line in report.to_markdown().splitlines() if line.startswith("|")]
    assert max(map(len, report.to_text().splitlines())) <= 100
    assert max(map(len, tables)) <= 110


def test_names_of_one_family_differ_where_they_are_cut():
    assert middle("gradient boosted model, wide", 16) != middle("gradient boosted model, deep", 16)
    assert middle("forest", 16) == "forest"


@pytest.mark.slow
def test_only_cells_with_cases_are_listed_where_there_are_many():
    section = part(many("of the m"), "Where the money goes")
    assert section.table is not None
    assert section.table.header == ("class", "decision", "cases", "share")
    assert "0" not in {row[2] for row in section.table.rows}


def test_labels_with_line_breaks_do_not_tear_the_tables():
    broken = Problem(
        FRAUD.costs,
        classes=["le\ngit", "fr\u2028aud"],
        decisions=["app\r\nrove", "re\x85view", "b"],
    )
    report = report_of(broken)
    whole = report_of(
        Problem(
            FRAUD.costs,
            classes=["le\\ngit", "fr\\u2028aud"],
            decisions=["app\\r\\nrove", "re\\x85view", "b"],
        )
    )
    assert report.to_text() == whole.to_text()
    assert report.to_markdown() == whole.to_markdown()
    rows = [line for line in report.to_markdown().split("\n") if "|" in line]
    assert all(line.startswith("|") and line.endswith("|") for line in rows)


def test_every_column_has_a_header():
    for section in sections(report_of(FRAUD, by=np.arange(300) % 3)):
        assert section.table is None or all(section.table.header), section.title


def test_an_interval_that_is_undefined_is_left_out():
    report = report_of(FRAUD, weights=np.random.default_rng(1).uniform(0.5, 2, 300))
    assert all(np.isnan(model.auc.low) for model in report.models if model.auc is not None)
    assert "undefined to" not in report.to_text()
    assert "undefined to" not in report.to_markdown()


def test_without_any_cost_no_share_is_shown():
    y = np.arange(40) % 2
    report = evaluate(y, {"right": Decisions(y)}, Problem.binary(false_alarm=1, miss=2))
    assert not re.search(r"nan|%\)", "".join(map("".join, cells(report, "Where the money"))))


def test_shares_are_those_of_the_regret_where_a_cost_is_a_gain():
    gains = Problem.from_utilities([[15, -35], [-335, 165]])
    report = report_of(gains)
    section = part(report, "Where the money goes")
    assert "share of the regret" in section.sentences[0]
    rows = cells(report, "Where the money goes")
    shares = [
        float(share) for share in re.findall(r"\(([−\d.]+)\s%\)", "".join(map("".join, rows)))
    ]
    assert sum(shares) == pytest.approx(100, abs=0.5 * len(shares))
    assert min(shares) > 0
    assert "share of the cost" in part(report_of(FRAUD), "Where the money").sentences[0]


def test_expected_losses_of_every_method_are_shown():
    report = report_of(FRAUD)
    rows = {row[0]: row[1:] for row in cells(report, "Loss of each way")}
    for j, model in enumerate(report.models):
        for method, loss in model.expected_losses:
            assert float(rows[method][j]) == pytest.approx(loss, abs=0.5 / 300**0.5 * loss)


def test_regions_and_margins_say_that_the_decisions_stay():
    report = report_of(Problem.binary(false_alarm=1, miss=9, classes=["well", "ill"]))
    frozen = "with the decisions as they are made now"
    titles = [section.title for section in sections(report)]
    for title in titles:
        if title.startswith(("Where each system wins", "What would flip")):
            assert any(frozen in text for text in part(report, title).sentences), title
    assert sum(title.startswith("Where each system wins") for title in titles) == 3


def test_a_prior_of_three_moves_the_others_in_proportion_and_the_text_says_so():
    y = np.arange(90) % 3
    models = {"a": Decisions(y), "b": Decisions(y[::-1])}
    report = evaluate(y, models, Problem(1 - np.eye(3)), calibrator=None)
    (text,) = part(report, "Where each system wins").sentences
    assert "where this prior moves, and the others keep their proportions" in text


def test_the_nearest_margins_come_first_by_their_factor_and_costs_of_zero_last():
    report = report_of(FRAUD)
    factors = {margin.what: margin.log_factor for margin in report.margins}
    shown = [row[0] for row in cells(report, "What would flip") if row[0]]
    distances = [factors[what] for what in shown]
    assert distances == sorted(distances)
    assert np.isfinite(distances[0])
    (zero,) = (what for what in factors if "approve for legit" in what)
    assert np.isinf(factors[zero])


def test_counts_are_whole_and_money_is_never_in_powers_of_ten():
    problem = Problem(1000 * FRAUD.costs, classes=FRAUD.classes, decisions=FRAUD.decisions)
    text = report_of(problem, n_cases=12_345).to_text()
    assert "12,345" in text
    assert not re.search(r"\de[+−-]?0?[1-9]\b(?<!e−\d)", text)


def test_an_interval_keeps_its_own_minus_sign():
    from stakes.evaluation.cases import span

    assert span(Measured(0.0, -0.0125, 1.0), 0.95) == "95 % interval −0.01 to 1.00"


# Order and shape ---------------------------------------------------------------------------------


def clinic(**settings) -> Report:
    """Two decisions: thresholds tuned on these very cases are cheaper than anything deployable."""
    problem = Problem.binary(false_alarm=1, miss=9, classes=["well", "ill"], unit="EUR")
    return report_of(problem, **settings)


def test_the_winner_is_the_first_row_and_bounds_stand_apart():
    report = clinic()
    deployed = report.verdict.deploy
    assert deployed is not None
    bounds = [system for system in report.systems if not system.candidate]
    assert min(bound.cost.value for bound in bounds) < deployed.cost.value
    names = [row[0] for row in cells(report, "Cost of each system")]
    assert names[0] == report.verdict.cheapest
    assert names[-1] == "perfect decisions"
    assert {row[0] for row in cells(report, "Bounds")} == {bound.name for bound in bounds}
    assert not {bound.name for bound in bounds} & set(names)
    titles = [section.title for section in sections(report)]
    assert titles.index("Bounds") == titles.index("Cost of each system") + 1


def test_thresholds_of_probabilities_are_in_percent_and_those_of_raw_scores_are_not():
    y = np.arange(60) % 3 == 0
    score = np.where(y, 3.5, 2.25) + np.arange(60) % 7 / 4
    models = {"sure": score / 5.5, "raw": Scores(100 * score)}
    report = evaluate(y.astype(int), models, Problem.binary(false_alarm=1, miss=3), **FAST)
    rows = cells(report, "Cost of each system") + cells(report, "Bounds")
    shown = {row[0]: row[-1].replace("\u00a0", " ") for row in rows}
    tuned = {system.name: float(system.threshold or 0) for system in report.systems}
    assert shown["sure (as is)"] == "25 %"
    assert shown["sure (tuned)"] == probability(tuned["sure (tuned)"])
    assert shown["sure (tuned)"].endswith(" %")
    for name in ("raw (tuned)", "raw (tuned out of fold)"):
        assert float(shown[name]) == pytest.approx(tuned[name], rel=1e-3)


@pytest.mark.parametrize("order", [1, -1])
def test_of_systems_that_tie_the_winner_stands_first(order):
    y = np.arange(40) % 2
    models = {"one": Decisions(y), "two": Decisions(y)}
    report = evaluate(y, dict(list(models.items())[::order]), Problem.binary(false_alarm=1, miss=2))
    assert cells(report, "Cost of each system")[0][0] == report.verdict.cheapest


def test_where_not_looking_is_cheaper_it_is_the_first_row():
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.3).astype(int)
    problem = Problem.binary(false_alarm=1, miss=2, decisions=["pass", "stop"])
    report = evaluate(y, {"coin": rng.random(300), "dice": rng.random(300)}, problem, replicates=20)
    names = [row[0] for row in cells(report, "Cost of each system")]
    assert names[0] == "always pass"
    assert names.count("always pass") == 1


def test_no_row_and_no_section_is_empty():
    """A model of mere decisions has no scores; nothing here needs a caveat."""
    y = np.arange(3000) % 2
    p = np.where(y == 1, 0.9, 0.1) + 0.05 * np.sin(np.arange(3000))
    models = {"scores": p, "rules": Decisions((p > 0.5).astype(int))}
    report = evaluate(y, models, Problem.binary(false_alarm=1, miss=2), replicates=20)
    for section in sections(report):
        assert section.sentences or section.table, section.title
        for row in section.table.rows if section.table else ():
            assert set(row[1:]) - {"", "–"}, (section.title, row)
    assert "None." not in report.to_text()
    only = evaluate(y, {"rules": models["rules"]}, Problem.binary(false_alarm=1, miss=2))
    titles = [section.title for section in sections(only)]
    assert "Quality of the scores" not in titles


def test_sentences_promise_no_column_that_is_left_out_as_empty():
    """One model is the best by every metric and in every slice; of another it is not clear."""
    y = np.arange(400) % 2
    good, poor = np.where(y == 1, 0.9, 0.1), np.where(np.arange(400) % 5 < 3, 0.5 * y, 0.6)
    told = "and whether the data can tell"
    for models, promised in (({"good": good, "poor": poor}, False), ({"good": poor}, False)):
        report = evaluate(y, models, BINARY, by=y, calibrator=None, replicates=20)
        for title in ("Slices", *["What metrics would"] * (len(models) > 1)):
            section = part(report, title)
            assert section.table is not None
            assert ("clearly" in section.table.header) is promised
            assert (told in section.sentences[0]) is promised


# Digits ------------------------------------------------------------------------------------------


def test_a_cost_has_the_digits_that_its_interval_supports_in_every_row():
    report = clinic(n_cases=3000, replicates=200)
    half = (report.systems[0].cost.high - report.systems[0].cost.low) / 2
    assert 0.01 < half < 0.1
    rows = [*cells(report, "Cost of each system"), *cells(report, "Bounds")]
    shown = {row[0]: row for row in rows}
    for system in report.systems:
        _, cost, span, normal, *_ = shown[system.name]
        assert cost == f"{system.cost.value:.3f}"
        assert span == f"{system.cost.low:.3f} to {system.cost.high:.3f}"
        assert normal == f"{system.normalized.value:.3f}"
    assert {len(row[1]) for row in rows} == {5}


def test_probabilities_and_shares_of_the_cost_are_whole_percents():
    report = clinic(replicates=200)
    chances = [row[4] for row in cells(report, "Cost of each system") if row[4]]
    assert all(re.fullmatch(r"(?:[<>]\s)?\d+\s%", text) for text in chances), chances
    shares = re.findall(r"\(([^)]*)\)", "".join(map("".join, cells(report, "Where the money"))))
    assert shares
    assert all(re.fullmatch(r"(?:[<>]\s)?\d+\s%", text) for text in shares), shares


@pytest.mark.parametrize("width", [20, 40, 96])
def test_no_line_ends_inside_a_percentage_or_between_a_number_and_its_unit(width):
    from stakes.render.layout import tied
    from stakes.render.text_formats import wrapped

    text = " ".join(f"{'x' * i} 95 % of {i}.5 EUR, > 99 %" for i in range(18))
    lines = wrapped(tied(text, "EUR"), width).splitlines()
    assert " ".join(lines) == text
    assert not any(line.startswith(("%", "EUR")) or line.endswith((">", "<")) for line in lines)


def test_what_rounding_leaves_of_nothing_is_shown_as_zero():
    """Where a verdict flips exactly at zero, sums of floats end a little beside it."""
    from stakes.render.layout import flip

    assert flip(5.684e-14, 180.0, 180.0) == "0"
    assert flip(180.0 + 2.8e-14, 180.0, 180.0) == "180"
    assert flip(1004.2, 1000.0, 1000.0) == "1004.2"
    assert flip(0.03773, 0.05, 180.0) == "0.038"
    assert (flip(0.00099, 0.68, 1.0), flip(0.99901, 0.32, 1.0)) == ("0.00099", "0.99901")
    assert (flip(0.0, 0.68, 1.0), flip(1.0, 0.32, 1.0), flip(1.0004, 10.0, 10.0)) == (
        "0.00",
        "1.00",
        "1.0",
    )


@given(
    value=st.floats(-1e12, 1e12),
    low=st.floats(0, 1e12),
    high=st.floats(1e-9, 1e12),
)
def test_two_digits_of_half_the_width_are_shown_and_no_more(value, low, high):
    """The slow twin: the power of ten of the half-width, found by counting."""
    interval = (value, value - low, value + high)
    places = supported(*interval)
    half = (interval[2] - interval[1]) / 2
    if value and interval[1] * interval[2] >= 0:
        half = min(half, 10 * abs(value))  # a bound that is far away does not round it to zero
    if places is None:
        assert half <= 1e-12 * max(map(abs, interval))
        return
    digits = half * 10.0**places
    assert 9.9499 < digits < 99.5001
    for number, text in zip(interval, measured(*interval), strict=True):
        read = float(text.replace(",", "").replace("−", "-"))
        assert abs(read - number) <= 0.5001 * 10.0**-places + 1e-14 * abs(number)


@pytest.mark.parametrize(
    ("models", "kind", "low", "told_apart", "contenders", "words"),
    [
        ("mn", "none", 1, True, "a", "deploy none"),
        ("m", "deploy", 1, None, "a", ""),
        ("m", "try", 0, None, "a", "try: not yet shown to pay"),
        ("mn", "deploy", 0, False, "ab", "a close call"),
        ("mn", "try", 0, True, "a", "try: not yet shown to pay"),
        ("mn", "deploy", 1, True, "a", "a clear call"),
        ("mn", "deploy", 1, True, "ab", "a clear model, its rule is close"),
        ("m", "deploy", 1, True, "a", "a clear call"),
        ("m", "deploy", 1, False, "ab", "its rule is close"),
    ],
)
def test_the_headline_says_how_clear_the_call_is(models, kind, low, told_apart, contenders, words):
    saving = SimpleNamespace(low=low)
    parts = {"kind": kind, "told_apart": told_apart, "contenders": tuple(contenders)}
    doubt = "not yet shown to pay" if kind == "try" else None
    verdict = SimpleNamespace(saving_over_naive=saving, doubt=doubt, keep=None, **parts)
    report: Any = SimpleNamespace(verdict=verdict, models=tuple(models))
    assert clarity(report) == words


def test_of_very_many_slices_the_largest_are_shown_in_their_order():
    def slices(n: int) -> tuple[Any, ...]:
        return tuple(SimpleNamespace(name=str(k), n_cases=100 + k % 7) for k in range(n))

    assert _largest(slices(200)) == slices(200)
    shown = [int(part.name) for part in _largest(slices(300))]
    assert len(shown) == 200
    assert shown == sorted(shown)
    left = set(range(300)) - set(shown)
    assert max(k % 7 for k in left) <= min(k % 7 for k in shown)


def test_a_slice_whose_intervals_are_undefined_still_has_its_costs():
    part: Any = SimpleNamespace(name="north", n_cases=7.0, cheapest="m", clear=None)
    unknown = "undefined", "undefined"
    numbers = (2.5, np.nan, np.nan), ("2.5", *unknown), (1.5, np.nan, np.nan), ("1.5", *unknown)
    assert _slice(part, numbers)[:6] == ("north", "7", "2.5", "–", "m", "1.5")


# Pictures ----------------------------------------------------------------------------------------


def drawn(*points: tuple[float, float], marks: dict[float, str] | None = None) -> str:
    return LinePicture("Cost", {"": points}, "share", "cost", marks or {}).svg()


def ticks_of(picture: str, anchor: str) -> list[tuple[str, str, str]]:
    """Places and names of the ticks whose text is anchored there."""
    group = re.search(rf'<g class="tick" text-anchor="{anchor}">(.*?)</g>', picture)
    assert group is not None
    return re.findall(r'<text x="([\d.]+)" y="([-\d.]+)">([^<]*)<', group[1])


@pytest.mark.parametrize(
    "costs", [(0.7, 0.6999999999999995), (0.3, 0.1 + 0.2), (0, 0), (-3, -3), (1e-99, 1e99)]
)
def test_lines_that_are_flat_but_for_rounding_are_drawn(costs):
    picture = drawn((0, costs[0]), (1, costs[1]))
    heights = [float(y) for y in re.findall(r'cy="([\d.]+)"', picture)]
    assert all(26 <= height <= 186 for height in heights)
    assert "nan" not in picture


@pytest.mark.parametrize(("share", "side"), [(0.2, "start"), (0.9, "end")])
def test_the_name_of_a_mark_stands_beside_it_where_there_is_room(share, side):
    picture = drawn((0, 1), (1, 2), marks={share: "limit"})
    name = re.search(
        r'<text class="mark-name" x="([\d.]+)" y="[\d.]+" text-anchor="(\w+)"', picture
    )
    mark = re.search(r'<line class="mark" x1="([\d.]+)"', picture)
    assert name is not None
    assert mark is not None
    assert name[2] == side
    assert float(name[1]) - float(mark[1]) == pytest.approx(5 if side == "start" else -5)


def test_shares_are_written_below_the_axis():
    picture = drawn((0, 1), (1, 2))
    axis = re.search(r'<line class="axis" x1="[\d.]+" y1="([\d.]+)"', picture)
    assert axis is not None
    assert ticks_of(picture, "middle")
    assert all(float(y) > float(axis[1]) for _, y, _ in ticks_of(picture, "middle"))


def test_the_first_and_the_last_tick_are_the_ends_of_the_axes():
    picture = drawn((0, 0), (1, 2))
    axis = re.search(r'<line class="axis" x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)"', picture)
    shares = [x for x, _, _ in ticks_of(picture, "middle")]
    rules = re.findall(r'<line class="rule" [^>]*y1="([-\d.]+)"', picture)
    assert axis is not None
    assert (shares[0], rules[0], shares[-1]) == axis.groups()
    assert float(rules[-1]) == 26


def test_a_line_of_one_point_is_drawn():
    assert drawn((0, 2.5), marks={0.0: "limit"}).count("<circle") == 1


@pytest.mark.parametrize("costs", [(20000.1, 20000.4), (1.00001, 1.00002), (-7e6, -7e6 + 1)])
def test_ticks_differ_by_their_text(costs):
    ticks = [name for *_, name in ticks_of(drawn((0, costs[0]), (1, costs[1])), "end")]
    assert len(set(ticks)) == len(ticks) >= 4


@pytest.mark.parametrize("most", [5, 5e9, 5e13, 5e-9])
def test_ticks_of_any_length_stay_in_the_picture_and_beside_the_lines(most):
    picture = drawn((0, 0), (1, most))
    ticks = ticks_of(picture, "end")
    width = 6.5 * max(len(name) for *_, name in ticks)
    assert all(float(x) >= width for x, *_ in ticks)
    left = re.search(r'<line class="axis" x1="([\d.]+)"', picture)
    assert left is not None
    assert all(float(x) < float(left[1]) for x, *_ in ticks)
    assert all(float(x) >= float(left[1]) for x in re.findall(r'cx="([\d.]+)"', picture))


def test_pages_have_costs_that_never_differ():
    pytest.importorskip("jinja2")
    y, p = [0, 1] * 20, np.linspace(0.1, 0.8, 40)
    for cost in (0.7, 0.1):
        problem = Problem(np.full((2, 3), cost))
        for variant in (problem, problem.with_limits([Limit.share(1, at_most=0.1)])):
            assert (
                "<html" in evaluate(y, {"m": p}, variant, calibrator=None, replicates=5).to_html()
            )


def test_pictures_escape_hostile_units_and_decisions_and_cut_long_ones():
    pytest.importorskip("jinja2")
    hostile = "</svg><script>alert(1)</script>" + 80 * "x"
    names = [f"{hostile}{place}" for place in "abc"]
    problem = Problem([[0, 2, 9], [9, 2, 0]], decisions=names, unit=hostile)
    limited = problem.with_limits([Limit.share(names[1], at_most=0.1)])
    y, p = [0, 1] * 20, np.linspace(0.1, 0.8, 40)
    for variant in (problem, limited):
        page = evaluate(y, {"m": p}, variant, calibrator=None, replicates=5).to_html()
        assert page.count("<svg ") == page.count("</svg>") > 0
        assert "<script>alert" not in page
        for name in re.findall(r'class="axis-name"[^>]*>([^<]*)<', page):
            assert len(name) < 120


def test_names_of_marks_stand_where_there_is_room():
    picture = drawn((0, 1), (1, 2), marks={0.2: "early", 0.9: "late"})
    sides = re.findall(r'class="mark-name".*?text-anchor="(\w+)">(\w+)', picture)
    assert sides == [("start", "early"), ("end", "late")]


def test_models_with_the_same_advice_share_a_sentence():
    """The cheapest of them has its numbers there; those of the others are in the tables."""
    rng = np.random.default_rng(4)
    y = (rng.random(400) < 0.3).astype(int)
    log_odds = rng.normal(np.where(y == 1, 1.0, -1.0), 2**0.5) - 0.8
    fine = {f"fine {j}": 1 / (1 + np.exp(-log_odds - 0.1 * j)) for j in range(3)}
    models = {"wild": 1 / (1 + np.exp(-9 * log_odds - 9)), **fine}
    report = evaluate(y, models, Problem.binary(false_alarm=1, miss=3), **FAST)
    (quality,) = [part for part in sections(report) if part.title == QUALITY]
    advice = {model.model: model.advice for model in report.models}
    cheapest = report.best.model
    others = [name for name in fine if name != cheapest]
    shared, apart = quality.sentences
    assert shared.startswith(f"{cheapest}: {advice[cheapest]}. Likewise ")
    assert all(name in shared for name in others)
    assert apart == f"wild: {advice['wild']}."


WHY_INFINITE = "Log loss ∞: rf gave probability 0 to a class that was true."


def test_an_infinite_log_loss_says_which_model_was_sure_of_a_wrong_class():
    y, p = np.array([0, 1] * 50), np.array([0.1, 0.8] * 50)
    sure = np.where(np.arange(100) == 7, 0.0, p)
    settings: Any = {"calibrator": None, "replicates": 20}
    report = evaluate(y, {"rf": sure, "lr": p}, BINARY, **settings)
    assert WHY_INFINITE in part(report, QUALITY).sentences
    assert "∞" not in str(part(evaluate(y, {"lr": p}, BINARY, **settings), QUALITY))
    certain = Problem(BINARY.costs, prior=[0.0, 1.0])
    assert "gave probability 0" not in evaluate(y, {"lr": p}, certain, **settings).to_text()


def test_the_page_says_why_a_log_loss_is_infinite():
    pytest.importorskip("jinja2")
    report = evaluate([0, 1] * 50, {"rf": [0.1, 0.8] * 49 + [0.1, 0.0]}, BINARY, replicates=20)
    assert WHY_INFINITE in report.to_html()


def test_a_table_in_markdown_has_a_rule_for_every_column():
    lines = _table(Table(("system", "cost", "95 %"), (("forest", "0.4", "0.3 to 0.5"),))).split(
        "\n"
    )
    assert lines[1] == "| --- | ---: | ---: |"
    assert {line.count("|") for line in lines} == {4}


def test_a_class_without_cases_costs_nothing():
    system: Any = SimpleNamespace(
        spent=np.array([[2.0, 4.0], [0.0, 0.0]]), counts=Counts([[3, 1], [0, 0]])
    )
    whole: Any = SimpleNamespace(assumptions=SimpleNamespace(prior=(1.0, 0.0)))
    assert _spent(system, whole).tolist() == [[0.5, 1.0], [0.0, 0.0]]


@pytest.mark.parametrize(("at_most", "note"), [(0.5, " (breaks a limit)"), (1.0, "")])
def test_a_constant_decision_that_breaks_a_limit_says_so(at_most, note):
    report: Any = SimpleNamespace(
        naive=SimpleNamespace(decision=1),
        problem=SimpleNamespace(limits=(Limit.share(1, at_most=at_most),)),
    )
    assert _always(report) == f"always 1{note}"


def test_a_decision_with_a_long_name_that_breaks_a_limit_keeps_the_whole_note():
    decision = "inspect"
    report: Any = SimpleNamespace(
        naive=SimpleNamespace(decision=decision),
        problem=SimpleNamespace(limits=(Limit.share(decision, at_most=0.1),)),
    )
    assert _always(report) == "always inspect (breaks a limit)"


def test_replicates_are_named_only_where_some_were_drawn():
    """Decisions have no calibration, and with three classes nothing is simulated."""
    rng = np.random.default_rng(2)
    y, raw = rng.integers(0, 3, 200), rng.random((200, 3))
    models = {"m": raw / raw.sum(axis=1, keepdims=True)}
    two = Problem.binary(false_alarm=1, miss=2)
    drawn = evaluate(y % 2, rng.random(200), two, **FAST)
    others = [
        evaluate(y, models, Problem.zero_one(3), **FAST),
        evaluate(y % 2, {"d": rng.integers(0, 2, 200)}, two, **FAST),
    ]
    assert ("random numbers", "10 replicates, seed 0") in cells(drawn, "Assumptions")
    for report in others:
        assert ("random numbers", "seed 0") in cells(report, "Assumptions")


def test_a_cost_per_case_and_that_of_a_million_cases_show_the_same_digits():
    """The best constant decision costs 3.505, a half that a float is just below."""
    fraud = np.arange(2000) < 202
    scores = np.random.default_rng(4).normal(np.where(fraud, 1, -3), 1.5)
    problem = Problem([[0, 3], [180, 8]])
    settings: dict[str, Any] = {"volume": 1e6, "calibrator": None, "replicates": 10}
    report = evaluate(fraud.astype(int), 1 / (1 + np.exp(-scores)), problem, **settings)
    table = part(report, "Cost of each system").table
    assert table is not None
    places = [table.header.index(name) for name in ("cost per case", "in all")]
    costs, totals = zip(*([row[place] for place in places] for row in table.rows), strict=True)
    assert "3.51" in [cost.strip() for cost in costs]
    assert [1e6 * float(cost) for cost in costs] == pytest.approx(
        [float(total.replace(",", "")) for total in totals]
    )


@pytest.mark.parametrize(("volume", "text"), [(1, "1 case"), (250_000, "250,000 cases")])
def test_a_single_case_is_no_plural_and_no_line_is_too_long(volume, text):
    y = np.tile([0, 1], 40)
    posteriors = np.linspace(0.1, 0.9, 80)
    report = evaluate(y, posteriors, Problem.zero_one(2), volume=volume, period="year")
    assert any(f"{text} a year, " in sentence for sentence in report.verdict.sentences)
    assert ("volume", f"{text} per year") in cells(report, "Assumptions")
    assert "Calibrator: the map that predicts other folds best" in str(report)
    assert max(map(len, str(report).splitlines())) <= 100


def test_decimals_of_the_calling_program_change_no_number():
    """Such as a precision of six digits, which programs of accountants set."""
    numbers = [0.0, 1 / 3, -1234.5678, 98_765.4321, 1.23456e-7, 2.5e20, 0.99986]
    shows: list[Any] = [_text.number, _text.prose, _text.probability, _text.proportion]
    shows += [
        lambda value: _text.rounded_to(value, 9),
        lambda value: _text.small_amount(value, 12.5),
    ]

    def shown() -> list[str]:
        return [show(value) for show in shows for value in numbers]

    usual, text = shown(), str(report_of(FRAUD))
    strict = decimal.Context(prec=1, rounding=decimal.ROUND_UP, Emin=-2, Emax=2)
    for trap in (decimal.Inexact, decimal.Rounded, decimal.FloatOperation, decimal.Overflow):
        strict.traps[trap] = True
    with decimal.localcontext(strict):
        assert shown() == usual
        assert str(report_of(FRAUD)) == text


def test_a_bound_that_is_far_away_does_not_round_a_number_to_zero():
    """Two clusters say next to nothing about the greatest normalised cost."""
    nothing = float("nan")
    column = measured_column([(0.698, 0.03, 8285.0), (1.0, nothing, nothing)])
    assert [row[0] for row in column] == ["0.7", "1.0"]
    assert measured(0.002, -0.4, 0.4)[0] == "0.00"  # a difference that may be zero is
    assert measured(-0.698, -8285.0, -0.03)[0] == "−0.7"


def test_the_name_of_a_line_covers_neither_line():
    """As costs against coverage may be: the lower line hugs the axis, the upper one rises."""
    shares = [i / 20 for i in range(1, 21)]
    lines = {
        "pays below": tuple((x, 1.2 * x**3) for x in shares),
        "cost per decided case": tuple((x, 0.37 * x**3) for x in shares),
    }
    drawn = LinePicture("Cost against coverage", lines, "coverage", "per case").svg()
    placed = r'<text class="line-name \w+" x="([\d.]+)" y="([\d.]+)" [^>]*"(\w+)">'
    names = re.findall(placed, drawn)
    assert len(names) == 2
    dots = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', drawn)
    for x, y, anchor in ((float(x), float(y), anchor) for x, y, anchor in names):
        left, right = (x - 130, x) if anchor == "end" else (x, x + 130)
        under = [float(cy) for cx, cy in dots if left <= float(cx) <= right]
        assert not [cy for cy in under if y - 10 < cy < y + 3]


# What sentences refer to --------------------------------------------------------------------------


def text_of(report: Report, title: str) -> str:
    return " ".join(part(report, title).sentences)


def test_chances_are_explained_only_where_there_are_any():
    chances = (report_of(FRAUD), report_of(FRAUD, clusters=np.zeros(300)))
    tables = [part(report, "Cost of each system").table for report in chances]
    assert ["chance" in table.header for table in tables if table] == [True, False]
    explained = ["Chance: " in text_of(report, "Cost of each system") for report in chances]
    assert explained == [True, False]
    pytest.importorskip("jinja2")
    pages = [report.to_html() for report in chances]
    assert ["The chance of being cheapest is" in page for page in pages] == [True, False]


def test_a_prior_that_posteriors_hold_for_but_for_rounding_is_this_prior():
    report = report_of(BINARY)
    prior = report.assumptions.prior
    for nearly, same in ((prior[0] * (1 + 3e-16), True), (prior[0] + 1e-6, False)):
        moved = replace(report.assumptions, posterior_prior=(nearly, 1 - nearly))
        text = text_of(replace(report, assumptions=moved), "Assumptions")
        assert ("Posteriors hold for: this prior." in text) is same


def test_why_clear_flips_are_not_computed_names_the_running_costs():
    report = report_of(BINARY, running_costs={"plain": 0.01})
    text = text_of(report, "What would flip")
    assert "With running costs, the point at which that becomes clear is not computed." in text
    assert "such costs" not in text


def test_a_few_cases_of_a_class_that_is_called_by_a_number_are_of_that_class():
    sizes = np.array([60, 4])
    assert few_of_classes(sizes, (0, 1), 10) == "few cases (4 of class 1)"
    assert few_of_classes(sizes, ("0", "1"), 10) == "few cases (4 of class 1)"
    assert few_of_classes(sizes, ("-1", "1.0"), 10) == "few cases (4 of class 1.0)"
    assert few_of_classes(sizes, ("well", "ill"), 10) == "few cases (4 of ill)"


def test_a_range_whose_ends_read_alike_is_one_number():
    assert _spans([(0.7331, 0.73312), (0.5, 0.7)], probability) == ["73.3 %", "50 % to 70 %"]
