"""Columns from files: every format, labels by text, and no guess that is not safe."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("click")
pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

import duckdb
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from stakes import Decisions, Posteriors, Problem, Scores, _check
from stakes._files import check_target, whole_file
from stakes.adapters.checked_columns import checked, posterior_columns
from stakes.adapters.columns import Columns, prediction_columns, spellings
from stakes.adapters.data_files import Files, Format, engine_errors, located
from stakes.adapters.duck import FileSource, opened_files
from stakes.adapters.engine_work import Advance, Watch
from stakes.adapters.report_on import memory_size
from stakes.adapters.sources import RowArrays
from stakes.cli.options import report_on_files, rewrite, stated_columns
from stakes.errors import InputError

TWO = Problem([[0, 3, 25], [180, 8, 0]], classes=["legit", "fraud"], decisions=["ok", "ask", "no"])
THREE = Problem.zero_one(["ash", "oak", "elm"])
ROWS: dict[str, Any] = {
    "truth": ["legit", "fraud", "legit"],
    "p": [0.1, 0.9, 0.25],
    "q_prob": [0.5, 0.75, 0.0],
}


@contextmanager
def source_of(path: str | Path, standard_input: bytes = b"") -> Iterator[FileSource]:
    with opened_files([str(path)], io.BytesIO(standard_input)) as source:
        yield source


def as_csv(rows: dict[str, Any]) -> str:
    lines = [",".join(rows), *(",".join(map(str, row)) for row in zip(*rows.values(), strict=True))]
    return "\n".join(lines) + "\n"


def csv_file(folder: Path, rows: dict[str, Any], name: str = "rows.csv") -> Path:
    path = folder / name
    path.write_text(as_csv(rows), encoding="utf-8")
    return path


def read_two(source: FileSource) -> tuple[list[int], list[float]]:
    rows = source.rows(Columns("truth", {"m": Scores("p")}), TWO, source.count())
    return rows.y_true.codes.tolist(), rows.models["m"].values.tolist()


# Formats -----------------------------------------------------------------------------------------


def write_csv(path: Path) -> None:
    path.write_text(as_csv(ROWS), encoding="utf-8")


def write_gzip(path: Path) -> None:
    import gzip

    path.write_bytes(gzip.compress(as_csv(ROWS).encode()))


def write_tsv(path: Path) -> None:
    path.write_text(as_csv(ROWS).replace(",", "\t"), encoding="utf-8")


def write_json(path: Path) -> None:
    pairs = zip(*ROWS.values(), strict=True)
    lines = [f'{{"truth": "{t}", "p": {p}, "q_prob": {q}}}' for t, p, q in pairs]
    path.write_text("\n".join(lines), encoding="utf-8")


def write_parquet(path: Path) -> None:
    pyarrow.parquet.write_table(pa.table(ROWS), path)


def write_feather(path: Path) -> None:
    pyarrow.feather.write_feather(pa.table(ROWS), str(path))


def write_stream(path: Path) -> None:
    table = pa.table(ROWS)
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table)


FORMATS = {
    "rows.csv": write_csv,
    "rows.csv.gz": write_gzip,
    "rows.tsv": write_tsv,
    "rows.jsonl": write_json,
    "rows.parquet": write_parquet,
    "rows.feather": write_feather,
    "rows.arrow": write_feather,
    "rows.arrows": write_stream,
    "it's [1] 100%?*.csv": write_csv,
    "no suffix": write_csv,
    "parquet without suffix": write_parquet,
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_columns(tmp_path, name):
    FORMATS[name](tmp_path / name)
    with source_of(tmp_path / name) as source:
        assert list(source.types) == list(ROWS)
        assert read_two(source) == ([0, 1, 0], [0.1, 0.9, 0.25])


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "rows.tsv"])
def test_standard_input_is_recognised_by_how_it_begins(tmp_path, name):
    FORMATS[name](tmp_path / "rows")
    with source_of("-", (tmp_path / "rows").read_bytes()) as source:
        assert source.name == "standard input"
        assert read_two(source) == ([0, 1, 0], [0.1, 0.9, 0.25])


@pytest.mark.parametrize("sign", ["#", "//", ";", "%", "'"])
def test_rows_that_begin_with_the_sign_of_a_comment_are_rows(tmp_path, sign):
    path = tmp_path / "rows.csv"
    path.write_text(f"id,truth,p\n1,legit,0.25\n{sign}2,fraud,0.5\n{sign} 3,legit,0.75\n")
    with source_of(path) as source:
        assert list(source.types) == ["id", "truth", "p"]
        assert read_two(source) == ([0, 1, 0], [0.25, 0.5, 0.75])


def test_signs_of_comments_and_quotes_within_entries_are_text(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(
        'truth,note,p\n"legit","a ""b"", c # d",0.25\nfraud,"x\ny",0.5 \nlegit,#,0.75\n'
    )
    with source_of(path) as source:
        assert read_two(source) == ([0, 1, 0], [0.25, 0.5, 0.75])


def test_a_glob_reads_its_files_in_the_order_of_their_names(tmp_path):
    for name, low in (("b.parquet", 0.5), ("a.parquet", 0.25)):
        table = pa.table({"truth": ["legit", "fraud"], "p": [low, low + 0.125]})
        pyarrow.parquet.write_table(table, tmp_path / name)
    with source_of(tmp_path / "*.parquet") as source:
        assert read_two(source) == ([0, 1, 0, 1], [0.25, 0.375, 0.5, 0.625])


def test_files_of_a_glob_match_by_the_names_of_their_columns(tmp_path):
    csv_file(tmp_path, {"truth": ["legit"], "p": [0.25]}, "a.csv")
    csv_file(tmp_path, {"p": [0.5], "truth": ["fraud"]}, "b.csv")
    with source_of(tmp_path / "*.csv") as source:
        assert read_two(source) == ([0, 1], [0.25, 0.5])


def test_a_glob_of_two_formats_is_refused(tmp_path):
    write_csv(tmp_path / "a.csv")
    write_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="files of one format; it matches CSV, Parquet"):
        source_of(tmp_path / "a.*").__enter__()


def test_several_files_hold_the_rows_together(tmp_path):
    """As when the shell resolves a glob."""
    first = csv_file(tmp_path, {"truth": ["legit"], "p": [0.25]}, "a.csv")
    second = csv_file(tmp_path, {"p": [0.5], "truth": ["fraud"]}, "b.csv")
    with opened_files([str(second), str(first)]) as source:
        assert source.name == f"{second} … {first}"
        assert read_two(source) == ([1, 0], [0.5, 0.25])
    for paths, message in (
        ([str(first), str(tmp_path / "a*")], "must name every file once; one appears twice"),
        ([str(first), "-"], r"standard input \(-\) must be the only file"),
        ([str(first), str(tmp_path / "none.csv")], "there is no such file"),
    ):
        with pytest.raises(InputError, match=message):
            located(paths, io.BytesIO()).__enter__()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("none.csv", "there is no such file"),
        ("none*.csv", "the pattern matches none"),
        ("https://none.test/a.csv", "nothing is fetched from an address"),
    ],
)
def test_a_file_that_is_not_there_is_named(name, why):
    with pytest.raises(InputError, match=rf"none.*must be a file of predictions; {why}"):
        source_of(name).__enter__()


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(InputError, match="it is a folder"):
        source_of(tmp_path).__enter__()


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "rows.csv").touch()
    with pytest.raises(InputError, match="must hold rows; it is empty"):
        source_of(tmp_path / "rows.csv").__enter__()
    with pytest.raises(InputError, match="standard input must hold rows"):
        source_of("-").__enter__()


BLANK = {  # files without a row
    "line.csv": b"\n",
    "lines.csv": b"\r\n \t\r\n",
    "mark.csv": b"\xef\xbb\xbf",
    "nothing.csv.gz": gzip.compress(b""),
    "line.csv.gz": gzip.compress(b"\n"),
    "list.json": b"[]\n",
    "object.jsonl": b"{}",
    "line.json": b"\n",
}


@pytest.mark.parametrize("name", BLANK)
def test_a_file_with_nothing_in_it_is_empty(tmp_path, name):
    (tmp_path / name).write_bytes(BLANK[name])
    told = rf"{name} must hold rows; it is empty\. Name a file with"
    with pytest.raises(InputError, match=told):
        Columns.guess(tmp_path / name, TWO)


def test_a_line_that_is_too_long_is_refused_with_its_size(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("truth,p,note\n" + "0,0.5,short\n" * 3 + f"1,0.5,{'x' * 3_000_000}\n")
    told = r"lines of at most 2000000 bytes; one that begins with '.+' has 30000\d\d\. Leave its"
    with pytest.raises(InputError, match=told):
        Columns.guess(path, TWO)


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_a_file_with_two_names_is_not_counted_twice(tmp_path, link):
    link(csv_file(tmp_path, ROWS, "a.csv"), tmp_path / "b.csv")
    told = r"must name every file once; one appears twice, as .*a\.csv and .*b\.csv\. Leave"
    with pytest.raises(InputError, match=told):
        Columns.guess(str(tmp_path / "*.csv"), TWO)


@pytest.mark.parametrize("name", ["rows.parquet", "rows.arrow", "rows.csv.gz", "rows.jsonl"])
def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path, name):
    (tmp_path / name).write_bytes(b"\x93 no such thing\n" * 9)
    with pytest.raises(InputError, match=f"{name} cannot be read: .*[^.]\\.$") as caught:
        source_of(tmp_path / name).__enter__()
    assert "\n" not in str(caught.value)


def test_what_an_engine_says_of_a_file_without_columns_becomes_a_rule_and_a_remedy():
    with (
        pytest.raises(InputError, match=r"^x must be comma-separated values; .* Write a line"),
        engine_errors(Files("x", (), Format.CSV)),
    ):
        raise duckdb.InvalidInputException('Error when sniffing file "x".\nIt was not possible')


@pytest.mark.parametrize("line", [1, 10, 50_001])
def test_text_that_is_not_in_utf_8_is_reported_with_its_line(tmp_path, line):
    lines = ["truth,p", *["legit,0.5"] * line]
    lines[line - 1] = lines[line - 1].replace("t,", "\xe9,").replace("h,", "\xe9,")
    (tmp_path / "rows.csv").write_bytes("\n".join(lines).encode("latin-1") + b"\n")

    def read() -> None:
        with source_of(tmp_path / "rows.csv") as source:
            source.rows(Columns("truth"), TWO, line)

    with pytest.raises(InputError, match=f"must be text in UTF-8; line {line} is not. Convert it"):
        read()


# Labels and numbers ------------------------------------------------------------------------------


def test_spellings_never_take_the_text_of_another_label():
    assert spellings(["1", 1]) == {"1": 1, "1.0": 1, "true": 1, "True": 1}
    assert spellings([False, True, "0"])["0"] == 2
    assert spellings(["True", "true"]) == {"True": 0, "true": 1}


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        ([0, 1, 1], [0, 1]),
        ([0, 1, 1], ["0", "1"]),
        ([0.0, 1.0, 1.0], [0, 1]),
        ([False, True, True], [False, True]),
        ([False, True, True], [0, 1]),
        ([0, 1, 1], [False, True]),
        (["0", "1", "1"], [0, 1]),
        (["7", "007", "007"], ["7", "007"]),
        (["True", "False", "False"], ["True", "False"]),
        (["é\u2028", "'", "'"], ["é\u2028", "'"]),
    ],
)
@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet", "rows.feather"])
def test_labels_of_files_match_by_text(tmp_path, name, values, classes):
    table = pa.table({"y": values})
    if name == "rows.csv":
        csv_file(tmp_path, {"y": values})
    elif name == "rows.parquet":
        pyarrow.parquet.write_table(table, tmp_path / name)
    else:
        pyarrow.feather.write_feather(table, str(tmp_path / name))
    with source_of(tmp_path / name) as source:
        rows = source.rows(Columns("y"), Problem.zero_one(classes), 3)
    assert rows.y_true.codes.tolist() == [0, 1, 1]


def test_whole_numbers_that_are_stored_as_fractions_lose_their_trailing_zero(tmp_path):
    pyarrow.parquet.write_table(pa.table({"y": [2.5, 3.0, -1e20]}), tmp_path / "rows.parquet")
    with source_of(tmp_path / "rows.parquet") as source:
        rows = source.rows(Columns("y"), Problem.zero_one(["2.5", "3", "-1e+20"]), 3)
    assert rows.y_true.codes.tolist() == [0, 1, 2]


def test_text_of_a_label_column_is_never_reinterpreted(tmp_path):
    rows = {"day": ["2024-01-01", "2024-1-1"], "p": [0.1, 0.2]}
    with source_of(csv_file(tmp_path, rows)) as source:
        columns = source.rows(Columns("day"), Problem.zero_one(rows["day"]), 2)
    assert columns.y_true.codes.tolist() == [0, 1]


def test_labels_that_are_not_wanted_are_counted_and_shown(tmp_path):
    rows = {"truth": ["legit", "Fraud", "Fraud", "", "fraud"], "p": [0.1] * 5}
    message = (
        "column 'truth' of .* must hold the classes legit, fraud in every row; 3 of 5 rows hold "
        "something else, most often 'Fraud'"
    )
    with source_of(csv_file(tmp_path, rows)) as source, pytest.raises(InputError, match=message):
        read_two(source)


def test_labels_in_many_blocks_get_one_set_of_codes(tmp_path):
    n = 200_000
    groups = np.random.default_rng(0).integers(0, 50, n)
    table = pa.table({"g": [f"g{k}" for k in groups], "p": np.linspace(0, 1, n)})
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
    steps = Steps()
    problem = Problem.zero_one([f"g{k}" for k in range(50)])
    with opened_files([str(tmp_path / "rows.parquet")], watch=steps) as source:
        columns = Columns("g", {"m": Scores("p")}, by=("g",))
        rows = source.rows(columns, problem, n)
    assert (rows.y_true.codes == groups).all()
    assert rows.by is not None
    names = np.array(rows.by["g"].categories)
    assert (names[rows.by["g"].codes] == [f"g{k}" for k in groups]).all()
    assert (rows.models["m"].values == np.linspace(0, 1, n)).all()
    assert sum(steps.moved) == n
    assert len(steps.moved) > 1


class Steps(Watch):
    """Keeps how many rows each step of the work took."""

    def __init__(self) -> None:
        self.moved: list[int] = []

    @contextmanager
    def working(self, what: str, n_rows: int, *, steps: bool = True) -> Iterator[Advance]:
        yield lambda rows, then="": self.moved.append(rows)


def test_columns_that_nobody_asked_for_may_hold_anything(tmp_path):
    rows = {**ROWS, "note": ["1", "2", "three"], "more": ["{", "'", "0.5"]}
    with source_of(csv_file(tmp_path, rows)) as source:
        assert read_two(source)[1] == [0.1, 0.9, 0.25]


def test_a_gap_in_a_column_of_numbers_is_nan(tmp_path):
    rows = {"truth": ["legit", "fraud"], "p": [0.5, ""]}
    with source_of(csv_file(tmp_path, rows)) as source:
        [(_, numbers)] = source.with_numbers(["p"], verbatim=False)
        with pytest.raises(InputError, match=r"1 of 2 is missing .* in row 1"):
            read_two(source)
    assert numbers[0] == 0.5
    assert np.isnan(numbers[1])


def test_a_file_that_vanishes_is_one_sentence(tmp_path):
    path = tmp_path / "rows.parquet"
    write_parquet(path)
    with source_of(path) as source:
        path.unlink()
        with pytest.raises(InputError, match="cannot be read"):
            read_two(source)


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path):
    path = csv_file(tmp_path, ROWS)
    with source_of(path) as source, pytest.raises(InputError, match="changed while it was read"):
        source.rows(stated_columns(source, TWO), TWO, 2)


# Guesses -----------------------------------------------------------------------------------------


def plan(tmp_path: Path, rows: dict[str, Any], problem: Problem, **options: Any) -> Columns:
    with source_of(csv_file(tmp_path, rows)) as source:
        return checked(stated_columns(source, problem, **options), source, problem)


def columns_by_name(columns: Columns) -> dict[str, tuple[str, ...]]:
    return {name: prediction_columns(model) for name, model in columns.models.items()}


def read(source: FileSource, problem: Problem, **options: Any) -> RowArrays:
    columns = stated_columns(source, problem, **options)
    return source.rows(columns, problem, source.count())


class Notes(Watch):
    """Keeps what was said."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def says(self, text: str) -> None:
        self.sentences.append(text)


