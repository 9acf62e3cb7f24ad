"""The ratings table keeps every value through CSV and JSON, and says what is wrong with a file."""

import gzip
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.ratings.cells import COLUMNS, csv_cell, csv_lines, json_lines, unescape_cells
from analysis.ratings.problems import RatingsError
from analysis.ratings.table import from_csv, from_rows, read_csv, table_hash, to_csv, to_rows
from tests.analysis.reference import BLANK, DATA, edge, rows_of, table_of

LETTER = st.integers(1, 0x10FFFF).filter(lambda n: not 0xD800 <= n <= 0xDFFF).map(chr)
TEXT = st.text(st.sampled_from("=+-@'\"\t\r\n,;\\ aé汉\u2028\ufeff\x1f") | LETTER, max_size=12)


def test_columns_are_the_keys_of_a_rating_row_in_order():
    from listening.selectors import RatingRow

    assert tuple(RatingRow.__annotations__) == COLUMNS


@pytest.mark.parametrize("name", ["mos_s2", "cmos_s1"])
@pytest.mark.medium
def test_a_table_read_back_from_its_csv_is_the_same_table(name, tmp_path):
    table = table_of(name)
    to_csv(table, tmp_path / "ratings.csv")
    again = from_csv(tmp_path / "ratings.csv")
    assert again.equals(table)
    assert table_hash(again) == table_hash(table)


@pytest.mark.medium
def test_the_order_of_rows_changes_nothing_and_a_value_changes_the_hash():
    table = table_of("mos_s2")
    shuffled = from_rows(to_rows(table.sample(frac=1, random_state=3)))
    assert shuffled.equals(table)
    assert table_hash(table.sample(frac=1, random_state=4)) == table_hash(table)
    rows = list(to_rows(table))
    rows[7]["score"] += 0.5
    assert table_hash(from_rows(rows)) != table_hash(table)


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(
    texts=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4),
    score=st.floats(allow_nan=False, allow_infinity=False),
    heard=st.none() | st.floats(0, 1),
    passed=st.sampled_from([None, True, False]),
)
def test_any_text_and_number_survives_csv_and_json(tmp_path_factory, texts, score, heard, passed):
    folder = tmp_path_factory.mktemp("round")
    table = from_rows(
        BLANK
        | {
            "rater": "r" + rater,
            "condition": "c",
            "item": "i" + rater,
            "justification": why,
            "score": score,
            "heard_fraction": heard,
            "trap": "" if passed is None else "flawed",
            "trap_passed": passed,
        }
        for rater, why in texts
    )
    to_csv(table, folder / "r.csv")
    assert table_hash(from_csv(folder / "r.csv")) == table_hash(table)
    loaded = json.loads("".join(json_lines(to_rows(table))))
    assert table_hash(from_rows(loaded)) == table_hash(table)


@pytest.mark.parametrize("text", ["=cmd()", "+1+1", "-x", "@a", "\t=1", "'=1", "''-y"])
def test_what_a_spreadsheet_takes_for_a_formula_is_quoted_and_comes_back(text):
    cell = csv_cell(text)
    assert cell.startswith("'")
    assert unescape_cells([cell], "justification") == [text]


@pytest.mark.parametrize("text", ["-1", "+2.5", "3", "it's", "'quoted'"])
def test_plain_numbers_and_apostrophes_stay_as_they_are(text):
    assert csv_cell(text) == text
    assert unescape_cells([text], "label") == [text]


@pytest.mark.medium
def test_edge_unicode_names_survive(tmp_path):
    table = edge("unicode")
    assert "=cmd()" in set(table["rater"])
    to_csv(table, tmp_path / "u.csv")
    assert "'=cmd()" in (tmp_path / "u.csv").read_text("utf-8")
    assert read_csv(tmp_path / "u.csv").table.equals(table)


def test_an_empty_file_of_ratings_is_an_empty_table_with_typed_columns():
    table = edge("empty")
    assert len(table) == 0
    assert tuple(table.columns) == COLUMNS
    assert table["score"].dtype == "float64"


def test_a_missing_score_is_kept_as_missing():
    table = edge("missing")
    assert len(table) == 57  # of 58 rows one repeats another in every column
    assert table["score"].isna().sum() == 1
    assert sum(row["score"] is None for row in to_rows(table)) == 1


def test_the_lines_of_a_study_are_the_same_csv_as_the_table(tmp_path):
    table = rows_of({("A", "r1", "i1"): 3, ("A", "r2", "i1"): 2.5})
    to_csv(table, tmp_path / "t.csv")
    assert "".join(csv_lines(to_rows(table))) == (tmp_path / "t.csv").read_bytes().decode()


GOOD = "rater,condition,item,score\n"


