"""Labels as whole numbers, found without a sort of all rows, against numpy's sort."""

import sys

import numpy as np
import pytest

from stakes import Counts, InputError, Problem, ScoreTable
from stakes._check import codes, distinct
from stakes._check.labels import distinct_texts, integer_range, text_positions

N = 10_000  # more rows than the sample whose texts are looked up in the others


def slow_table(y, decided):
    """Sorted labels of both columns, and a plain count of pairs."""
    names = sorted(set(y) | set(decided))
    values = [[0.0] * len(names) for _ in names]
    for truth, chosen in zip(y, decided, strict=True):
        values[names.index(truth)][names.index(chosen)] += 1
    return tuple(names), np.array(values)


def assert_counts_are_those_of_a_slow_twin(y, decided, plain_y, plain_decided):
    names, values = slow_table(plain_y, plain_decided)
    counts = Counts.from_labels(y, decided)
    assert counts.classes == names == counts.decisions
    assert [type(label) for label in counts.class_names] == [type(label) for label in names]
    assert np.array_equal(counts.values, values)
    again = Counts.from_labels(y, decided, labels=names[::-1])
    assert np.array_equal(again.values, values[::-1, ::-1])


@pytest.mark.parametrize("dtype", ["i1", "i2", "i8", ">i8", "u1", "u8"])
@pytest.mark.parametrize("labels", [(0, 1), (1,), (0, 3), (2, 5, 100), (7, 8)])
def test_integers_are_counted_whatever_their_type(dtype, labels):
    rng = np.random.default_rng(1)
    y, decided = rng.choice(labels, (2, 400)).astype(dtype)
    assert_counts_are_those_of_a_slow_twin(y, decided, y.tolist(), decided.tolist())


@pytest.mark.parametrize(
    "labels",
    [
        (-1, 1),
        (-128, 127),
        (-3, 0, 9),
        (-5, 0, 5),
        (0, 2**62),
        (-(2**62), 5),
        (10**6, 10**6 + 2),
        (-(2**63), 5),
        (-(2**63), 2**63 - 1),
    ],
)
def test_integers_below_zero_and_far_apart_are_counted(labels):
    rng = np.random.default_rng(2)
    y, decided = rng.choice(labels, (2, 300))
    assert distinct("y_true", y) == labels
    assert_counts_are_those_of_a_slow_twin(y, decided, y.tolist(), decided.tolist())


def test_unsigned_integers_beyond_the_signed_ones_keep_their_value():
    y = np.array([2**64 - 1, 3, 2**64 - 1, 2**63], dtype=np.uint64)
    assert distinct("y", y) == (3, 2**63, 2**64 - 1)
    assert codes("y", y, (3, 2**63, 2**64 - 1)).tolist() == [2, 0, 2, 1]


@pytest.mark.parametrize("kind", [np.asarray, lambda x: x.astype(object), lambda x: x[::-1][::-1]])
def test_text_is_counted_also_where_a_label_is_rare_or_much_longer(kind):
    rng = np.random.default_rng(3)
    words = np.array(
        ["", "a", "b", "ab", "abc", "ä", "日本", "\U0001f600!", "abcdefgh", "abcdefgi"]
    )
    y = rng.choice(words, N)
    decided = np.where(rng.random(N) < 0.5, y, "a").astype("U30")
    y[-1], decided[-2] = "rare", "rare"
    assert_counts_are_those_of_a_slow_twin(kind(y), kind(decided), y.tolist(), decided.tolist())


@pytest.mark.parametrize("width", [1, 2, 3, 4, 7, 8])
def test_no_text_passes_for_a_label_that_shares_all_but_one_bit(width):
    label = "é" * width
    others = [chr(ord("é") ^ bit) for bit in (1, 64)]
    near = [label[:k] + other + label[k + 1 :] for k in range(width) for other in others]
    rows = np.array([*near, label, label[:-1], label + "x"])
    names = np.array([label, "other", label + "xy"])  # the last one is longer than any row
    assert np.array_equal(text_positions(rows, names), [*[-1] * len(near), 0, -1, -1])  # type: ignore[arg-type]


def test_distinct_text_is_that_of_a_sort_also_for_many_labels_and_foreign_bytes():
    rng = np.random.default_rng(4)
    for size in (3, 200, 5000):
        rows = rng.integers(0, size, N).astype("U6")
        assert np.array_equal(distinct_texts(rows)[0], np.unique(rows))
        swapped = rows.astype(rows.dtype.newbyteorder(">"))
        assert distinct("y", swapped) == tuple(np.unique(rows).tolist())
        names, expected = np.unique(rows, return_inverse=True)
        assert np.array_equal(codes("y", swapped, tuple(names.tolist())), expected)