def guesses(tmp_path: Path, rows: dict[str, Any], problem: Problem, **options: Any) -> str:
    """What was said about guesses."""
    notes = Notes()
    with opened_files([str(csv_file(tmp_path, rows))], watch=notes) as source:
        stated_columns(source, problem, **options)
    return " ".join(notes.sentences)


@pytest.mark.parametrize("name", ["truth", "label", "y", "y_true", "Target", "CLASS"])
def test_the_truth_is_guessed_by_its_name(tmp_path, name):
    rows = {"id": [1, 2], name: ["legit", "legit"], "p": [0.1, 0.2]}
    assert plan(tmp_path, rows, TWO).y_true == name


def test_the_truth_is_guessed_by_its_values(tmp_path):
    rows = {"kind": ["a", "b", "c"], "outcome": ["fraud", "legit", "legit"], "p": [0.1, 0.2, 0.5]}
    assert plan(tmp_path, rows, TWO).y_true == "outcome"
    assert guesses(tmp_path, rows, TWO).endswith(": truth in column outcome; p: P(fraud) in p.")


def test_whole_numbers_are_guessed_to_be_the_truth_by_their_text(tmp_path):
    rows = {"outcome": [1, 0, 1], "size": [3, 4, 5], "p": [0.1, 0.2, 0.5]}
    assert plan(tmp_path, rows, Problem.zero_one(2)).y_true == "outcome"