@pytest.mark.medium
def test_a_file_that_does_not_say_what_counts_means_that_all_does(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text(GOOD + "r1,A,i1,3\n")
    assert read_csv(path).table["counts"].tolist() == [True]
    path.write_text("rater,condition,item,score,counts\nr1,A,i1,3,\nr2,A,i1,3,false\n")
    table = read_csv(path).table
    assert table["counts"].tolist() == [True, False]
    to_csv(table, path)
    assert from_csv(path).equals(table)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ["row must name the columns"]),
        ("rater,condition,item\nr,c,i\n", ["no column score", "--column score=NAME"]),
        ("rater,score,condition\nr,1,c\n", ["item or stimulus"]),
        (GOOD + "r,c,i,abc\n", ["row 2, column score", "'abc'", "3.5"]),
        (GOOD + "r,c,i,3\nr,c,i,inf\n", ["row 3, column score", "finite"]),
        (GOOD + ",c,i,3\n", ["row 2, column rater", "empty"]),
        (GOOD + "r,,i,3\n", ["row 2, column condition"]),
        (GOOD + "r,c,i\n", ["row 2", "3 cells where the header has 4"]),
        ("rater,rater,score\n", ["row 1", "rater more than once"]),
        (
            "rater,condition,item,score,method,estimand\nr,c,i,0.3,att,hls\n",
            ["row 2, column score", "0, 0.5 or 1"],
        ),
        ("rater,condition,item,score,trap\nr,,,0,flawed\n", ["row 2, column trap_passed"]),
        ("rater,condition,item,score,plays\nr,c,i,3,1.5\n", ["row 2, column plays"]),
        ("rater,condition,item,score,paid\nr,c,i,3,maybe\n", ["row 2, column paid", "'maybe'"]),
    ],
)
def test_a_bad_file_is_refused_with_row_column_and_remedy(tmp_path, text, told):
    path = tmp_path / "bad.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RatingsError) as caught:
        from_csv(path)
    for part in ["bad.csv", *told]:
        assert part in str(caught.value)


def test_all_problems_are_told_at_once_and_a_flood_is_cut(tmp_path):
    path = tmp_path / "bad.csv"
    columns = ["position", "latency_ms", "plays", "heard_fraction", "paid", "counts", "headphones"]
    columns += ["role", "presented_first", "review", "session_status", "trap_passed"]
    wrong = [f"x{n}" for n in range(len(columns))]
    rows = [f"r,,i,{n},{','.join(wrong)}\n" for n in "abc"]
    path.write_text(f"rater,condition,item,score,{','.join(columns)}\n{''.join(rows)}")
    with pytest.raises(RatingsError) as caught:
        from_csv(path)
    assert len(caught.value.problems) == len(columns) + 2
    assert "rows 2, 3 and 4, column paid: 'x4' is neither true nor false" in str(caught.value)
    told = RatingsError([f"line {n}" for n in range(41)])
    assert str(told).splitlines()[19:] == ["line 19", "... and 21 more"]


def test_one_mistake_in_many_rows_is_one_line(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text(GOOD + "r,c,i,3\n" + "".join(f"r,c,i,{s}\n" for s in ["x"] * 5 + ["y"] * 690))
    with pytest.raises(RatingsError) as caught:
        from_csv(path)
    assert str(caught.value) == (
        "bad.csv, rows 3, 4, 5 and 692 more, column score: 'x' is no number; write one such as "
        "3.5, or leave it empty (likewise 'y')"
    )


def test_files_of_unknown_encoding_or_cut_gzip_or_absent_are_refused(tmp_path):
    (tmp_path / "odd.csv").write_bytes(GOOD.encode() + b"r\x81\xff,c,i,3\n")
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(GOOD.encode() * 900)[:-20])
    for name, told in [
        ("odd.csv", "not UTF-8"),
        ("cut.csv.gz", "not a readable CSV"),
        ("absent.csv", "no such file"),
    ]:
        with pytest.raises(RatingsError, match=told):
            from_csv(tmp_path / name)


def test_unknown_columns_in_the_mapping_are_refused():
    with pytest.raises(RatingsError, match="foo is no column of a ratings table"):
        from_csv(DATA / "mos_s2.csv.gz", columns={"foo": "system"})
    with pytest.raises(RatingsError, match="no column nope"):
        from_csv(DATA / "mos_s2.csv.gz", columns={"condition": "nope"})


def test_a_row_without_all_keys_is_refused():
    with pytest.raises(RatingsError, match="row 1: no column rater"):
        from_rows([{key: value for key, value in BLANK.items() if key != "rater"}])


@pytest.mark.medium
def test_negative_zero_and_zero_are_the_same_score():
    one, other = ({("A", "r", "i"): score} for score in (0.0, -0.0))
    assert table_hash(rows_of(one, label="0")) == table_hash(rows_of(other, label="0"))
    assert math.copysign(1, rows_of(other)["score"][0]) == 1


@pytest.mark.medium
def test_without_stimuli_a_clip_is_a_text_by_a_condition(tmp_path):
    from analysis.statistics.screening.screened import screen

    path, method = tmp_path / "r.csv", {"method": "mos"}
    path.write_text(GOOD + "r1,A,i1,3\nr1,B,i1,4\nr2,A,i1,2\n")
    table = read_csv(path, constants=method).table
    assert sorted(set(table["stimulus"])) == ["A i1", "B i1"]
    assert len(screen(table, []).kept([])) == 3
    method["method"] = "cmos"
    path.write_text("rater,condition,versus_condition,item,score\nr1,A,B,i1,1\nr1,A,C,i1,-1\n")
    table = read_csv(path, constants=method).table
    assert sorted(table["versus_stimulus"]) == ["B i1", "C i1"]
    assert len(screen(table, []).kept([])) == 2
    method["method"] = "dcr"
    path.write_text("rater,condition,versus_condition,item,score\nr1,A,,i1,1\nr1,A,C,i1,2\n")
    assert sorted(read_csv(path, constants=method).table["versus_stimulus"]) == ["", "C i1"]
    path.write_text("rater,condition,stimulus,score\nr1,A,x,1\n")
    assert list(read_csv(path, constants=method).table["item"]) == ["x"]