def test_an_unknown_text_among_many_rows_is_named_with_its_place():
    rows = np.array(["yes", "no"] * N)
    rows[[N, N + 7]] = "ny"
    with pytest.raises(InputError, match=r"2 of 20000 .*, the first being 'ny' at position 10000"):
        codes("y_true", rows, ("no", "yes"))


def test_objects_of_which_one_is_missing_are_refused_with_its_place():
    rows = np.array(["yes", "no"] * 50, dtype=object)
    for nothing in (None, float("nan")):
        rows[[31, 40]] = nothing
        with pytest.raises(InputError, match=r"2 of 100 are missing .* the first at position 31"):
            Counts.from_labels(rows, rows)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_encoded_columns_are_counted_as_their_text(library):
    frames = pytest.importorskip(library)
    rng = np.random.default_rng(5)
    y, decided = rng.choice(["wait", "ask", "go"], (2, 500)).tolist()
    makers = {
        "pandas": lambda: [lambda x: frames.Categorical(x, ["never", "wait", "go", "ask"])],
        "polars": lambda: [frames.Series, lambda x: frames.Series(x).cast(frames.Categorical)],
        "pyarrow": lambda: [
            frames.array,
            lambda x: frames.array(x).dictionary_encode(),
            lambda x: frames.chunked_array([x[:7], x[7:]]),
            lambda x: frames.chunked_array([x[:7], x[7:]]).dictionary_encode(),
            lambda x: frames.array(x, frames.large_string()),
        ],
    }[library]()
    for make in makers:
        assert_counts_are_those_of_a_slow_twin(make(y), make(decided), y, decided)
        table = ScoreTable.from_scores(make(y[:2]), [0.1, 0.2], positive=y[0])
        assert table.weights.sum() == 2


def test_texts_that_the_first_rows_do_not_have_are_counted(monkeypatch):
    polars = pytest.importorskip("polars")
    monkeypatch.setattr(sys.modules["stakes._check.labels"], "_SAMPLE", 3)
    y, decided = ["b", "b", "c", "b", "a"], ["c", "c", "c", "c", "c"]
    rows = polars.Series(y), polars.Series(decided)
    assert_counts_are_those_of_a_slow_twin(*rows, y, decided)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_missing_text_of_other_libraries_is_refused_with_its_place(library):
    frames = pytest.importorskip(library)
    make = frames.Series if library == "polars" else frames.array
    with pytest.raises(InputError, match=r"1 of 3 is missing .* the first at position 1"):
        Counts.from_labels(make(["a", None, "b"]), ["a", "a", "b"])


def test_gaps_of_a_chunked_dictionary_are_no_labels():
    """A column of an Arrow table is chunked, and numpy reads its gaps as the first label."""
    arrow = pytest.importorskip("pyarrow")
    rows = arrow.chunked_array([["a", None, "b"], [None, "b", "a"]]).dictionary_encode()
    with pytest.raises(InputError, match=r"y_true .* 2 of 6 are missing .* first at position 1"):
        Counts.from_labels(rows, ["a"] * 6)
    scores = arrow.chunked_array([[0.1, None, 0.1], [0.2]]).dictionary_encode()
    with pytest.raises(InputError, match=r"scores .* 1 of 4 does not, the first being nan at"):
        ScoreTable.from_scores([0, 1, 0, 1], scores)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_unknown_text_of_other_libraries_is_refused_row_by_row(library):
    frames = pytest.importorskip(library)
    make = frames.Series if library == "polars" else frames.array
    with pytest.raises(
        InputError, match=r"2 of 4 are none of these, the first being 'c' at position 1"
    ):
        codes("y_true", make(["a", "c", "b", "c"]), ("a", "b"))


def test_codes_that_are_the_rows_of_the_caller_cannot_change_them():
    y = np.array([0, 1, 1])
    encoded = codes("y_true", y, (0, 1))
    assert not encoded.flags.writeable
    assert y.flags.writeable
    Counts.from_labels(y, y)
    Counts.from_decisions(y, y, Problem.zero_one(2))
    assert y.flags.writeable


def test_integers_below_zero_are_not_taken_for_large_ones():
    assert integer_range(np.array([-1, 1], dtype=np.int8)) == (-1, 1)
    assert integer_range(np.array([0, 1], dtype=np.int8)) == (0, 1)