def test_two_possible_truths_are_not_guessed_between(tmp_path):
    rows = {"a": ["fraud", "legit"], "b": ["legit", "fraud"], "p": [0.1, 0.2]}
    with pytest.raises(
        InputError, match=r"2 columns hold the classes legit, fraud \(a, b\)\. Name "
    ):
        plan(tmp_path, rows, TWO)
    assert plan(tmp_path, rows, TWO, truth="b").y_true == "b"


def test_a_column_with_too_few_classes_is_not_the_truth(tmp_path):
    rows = {"a": ["legit", "legit"], "p": [0.1, 0.2]}
    with pytest.raises(InputError, match="no column holds exactly the classes legit, fraud"):
        plan(tmp_path, rows, TWO)


def test_models_of_two_classes_are_columns_within_the_unit_interval_whose_names_say_so(tmp_path):
    rows = {**ROWS, "p_whole": [0, 1, 0], "p_id": [7, 8, 9], "amount": [0.5, 12.5, ""]}
    rows |= {"discount": [0.25, 0.5, 0.0], "p_value": [0.5, 0.5, 0.5], "scoreboard": [0.5] * 3}
    planned = plan(tmp_path, rows, TWO)
    assert list(planned.models) == ["p", "q_prob", "p_whole"]
    told = "truth in column truth; p: P(fraud) in p; q_prob: P(fraud) in q_prob; p_whole"
    assert told in guesses(tmp_path, rows, TWO)


