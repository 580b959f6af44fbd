"""The page as text: what it holds, how it is closed to attacks, and how large it gets."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jinja2")

from page_tables import cases_of, scores_of
from stakes import Between, Decisions, Limit, Problem, Report, Scores, bayes_decisions, evaluate
from stakes import report as names
from stakes.calibration import Affine
from stakes.errors import MissingExtraError
from stakes.render import html as page
from stakes.render.html import to_html
from stakes.render.page.data import _systems
from stakes.report import BAYES

PAGE = Path(names.__file__).parents[1] / "render" / "page"
FRAUD = Problem(
    [[0, 3, 25], [180, 8, 0]],
    classes=["legit", "fraud"],
    decisions=["approve", "review", "block"],
    prior=[0.98, 0.02],
    unit="EUR",
)


def report_of(n_cases: int = 400, problem: Problem = FRAUD, **settings) -> Report:
    rng = np.random.default_rng(4)
    y = (rng.random(n_cases) < 0.3).astype(int)
    log_odds = rng.normal(np.where(y == 1, 1.0, -1.0), 2**0.5)
    models = {"plain": 1 / (1 + np.exp(-log_odds)), "sharp": 1 / (1 + np.exp(-3 * log_odds))}
    labels = np.array(problem.classes, dtype=object)[y]
    return evaluate(labels, models, problem, **{"replicates": 20, "calibrator": None, **settings})


def data_of(html: str) -> dict:
    scripts = re.findall(r'<script type="application/json" id="stakes-data">(.*?)</script>', html)
    assert len(scripts) == 1
    return json.loads(scripts[0])


@pytest.fixture(scope="module")
def report() -> Report:
    return report_of()


# The file ----------------------------------------------------------------------------------------


def test_the_page_is_one_file_that_asks_for_nothing(report, tmp_path):
    html = report.to_html(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == html
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert re.findall(r'(?:src|href)="(?!#)[^"]*"', html) == []
    assert re.findall(r"https?://[^\s\"']+", html) == ["http://www.w3.org/2000/svg"]
    assert "url(" not in html.replace("url(#", "")


def test_the_same_report_gives_the_same_page(report):
    assert to_html(report) == to_html(report)


def test_a_missing_jinja_names_the_extra(report, monkeypatch):
    page._template.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'stakes\[report\]'"):
        to_html(report)


def test_the_verdict_the_caveats_and_the_assumptions_stand_in_the_text(report):
    html = to_html(report)
    for text in (*report.verdict.sentences, *(caveat.text for caveat in report.caveats)):
        assert text in unescape(html).replace("\u00a0", " ")
    assert "seed 0" in html


# Safety ------------------------------------------------------------------------------------------


def test_the_policy_names_the_hashes_of_the_only_style_and_the_only_script(report):
    html = to_html(report)
    policy = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert len(policy) == 1
    rules = dict(part.strip().split(" ", 1) for part in unescape(policy[0]).split(";"))
    assert rules["default-src"] == "'none'"
    for name, tag in (("style-src", "style"), ("script-src", "script")):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", html, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"
    assert set(rules) == {"default-src", "style-src", "script-src", "base-uri", "form-action"}


def test_hostile_labels_are_escaped_wherever_they_stand():
    labels = ["<script>alert(1)</script>", "</script><img src=x onerror=alert(2)>"]
    problem = Problem(
        [[0, 1], [5, 0]],
        classes=labels,
        decisions=["--><blink>", "&lt;\u2028"],
        unit="</style><svg onload=alert(3)>",
    )
    y = np.array(labels)[np.arange(60) % 2]
    score = np.linspace(0.1, 0.9, 60)
    models = {"</noscript><script>": score, "{{ 1 + 1 }}{% raw %}": score**2}
    html = to_html(evaluate(y, models, problem, by=y, replicates=20))
    assert len(re.findall(r"<script", html)) == 2
    assert len(re.findall(r"</script", html)) == 2
    assert re.findall(r"<(?:img|svg on|blink)", html) == []
    assert "{{ 1 + 1 }}" in html
    data = data_of(html)
    assert data["problem"]["classes"] == labels
    assert data["problem"]["decisions"] == ["--><blink>", "&lt;\u2028"]
    html.encode("utf-8")


def test_the_scripts_never_turn_text_into_markup():
    names = {path.name for path in PAGE.glob("*.js")}
    assert "page.js" in names
    for name in names:
        text = (PAGE / name).read_text(encoding="utf-8")
        for way in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("):
            assert way not in text, (name, way)
        assert not re.search(r"\b(?:fetch|XMLHttpRequest|WebSocket|import)\b", text), name


def bare_script(text: str) -> str:
    """Without what the page may leave out: spaces, and signs before a closing bracket."""
    return re.sub(r"[,;](?=[)\]}])", "", re.sub(r"\s", "", text))


def test_every_script_is_part_of_the_page(report):
    page = to_html(report)
    style = (PAGE / "page.css").read_text(encoding="utf-8")
    bare_style = re.sub(r"/\*.*?\*/|\s", "", style, flags=re.DOTALL).replace(";}", "}")
    assert bare_style in re.sub(r"\s", "", page)
    bare = bare_script(page)
    for path in PAGE.glob("*.js"):
        text = re.sub(r"(?m)(?:^|\s)// .*$", "", path.read_text(encoding="utf-8"))
        lines = map(str.strip, text.splitlines())
        code = [line for line in lines if line and not line.startswith(("/**", "*"))]
        assert bare_script("".join(code[-20:])).rstrip(";") in bare


def test_the_script_leaves_out_comments_and_keeps_every_string(report):
    script = re.findall(r"<script>(.*?)</script>", to_html(report), flags=re.DOTALL)[-1]
    assert re.findall(r"(?m)(?:^|\s)// .*$|/\*\*", script) == []
    for path in PAGE.glob("*.js"):
        code = re.sub(r"/\*\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for line in re.sub(r"(?m)(?:^|\s)// .*$", "", code).splitlines():
            strings = (
                re.findall(r'"[^"]*"|`[^`]*`', line)
                if line.count("`") in (0, 2)
                else [line.strip().rstrip(",;")]
            )
            assert all(string in script for string in strings), (path.name, line)


# The tallies -------------------------------------------------------------------------------------


def test_counts_and_scores_are_those_of_the_report(report):
    data = data_of(to_html(report))
    assert data["prior"] == list(report.assumptions.prior)
    for shown in data["systems"]:
        assert shown["counts"] == report.system(shown["name"]).counts.values.tolist()
    for shown, model in zip(data["models"], report.models, strict=True):
        assert model.table is not None
        scores = model.table.scores.tolist()
        assert scores_of(shown["table"]) == pytest.approx(scores, rel=1e-6)  # seven digits
        assert cases_of(shown["table"])[1] == model.table.weights[:, 1].tolist()
        assert not shown["table"]["binned"]


def test_where_the_prior_is_that_of_the_data_moved_systems_wait_for_it_to_move():
    report = report_of(problem=FRAUD.with_prior(None))
    data = data_of(to_html(report))
    added = [shown["name"] for shown in data["systems"] if shown["added"]]
    assert added == ["plain (moved)", "sharp (moved)"]
    assert {system.rule for system in report.systems} == {names.BAYES}


@pytest.mark.parametrize("problem", [FRAUD, Problem.binary(false_alarm=1, miss=30)])
def test_bins_keep_the_decisions_of_the_report(problem):
    """Scores are pooled so that no bin holds two decisions at the stakes of the report."""
    report = report_of(5000, problem)
    data = data_of(to_html(report))
    for shown, model in zip(data["models"], report.models, strict=True):
        table = shown["table"]
        assert model.table is not None
        assert table["binned"]
        assert len(table["scores"]) <= names.MOST_BINS
        assert len(table["scores"]) > 0.9 * names.MOST_BINS
        assert np.sum(cases_of(table)) == 5000
        decided = bayes_decisions(scores_of(table), report.problem)
        counts = [
            [np.array(cases)[decided == decision].sum() for decision in problem.decisions]
            for cases in cases_of(table)
        ]
        (as_is,) = (
            system
            for system in report.systems
            if system.model == model.model and system.rule == names.BAYES
        )
        assert counts == as_is.counts.values.tolist()


def test_rare_positives_keep_their_bins():
    """Both classes are split evenly: no bin holds more than its share of the rare class."""
    rng = np.random.default_rng(6)
    y = (np.arange(100_000) < 500).astype(int)
    scores = 1 / (1 + np.exp(-rng.normal(3.0 * y - 5)))
    problem = Problem.binary(false_alarm=1, miss=9)
    report = evaluate(y, {"model": scores}, problem, replicates=10)
    (shown,) = data_of(to_html(report))["models"]
    negatives, positives = cases_of(shown["table"])
    assert max(positives) <= 3
    assert max(negatives) <= 400


def test_the_page_of_decisions_alone_speaks_of_no_posteriors():
    taken = Decisions(["approve", "block"] * 10)
    html = evaluate(["legit", "fraud"] * 10, {"rule": taken}, FRAUD, replicates=20).to_html()
    assert "posteriors hold for" not in html
    assert "posteriors hold for" in report_of(40).to_html()


def test_numbers_that_json_lacks_are_words():
    """A class that the prior expects but the data lack leaves every cost undefined."""
    problem = Problem([[0, 1], [5, 0]], classes=["no", "yes"], prior=[0.9, 0.1])
    models = {"bold": Decisions(["yes"] * 40), "score": Scores([-np.inf, *range(39)])}
    report = evaluate(["no"] * 40, models, problem.with_prior([0.9, 0.1]), replicates=10)
    data = data_of(to_html(report))
    assert data["systems"][0]["cost"][0] == "nan"
    assert data["models"][1]["table"]["scores"][0] == "-inf"


# The size ----------------------------------------------------------------------------------------


large = pytest.mark.parametrize(
    "n_cases", [30_000, pytest.param(1_000_000, marks=pytest.mark.slow)]
)


def five_models(n_cases: int, weights: object) -> Report:
    """Far more scores than a page has bins; recalibrated too."""
    rng = np.random.default_rng(9)
    y = (rng.random(n_cases) < 0.02).astype(int)
    models = {f"model {j}": 1 / (1 + np.exp(-rng.normal((1 + j / 4) * y - 4))) for j in range(5)}
    truth = np.array(FRAUD.classes)[y]
    return evaluate(truth, models, FRAUD, weights=weights, replicates=20, calibrator=Affine())


@large
def test_five_models_take_less_than_420_kb_whatever_the_number_of_cases(n_cases):
    html = to_html(five_models(n_cases, None))
    assert len(html.encode("utf-8")) < 420_000
    assert f"{names.MOST_BINS:,} bins" in html
    data = data_of(html)
    assert all(sum(cases_of(m["table"])[0]) > 0.9 * n_cases for m in data["models"])


@large
def test_fractional_weights_take_less_than_420_kb_too(n_cases):
    weights = np.random.default_rng(1).uniform(0.5, 2, n_cases)
    assert len(to_html(five_models(n_cases, weights)).encode("utf-8")) < 420_000


@pytest.mark.slow
def test_a_page_shows_baseline_and_unknown_costs_and_says_that_they_do_not_follow_the_sliders():
    problem = Problem([[0, 3, 25], [Between(80, 300), 8, 0]], classes=["legit", "fraud"])
    y = np.array(["legit", "legit", "fraud"] * 30)
    models = {"new": np.tile([0.02, 0.2, 0.6], 30), "old": Decisions(np.tile([0, 1, 1], 30))}
    page = evaluate(y, models, problem, baseline="old", calibrator=None, replicates=10).to_html()
    for title in ("Against the baseline", "Uncertain costs"):
        live = page[page.index("</noscript>") :]
        part = live[live.index(f"<h2>{title}</h2>") :]
        part = part[: part.index("</section>")]
        assert "this table does not follow the sliders" in part
        assert "<table>" in part
    assert page.count("<h2>Against the baseline</h2>") == 2  # once for readers without scripts


def test_a_page_under_limits_shows_them_and_says_why_it_has_no_sliders():
    page = report_of(problem=FRAUD.with_limits([Limit.share("review", at_most=0.05)])).to_html()
    assert "This problem has limits, so this page has no sliders" in page
    assert "at the margin" in page
    assert "Cost against capacity" in page


@pytest.mark.parametrize(
    ("costs", "decides", "reason"),
    [
        ([[0, 1], ["amount", 0]], False, None),
        ([[0, 1], ["amount", 0]], True, "the page does not hold what the cases"),
        ([[0, 1, 2], ["amount", 5, 0]], False, "with 3 decisions even their order"),
        ([[0, 1], ["amount", 0], [1, 0]], False, "with 3 classes no single probability decides"),
    ],
    ids=["two decisions", "a model that decides", "three decisions", "three classes"],
)
def test_a_page_of_case_costs_says_why_no_other_thresholds_can_be_tried(costs, decides, reason):
    y, rng = np.arange(60) % len(costs), np.random.default_rng(2)
    posteriors = rng.dirichlet(np.ones(len(costs)), 60)
    model = Decisions(y % 2) if decides else posteriors
    data = {"amount": rng.lognormal(1, 1, 60)}
    report = evaluate(y, {"m": model}, Problem(costs), data=data, calibrator=None, replicates=10)
    text = unescape(to_html(report))
    assert ("Other thresholds cannot be tried here" in text) is (reason is not None)
    assert reason is None or f"every case has its own costs, and {reason}" in text


@pytest.mark.parametrize(
    ("n_classes", "columns", "prior", "added"),
    [
        (2, (), (0.9, 0.1), ["m (moved)"]),
        (3, (), (0.8, 0.1, 0.1), []),
        (2, ("amount",), (0.9, 0.1), []),
        (2, (), (1.0, 0.0), []),
    ],
)
def test_the_page_moves_posteriors_of_two_classes_that_both_occur(n_classes, columns, prior, added):
    report: Any = SimpleNamespace(
        systems=[SimpleNamespace(model="m", rule=BAYES, name="m (as is)")],
        problem=SimpleNamespace(n_classes=n_classes, columns=columns),
        assumptions=SimpleNamespace(posterior_prior=prior),
    )
    assert [system.name for system, is_added in _systems(report) if is_added] == added


def test_the_page_names_replicates_only_where_some_were_drawn():
    rng = np.random.default_rng(2)
    y, problem = rng.integers(0, 2, 200), Problem.binary(false_alarm=1, miss=2)
    settings: dict[str, Any] = {"calibrator": None, "replicates": 10}
    drawn = evaluate(y, rng.random(200), problem, **settings)
    decided = evaluate(y, {"d": Decisions(rng.integers(0, 2, 200))}, problem, **settings)
    assert "<dd>10 replicates, seed 0</dd>" in drawn.to_html()
    assert "<dd>seed 0</dd>" in decided.to_html()