UNUSABLE = {
    "text": (["10%", "90%", "25%"], r"3 of 3 are not, the first being '10%' in row 0"),
    "one entry of text": ([0.5, "n/a", 0.5], r"1 of 3 is not, being 'n/a' in row 1 \("),
    "decimal commas": (['"0,1"', '"0,9"', '"0,2"'], "3 of 3 are not, the first being '0,1'"),
    "dates": (["2024-01-01"] * 3, r"must hold numbers; 3 of 3 .* '2024-01-01'"),
    "gaps": (
        [0.5, "", 0.5],
        r"a number in every row; 1 of 3 is missing .* first in row 1 \(counted",
    ),
    "nan": (
        [0.5, 0.5, "nan"],
        r"a number in every row; 1 of 3 is missing .* the first in row 2 \(counted from 0\)",
    ),
    "nothing at all": ([""] * 3, r"must hold numbers; all entries are missing\."),
    "per cent": (
        [10.5, 90.0, 25.0],
        r"in \[0, 1\]; 3 of 3 do not.*Divide percentages by 100\. Pass raw scores as scores",
    ),
    "whole per cent": ([10, 90, 25], r"in \[0, 1\]; 3 of 3 do not, .*Divide percentages by 100\."),
    "numbers below zero": (
        [-0.1, 0.5, 0.5],
        r"in \[0, 1\]; 1 of 3 does not, the first being -0\.1 at position 0\.",
    ),
}


@pytest.mark.parametrize("what", UNUSABLE)
def test_a_column_whose_name_says_model_is_never_left_out_in_silence(tmp_path, what):
    values, message = UNUSABLE[what]
    path = csv_file(tmp_path, {**ROWS, "p_odd": values})
    with source_of(path) as source:
        told = f"column 'p_odd' of .*{message}.* name all models that you want"
        with pytest.raises(InputError, match=told):
            report_on_files([str(path)], TWO)
        assert list(read(source, TWO, models=("p",)).models) == ["p"]


def test_whole_numbers_that_may_be_decisions_are_asked_about(tmp_path):
    rows = {"y": [0, 1, 1], "p_hard": [0, 1, 0], "p_soft": [0.5, 0.5, 0.75]}
    with pytest.raises(
        InputError, match=r"column 'p_hard' .* it holds whole numbers\. .*name it as a model"
    ):
        plan(tmp_path, rows, Problem.zero_one(2))


def test_a_gap_does_not_hide_that_two_columns_may_be_the_model(tmp_path):
    rows = {"truth": ["legit", "fraud"], "forest": ["", 0.5], "boosting": [0.25, 0.75]}
    with pytest.raises(
        InputError, match=r"2 columns of .* hold numbers in \[0, 1\] \(forest, boosting\)"
    ):
        plan(tmp_path, rows, TWO)


@pytest.mark.parametrize(
    ("name", "others"),
    [
        *((name, {"p_new": [0.5, 0.75]}) for name in ("p_legit", "P(legit)", "proba_0")),
        *((name, {"p_new": [0.5, 0.75]}) for name in ("legit_prob", "p_legit_forest")),
        *((name, {}) for name in ("forest_legit", "Legit share")),  # the only one that it can be
    ],
)
def test_probabilities_of_the_first_class_are_not_taken_for_those_of_the_second(
    tmp_path, name, others
):
    rows = {"truth": ["legit", "fraud"], name: [0.75, 0.25], **others}
    with pytest.raises(
        InputError, match=r"must hold P\(fraud\); its name speaks of the first class"
    ):
        plan(tmp_path, rows, TWO)


@pytest.mark.parametrize("name", ["p_0_forest", "p_legit_or_fraud", "p_legitimate"])
def test_names_that_do_not_speak_of_the_first_class_alone_are_models(tmp_path, name):
    rows = {"truth": ["legit", "fraud"], name: [0.75, 0.25]}
    assert [*columns_by_name(plan(tmp_path, rows, TWO)).values()] == [(name,)]


NO_YES = Problem([[0, 3, 25], [180, 8, 0]], classes=["no", "yes"], decisions=["ok", "ask", "stop"])


@pytest.mark.parametrize(
    ("problem", "values"),
    [
        (Problem.zero_one(2), (0, 1)),
        (Problem.zero_one(["0", "1"]), (0, 1)),
        (Problem.zero_one([False, True]), ("False", "True")),
        (Problem.zero_one([1, 2]), (1, 2)),
        (NO_YES, ("no", "yes")),
        (Problem.zero_one(["ash", "elm", "oak"]), ("ash", "elm", "oak")),
    ],
)
@pytest.mark.parametrize("name", ["proba", "prob", "p", "forest_proba", "score_new"])
def test_columns_numbered_from_zero_are_one_model(tmp_path, problem, values, name):
    columns = tuple(f"{name}_{k}" for k in range(problem.n_classes))
    rows: dict[str, Any] = {"y": values, "size": [3.5] * len(values)}
    rows |= {column: [0.25] * len(values) for column in columns}
    model = name.removeprefix("score_")
    assert columns_by_name(plan(tmp_path, rows, problem)) == {model: columns}


def test_the_order_of_numbered_columns_is_asked_for_where_the_classes_are_not_sorted(tmp_path):
    rows = {"truth": ["legit", "fraud"], "proba_0": [0.5, 0.75], "proba_1": [0.5, 0.25]}
    message = (
        r"the classes of the problem \(legit, fraud\) are not in sorted order\. If proba_0 is "
        r"P\(fraud\), as .* order proba_1,proba_0; if it is P\(legit\), in the order "
        r"proba_0,proba_1\."
    )
    with pytest.raises(InputError, match=message):
        plan(tmp_path, rows, TWO)
    planned = plan(tmp_path, rows, TWO, models=("proba=proba_1,proba_0",))
    assert columns_by_name(planned) == {"proba": ("proba_1", "proba_0")}


def test_columns_numbered_otherwise_are_models_of_their_own(tmp_path):
    rows = {"truth": ["legit", "fraud"]} | {f"p_{k}": [0.25 * k] * 2 for k in (1, 2, 3)}
    columns = columns_by_name(plan(tmp_path, rows, TWO))
    assert columns == {"p_1": ("p_1",), "p_2": ("p_2",), "p_3": ("p_3",)}


def test_columns_of_every_class_are_a_model_or_an_error(tmp_path):
    rows = {"truth": ["legit", "fraud"], "net_legit": [0, 1], "net_fraud": [1, 0]}
    assert columns_by_name(plan(tmp_path, rows, TWO)) == {"net": ("net_legit", "net_fraud")}
    rows |= {"old_legit": ["20%", "30%"], "old_fraud": ["80%", "70%"]}
    with pytest.raises(InputError, match=r"column 'old_legit' .* '20%' in row .* name all models"):
        plan(tmp_path, rows, TWO)


def test_features_with_numbers_in_their_names_are_no_models(tmp_path):
    rows = {"y": [0, 1], "sex_0": [0, 1], "sex_1": [1, 0], "y_0": [0.0, 1.5], "y_1": [1.5, 0.0]}
    rows |= {
        "note_0": ["a", "b"],
        "note_1": ["c", "d"],
        "proba_0": [0.5, 0.5],
        "proba_1": [0.5, 0.5],
    }
    assert list(plan(tmp_path, rows, Problem.zero_one(2)).models) == ["proba"]


@pytest.mark.parametrize(
    "name",
    [
        *("p", "P", "p_new", "new_p", "prob_new", "new-prob", "new_proba", "Proba 2"),
        *("probability", "new_score", "score.new", "fraud", "P(fraud)", "new_posterior"),
    ],
)
def test_names_that_say_probability_are_guessed_beside_others(tmp_path, name):
    rows = {"truth": ["legit", "fraud"], "discount": [0.25, 0.5], name: [0.5, 0.75]}
    model = name.removeprefix("p_").removeprefix("prob_")
    assert columns_by_name(plan(tmp_path, rows, TWO)) == {model: (name,)}


@pytest.mark.parametrize(
    ("columns", "models"),
    [
        (["p_forest", "p_net"], ["forest", "net"]),
        (["P_forest", "p_p_net"], ["forest", "p_net"]),
        (["proba_forest", "proba_net"], ["forest", "net"]),
        (["score_a"], ["a"]),
        (["p_forest", "prob_net"], ["p_forest", "prob_net"]),  # no word begins both
        (["p_forest", "net_p"], ["p_forest", "net_p"]),
        (["p_fraud"], ["p_fraud"]),  # a model is not called as a class is
        (["p_Fraud", "p_new"], ["p_Fraud", "p_new"]),
        (["p_2", "p_3"], ["p_2", "p_3"]),
        (["p_legit_or_fraud"], ["p_legit_or_fraud"]),
        (["p_"], ["p_"]),
    ],
)
def test_a_word_for_probability_that_begins_all_columns_is_not_part_of_the_models_names(
    tmp_path, columns, models
):
    rows = {"truth": ["legit", "fraud"], **{name: [0.5, 0.75] for name in columns}}
    planned = columns_by_name(plan(tmp_path, rows, TWO))
    assert planned == {name: (column,) for name, column in zip(models, columns, strict=True)}


def test_the_only_column_that_may_be_a_model_is_guessed_whatever_its_name(tmp_path):
    rows = {"truth": ["legit", "fraud"], "forest": [0.25, 0.5], "amount": [7.5, 0.75]}
    assert list(plan(tmp_path, rows, TWO).models) == ["forest"]


def test_between_columns_whose_names_say_nothing_is_not_guessed(tmp_path):
    rows = {"truth": ["legit", "fraud"], "forest": [0.25, 0.5], "discount": [0.5, 0.75]}
    message = (
        r"cannot be guessed: 2 columns of .* hold numbers in \[0, 1\] \(forest, discount\), and no "
        r"name says that they are probabilities\. Name those that are\."
    )
    with pytest.raises(InputError, match=message):
        plan(tmp_path, rows, TWO)
    both = {**rows, "net_legit": [0.5, 0.25], "net_fraud": [0.5, 0.75]}
    assert list(plan(tmp_path, both, TWO).models) == ["net"]


def test_columns_that_have_a_use_are_not_models(tmp_path):
    rows = {**ROWS, "p_w": [0.5, 0.5, 1.0], "p_g": [0.25, 0.5, 0.5], "p_c": [0.5, 0.25, 0.5]}
    planned = plan(tmp_path, rows, TWO, weights="p_w", by=("p_g",), clusters="p_c")
    assert list(planned.models) == ["p", "q_prob"]


def test_models_of_many_classes_are_named_with_them(tmp_path):
    rows: dict[str, Any] = {"y": ["ash", "oak"], "size": [0.5, 0.5]}
    rows |= {f"net_{label}": [0.25, 0.5] for label in ("elm", "ash", "oak")}
    rows |= {"soil_elm": [0.25, 0.5], "age_elm": [30, 40], "age_ash": [50, 60]}
    columns = columns_by_name(plan(tmp_path, rows, THREE))
    assert columns == {"net": ("net_ash", "net_oak", "net_elm")}
    told = "net: P(ash) in net_ash, P(oak) in net_oak, P(elm) in net_elm"
    assert told in guesses(tmp_path, rows, THREE)
    rows |= {f"half_{label}": [0.25, 0.5] for label in ("elm", "oak")}
    with pytest.raises(InputError, match=r"has half_oak, half_elm, and no half_ash\. Add it"):
        plan(tmp_path, rows, THREE)


def test_columns_named_as_the_classes_are_one_model(tmp_path):
    rows = {"y": ["ash", "oak"], "elm": [0.5, 0.25], "oak": [0.25, 0.5], "ash": [0.25, 0.25]}
    assert columns_by_name(plan(tmp_path, rows, THREE)) == {"model": ("ash", "oak", "elm")}


def test_without_a_possible_model_one_is_asked_for(tmp_path):
    with pytest.raises(InputError, match=r"cannot be guessed: there are no numbers in \[0, 1\]"):
        plan(tmp_path, {"truth": ["legit"], "forest": [1.5]}, TWO)
    with pytest.raises(InputError, match="there are no columns named NAME_CLASS"):
        plan(tmp_path, {"truth": ["ash"], "p": [0.5]}, THREE)


# What the user says ------------------------------------------------------------------------------


def test_models_are_taken_as_stated(tmp_path):
    rows = {**ROWS, "did": ["ok", "no", "ask"], "raw": [-3.5, 2.0, 0.5]}
    planned = plan(
        tmp_path,
        rows,
        TWO,
        models=("q_prob", "net=p", "both=q_prob,p", "rule=did"),
        scores=("raw",),
    )
    assert [(name, type(m), prediction_columns(m)) for name, m in planned.models.items()] == [
        ("q_prob", Posteriors, ("q_prob",)),
        ("net", Posteriors, ("p",)),
        ("both", Posteriors, ("q_prob", "p")),
        ("rule", Decisions, ("did",)),
        ("raw", Scores, ("raw",)),
    ]
    assert guesses(tmp_path, rows, TWO, models=("p",)).endswith(": truth in column truth.")


def test_columns_with_odd_names_can_be_stated(tmp_path):
    rows = {"truth": ["legit"], '"a=b,c"': [0.5]}
    planned = plan(tmp_path, rows, TWO, models=("a=b,c", "m=a=b,c"))
    assert columns_by_name(planned) == {"a=b,c": ("a=b,c",), "m": ("a=b,c",)}


def test_columns_named_after_classes_go_by_name_others_by_place(tmp_path):
    rows = {"y": ["ash"], "p_oak": [0.5], "p_elm": [0.25], "p_ash": [0.25], "a": [0.5], "b": [0.5]}
    with source_of(csv_file(tmp_path, rows)) as source:
        by_name = posterior_columns("p_oak,p_elm,p_ash", source, THREE)
        assert by_name.values == ("p_ash", "p_oak", "p_elm")
        assert by_name.classes == THREE.classes
        assert posterior_columns("p", source, THREE).values == ("p_ash", "p_oak", "p_elm")
        bare = posterior_columns("b,a,p_oak", source, THREE)
        assert (bare.values, bare.classes) == (("b", "a", "p_oak"), None)


def test_whole_numbers_are_decisions_only_where_decisions_are_whole_numbers(tmp_path):
    rows = {"y": [0, 1], "m": [0, 1]}
    planned = plan(tmp_path, rows, Problem.zero_one(2), models=("m",), truth="y")
    assert isinstance(planned.models["m"], Decisions)
    named = Problem.zero_one(2, decisions=["pass", "stop"])
    planned = plan(tmp_path, rows, named, models=("m",), truth="y")
    assert isinstance(planned.models["m"], Posteriors)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"truth": "none"}, r"has no column 'none'\. It has truth, p, q_prob\."),
        ({"by": ("p", "none")}, "has no column 'none'"),
        ({"by": ("p", "p")}, "^by must name every column once; 'p' appears twice"),
        ({"clusters": "none"}, "has no column 'none'"),
        ({"weights": "truth"}, "column 'truth' of .* must hold numbers; .* 'legit' in row 0"),
        ({"models": ("m=none",)}, "has no column 'none'"),
        ({"models": ("=p",)}, "must be stated as NAME=COLUMN"),
        ({"models": ("m=",)}, "must be stated as NAME=COLUMN"),
        ({"models": ("m=p", "m=q_prob")}, "a name of its own for each model; 'm' appears twice"),
        ({"models": ("m=p,q_prob,p",)}, "one column for each of the 2 classes .* p,q_prob,p is 3"),
        ({"scores": ("m=truth",)}, "must hold numbers"),
    ],
)
def test_a_wrong_column_is_one_sentence(tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        plan(tmp_path, ROWS, TWO, **options)


def test_a_file_with_many_columns_lists_some_of_them(tmp_path):
    rows = {f"c{k}": [0.5] for k in range(30)}
    with (
        source_of(csv_file(tmp_path, rows)) as source,
        pytest.raises(InputError, match=r"c10, c11, …\."),
    ):
        Columns.guess(source, TWO, y_true="y")


# Memory ------------------------------------------------------------------------------------------


def test_a_number_takes_eight_bytes_and_a_label_four(tmp_path):
    assert plan(tmp_path, ROWS, TWO).n_bytes(TWO, 3) == 3 * (2 * 8 + 4)
    options: dict[str, Any] = {"models": ("m=p,q_prob", "rule=truth"), "by": ("truth",)}
    planned = plan(tmp_path, ROWS, TWO, truth="truth", **options)
    assert planned.n_bytes(TWO, 3) == 3 * (2 * 8 + 3 * 4)


@pytest.mark.parametrize(
    ("text", "size"),
    [("2GiB", 2 << 30), ("2g", 2 << 30), ("1.5 MB", 3 << 19), ("10", 10), ("3TiB", 3 << 40)],
)
def test_sizes_of_memory_are_read(text, size):
    assert memory_size(text) == size


@pytest.mark.parametrize("text", ["", "two", "-1", "1e9", "2 X"])
def test_other_sizes_are_refused(text):
    with pytest.raises(InputError, match="must be a number of bytes such as 2GiB"):
        memory_size(text)


def test_groups_that_are_numbers_come_by_size_and_gaps_are_the_last_group(tmp_path):
    rows = {**ROWS, "age": [10, 9, 10], "dose": [10.5, 0.5, 9], "site": ["x", "", "y"]}
    told = r"^by\['dose'\] must hold labels.*0\.5 is no whole number"
    with source_of(csv_file(tmp_path, rows)) as source:
        loaded = read(source, TWO, by=("site", "age")).by
        with pytest.raises(InputError, match=told):
            read(source, TWO, by=("dose",))
    assert loaded is not None
    groups = {name: _check.groups("by", column) for name, column in loaded.items()}
    assert {name: (*group.labels, group.codes.tolist()) for name, group in groups.items()} == {
        "site": ("x", "y", "(missing)", [0, 2, 1]),
        "age": (9, 10, [1, 0, 1]),
    }


def test_a_case_without_a_cluster_is_refused(tmp_path):
    rows = {**ROWS, "site": ["x", "", "y"]}
    message = "must hold the clusters in every row; 1 of 3 rows"
    with source_of(csv_file(tmp_path, rows)) as source, pytest.raises(InputError, match=message):
        read(source, TWO, clusters="site")


# Writing -----------------------------------------------------------------------------------------


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    target = tmp_path / "out.txt"
    with whole_file(target) as part:
        part.write_text("all of it")
        assert not target.exists()
    assert target.read_text() == "all of it"

    def interrupted() -> None:
        with whole_file(target) as part:
            part.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]
    assert target.read_text() == "all of it"


def test_a_target_that_cannot_be_written_is_known_beforehand(tmp_path):
    with pytest.raises(InputError, match="there is no folder"):
        check_target(tmp_path / "none" / "out.html")
    with pytest.raises(InputError, match="something else is there"):
        check_target(tmp_path)
    with pytest.raises(InputError, match="something else is there"):
        check_target("/dev/null")


def test_formats_are_known_by_their_names(tmp_path):
    for name, kind in (("a.PQ", Format.PARQUET), ("a.ndjson", Format.JSON), ("a.txt", Format.CSV)):
        (tmp_path / name).write_text("x\n1\n")
        with located([str(tmp_path / name)], io.BytesIO()) as files:
            assert files.format is kind


def test_databases_and_archives_hold_tables_and_are_no_rows(tmp_path):
    path = tmp_path / "rows.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE rows AS SELECT 1 AS label, 0.5 AS p")
    (tmp_path / "rows.sqlite").write_bytes(b"SQLite format 3\0and tables")
    (tmp_path / "rows.xlsx").write_bytes(b"PK\x03\x04and sheets")
    for name, kind in (
        ("duckdb", "DuckDB database"),
        ("sqlite", "SQLite database"),
        ("xlsx", "zip archive"),
    ):
        fault = f"rows.{name} must hold rows; it is a {kind}. Save its table as Parquet"
        with pytest.raises(InputError, match=fault), opened_files([str(tmp_path / f"rows.{name}")]):
            pass


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "arrow"])
def test_columns_whose_names_differ_by_case_alone_are_refused(tmp_path, kind):
    path = tmp_path / f"rows.{kind}"
    table = pa.table({"y": [0, 1], "p": [0.1, 0.8], "P": [1, 2]})
    if kind == "csv":
        path.write_text("y,p,P\n0,0.1,1\n1,0.8,2\n")
    elif kind == "jsonl":
        path.write_text('{"y": 0, "p": 0.1, "P": 1}\n{"y": 1, "p": 0.8, "P": 2}\n')
    elif kind == "parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    with (
        pytest.raises(InputError, match="every column once; 'p' and 'P' differ by case alone"),
        opened_files([str(path)]),
    ):
        pass


def test_a_column_without_a_name_is_called_by_its_place_and_the_command_says_so(tmp_path, capsys):
    path, out = tmp_path / "rows.csv", tmp_path / "out.csv"
    path.write_text(",y,p\n007,0,0.1\n008,1,0.8\n")
    with opened_files([str(path)]) as source:
        rewrite(source, ("p",), lambda values: {"new": pa.array(values[:, 0] > 0.5)}, out)
    assert out.read_text().splitlines() == ["column0,y,p,new", "007,0,0.1,false", "008,1,0.8,true"]
    assert "columns without a name; they are called column0" in capsys.readouterr().err
