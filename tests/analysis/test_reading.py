"""A file of ratings: what is guessed or not used is named, what cannot be meant is refused."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from analysis.name_spans import resolve
from analysis.ratings.cells import COLUMNS, WORDS
from analysis.ratings.problems import RatingsError, RatingsWarning
from analysis.ratings.reference import reference_of, roles_of
from analysis.ratings.table import Reading, from_csv, from_rows, read_csv, to_csv, to_rows
from analysis.report import pipeline
from analysis.report.build import report_of
from analysis.report.html.page import page_html
from analysis.report.part import Part
from analysis.report.parts.answer import Answer
from analysis.statistics.options import Options
from analysis.statistics.screening.mushra_rules import HiddenReference
from analysis.statistics.screening.screened import DEFAULT, default_rules, screen
from analysis.statistics.screening.single_ratings import Review
from tests.analysis.reference import BLANK, mushra_s1, rows_of
from tests.analysis.shown_by import made

PARTS = ("screening",)
pytestmark = pytest.mark.usefixtures("without_models", "answer_alone")
ROOT = Path(__file__).resolve().parents[2]
MOS = {"method": "mos"}
QUICK = Options(replicates=100)  # with the rules that hold unless others are asked for
HEAD = "rater,condition,item,score"


@pytest.fixture
def read(tmp_path):
    def reading(text: str, **how: object) -> Reading:
        path = tmp_path / "mine.csv"
        path.write_text(text, encoding="utf-8")
        return read_csv(path, **{"constants": MOS, **how})  # type: ignore[arg-type]

    return reading


def problems(read, text: str, **how: object) -> list[str]:
    with pytest.raises(RatingsError) as caught:
        read(text, **how)
    return [problem.removeprefix("mine.csv") for problem in caught.value.problems]


def lines(columns: str, *rows: str) -> str:
    """A file of ratings with more columns, one rating a row."""
    return f"{HEAD},{columns}\n" + "".join(f"r{n},A,i1,3,{row}\n" for n, row in enumerate(rows))


@pytest.mark.parametrize("name", ["is_trap", "trap_kind", "Trap", "attention_check", "trap_id"])
@pytest.mark.medium
def test_traps_under_another_name_do_not_enter_the_means(read, name):
    text = lines(name, "0", "1", "false", "true", "")
    assert problems(read, text) == [
        f": the column {name} looks like trap and would not be used; say --column trap={name}, or "
        f"--ignore-column {name}"
    ]
    reading = read(text, columns={"trap": name})
    assert reading.table["trap"].tolist() == ["", "trap", "", "trap", ""]
    assert len(screen(reading.table).kept(DEFAULT)) == 3
    assert reading.columns_not_used == ()
    (note,) = reading.notes
    assert note.startswith("2 answers to traps enter no mean.")
    ignored = read(text, ignore=[name])
    assert (ignored.notes, ignored.columns_not_used) == ((), (name,))
    assert len(screen(ignored.table).kept(DEFAULT)) == 5


def test_columns_that_are_not_used_are_named(read):
    reading = read(lines("colour,mood,,gender", "x,y,z,w"), ignore=["gender"])
    assert reading.columns_not_used == ("colour", "mood", "", "gender")
    assert reading.notes == ("Not used: the columns colour, mood and without a name.",)


def test_a_column_that_a_constant_replaces_is_named(read):
    reading = read(lines("method", "att"))
    assert reading.notes == (
        "The column method of the file is not used: every row has mos, as was asked for.",
    )


def test_what_columns_may_be_meant_is_said_for_each_that_is_needed(read):
    assert problems(read, "Participant ID,model,sentence,text,Rating\nr,A,i,i,3\n") == [
        ": no column rater; did you mean Participant ID? --column rater='Participant ID'",
        ": no column condition; did you mean model? --column condition=model",
        ": no column score; did you mean Rating? --column score=Rating",
        ": no column item or stimulus; did you mean sentence or text? --column item=sentence",
    ]


@pytest.mark.parametrize(
    ("column", "meant"),
    [
        ("presented_frist", "presented_first"),
        ("status", "session_status"),
        ("expert_verdict", "review"),
        ("system_b", "versus_condition"),
        ("passed", "trap_passed"),
    ],
)
def test_a_near_miss_of_a_column_is_refused_with_both_remedies(read, column, meant):
    (problem,) = problems(read, lines(column, ""))
    assert f"{column} looks like {meant}" in problem
    assert f"--column {meant}={column}, or --ignore-column {column}" in problem


@pytest.mark.medium
@pytest.mark.parametrize("column", ["colour", "pid", "age", "text", "trial", "comment", "device"])
def test_a_column_of_ones_own_is_no_near_miss(read, column):
    assert read(lines(column, "x")).columns_not_used == (column,)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"ignore": ["color"]}, "no column color to ignore; did you mean colour?"),
        ({"columns": {"dimension": "color"}}, "(wanted for dimension); did you mean colour?"),
        ({"columns": {"dimention": "colour"}}, "no column of a ratings table; did you mean dimens"),
        ({"constants": {"method": "MOS"}}, "no method 'MOS'; did you mean mos? Known are ab, abx"),
        ({"constants": {"method": "hls"}}, "no method 'hls'; did you mean att?"),
        ({"constants": {"estimand": "att"}}, "no estimand 'att'; did you mean hls?"),
        ({"constants": {"method": "zzz"}}, "no method 'zzz'; known are ab, abx"),
        ({"constants": {"method": "cmos"}}, "no column versus_condition, and CMOS compares two"),
        (
            {"columns": {"voice": "colour"}, "constants": {"voice": "x"}},
            "voice is given twice, by --column and by --set",
        ),
    ],
)
def test_what_the_options_ask_for_must_be_there(read, how, told):
    assert told in problems(read, lines("colour", "x"), **how)[0]


@pytest.mark.medium
@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("presented_first", "a", "write rated or versus"),
        ("review", "rejected", "write fit or unfit"),
        ("session_status", "APPROVED", "write started, finished"),
        ("role", "refernce", "write test, reference, anchor or prompt"),
    ],
)
def test_a_word_that_a_column_does_not_know_is_refused_with_its_rows(read, column, value, told):
    known = WORDS[column][-1]
    (problem,) = problems(read, lines(column, value, known, "zzz", value, ""))
    assert problem.startswith(f", rows 2, 4 and 5, column {column}: {value!r} is unknown; {told}")
    assert problem.endswith("(likewise 'zzz')")
    assert read(lines(column, known.upper())).table[column].tolist() == [known]


def test_the_words_of_the_columns_are_those_of_studies():
    from listening.models import Condition, Session

    assert set(WORDS["session_status"]) == set(Session.Status.values)
    assert {*WORDS["role"], "trap"} == set(Condition.Role.values)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (
            ["MOS", "MOS"],
            ", rows 2 and 3, column method: there is no method 'MOS'; did you mean mo",
        ),
        (["mos", ""], ", row 3, column method: is empty; say how the clips were rated: ab, abx"),
        (["cmos", "mos"], ", row 2, column versus_condition: is empty, and cmos compares two clip"),
    ],
)
def test_a_method_of_a_row_is_checked_with_the_row(read, rows, told):
    (problem,) = problems(read, lines("method", *rows), constants={})
    assert problem.startswith(told)


def test_an_unknown_estimand_is_refused_where_no_method_is_given(read):
    (problem,) = problems(read, lines("estimand", "mso"), constants={})
    assert problem.startswith(
        ", row 2, column estimand: there is no estimand 'mso'; did you mean m"
    )


def test_labels_of_a_turing_test_without_its_method_get_a_question(read):
    rows = ["Human", "Machine", "machine"]
    assert problems(read, lines("label", *rows), constants={}) == [
        ": no column method, and the labels are Human, Machine and machine; is it --set method=att?"
    ]


def test_ratings_against_something_get_a_question_with_the_methods_that_fit(read):
    (problem,) = problems(read, lines("versus_condition", "B"), constants={})
    assert "versus_condition is filled; say which it is" in problem
    assert "dcr (DMOS), smos (SMOS), ccr (CCR), cmos (CMOS) or bs1116 (SDG)" in problem


def test_a_question_and_mistakes_of_the_same_file_are_told_together(read):
    text = f"{HEAD}\nr,A,i,30\nr,A,i,x\n"
    question, mistake = problems(read, text, constants={})
    assert "scores of 30; say which it is" in question
    assert mistake.startswith(", row 3, column score: 'x' is no number")


LABELS = "rater,condition,item,label\nr1,A,i1,Human\nr2,A,i1,unclear\nr3,A,i1,Machine\n"


def test_labels_without_scores_have_those_of_the_methods_scale(read):
    reading = read(LABELS, constants={"method": "att"})
    assert reading.table["score"].tolist() == [1.0, 0.5, 0.0]
    assert reading.notes == (
        "No column score: scores are those of the labels (Machine 0, unclear 0.5, Human 1).",
    )
    (problem,) = problems(read, LABELS, constants={})
    assert problem.endswith("the labels are Human, Machine and unclear; is it --set method=att?")


def test_labels_that_are_numbers_are_scores(read):
    reading = read("rater,condition,item,label\nr1,A,i1,4\nr2,A,i1,2\n", constants={})
    assert reading.table["score"].tolist() == [4.0, 2.0]


def test_a_label_that_the_scale_lacks_is_named_with_its_row(read):
    wrong = LABELS.replace("Machine", "Machin")
    assert problems(read, wrong, constants={"method": "att"}) == [
        ", row 4, column label: 'Machin' is not on the scale of att; write Human, Unclear or "
        "Machine, or add a column score"
    ]


@pytest.mark.medium
def test_scores_outside_the_usual_scale_are_named_but_not_in_a_studys_own_export(read):
    text = "rater,condition,item,score,study\nr1,A,i1,7,{0}\nr2,A,i1,3,{0}\n"
    assert read(text.format("")).notes == (
        "1 of 2 MOS scores are outside the usual scale of 1 to 5 (they reach from 3 to 7); they "
        "are used as they are.",
    )
    assert read(text.format("demo")).notes == ()


@pytest.mark.parametrize(("delimiter", "name"), [(";", "semicolons"), ("\t", "tabs")])
def test_semicolons_and_tabs_are_read_and_named(read, delimiter, name):
    text = f'{HEAD},justification\nr1,A,i1,3.5,"a;b\tc"\nr2,A,i1,4,\n'.replace(",", delimiter)
    reading = read(text)
    assert reading.notes == (f"The file is read as separated by {name}.",)
    assert sorted(reading.table["score"]) == [3.5, 4]
    assert "a;b\tc" in set(reading.table["justification"])
    (problem,) = problems(read, f"{text}r3{delimiter}A\n")
    one = name.removesuffix("s")
    assert problem == (
        f", row 4: 2 cells where the header has 5; write the {name} of empty cells too, and quote "
        f"cells that hold a {one}"
    )


def test_decimal_commas_are_read_where_they_can_mean_nothing_else(read):
    reading = read("rater;condition;item;score;heard_fraction\nr1;A;i1;3,5;0,985\nr2;A;i1;4;1\n")
    assert sorted(reading.table["score"]) == [3.5, 4]
    assert sorted(reading.table["heard_fraction"]) == [0.985, 1]
    assert "The column score is read with decimal commas: 3,5 is 3.5." in reading.notes
    for other in ("1,000", "2.5"):
        (problem,) = problems(read, f"rater;condition;item;score\nr1;A;i1;3,5\nr2;A;i1;{other}\n")
        assert "may be a decimal comma or one between thousands" in problem


@pytest.mark.medium
def test_from_csv_warns_of_each_note(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(f"{HEAD},colour\nr,A,i,3,x\n")
    with pytest.warns(RatingsWarning) as caught:
        table = from_csv(path)
    assert [str(each.message) for each in caught] == list(read_csv(path).notes)
    assert table.equals(read_csv(path).table)


@pytest.mark.medium
def test_an_export_passes_without_a_note_and_an_older_one_too(tmp_path):
    rows = [{**row, "role": "test"} for row in to_rows(rows_of({("A", "r1", "i1"): 9}))]
    table = from_rows(rows)
    to_csv(table, tmp_path / "r.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert from_csv(tmp_path / "r.csv").equals(table)
    (note,) = read_csv(tmp_path / "r.csv", repeats="all", scale="1,5").notes
    assert note.startswith("--repeats and --scale had no effect")
    older = [{key: value for key, value in row.items() if key != "role"} for row in rows]
    assert set(from_rows(older)["role"]) == {""}
    text = (tmp_path / "r.csv").read_text("utf-8")
    (tmp_path / "r.csv").write_text(text.replace(",role", "").replace(",test", ""))
    again = read_csv(tmp_path / "r.csv")
    assert (again.notes, again.columns_not_used) == ((), ())
    assert set(again.table["role"]) == {""}


@pytest.mark.slow
def test_what_was_guessed_or_not_used_stands_in_the_report_and_on_its_page(read):
    reading = read(f"{HEAD},colour\n" + "r1,A,i1,3,x\nr2,A,i2,4,y\n", constants={})
    told = {"notes": reading.notes, "columns_not_used": reading.columns_not_used}
    report = report_of(reading.table, options=QUICK, **told)
    assert report["input"] == {name: list(value) for name, value in told.items()}
    assert len(reading.notes) == 2
    page = page_html(report)
    for note in reading.notes:
        assert note in report["warnings"]
        assert note in page
    assert "Unused columns: colour." in page
    bare = report_of(reading.table, options=QUICK)
    assert bare["input"] == {"notes": [], "columns_not_used": []}
    assert "how the ratings file was read" not in page_html(bare)


def reviewed(verdicts: list[str]) -> str:
    return lines("review", *verdicts)


@pytest.mark.slow
def test_verdicts_leave_ratings_out_unless_other_rules_are_asked_for(read):
    table = read(reviewed(["unfit"] * 3 + ["fit"] * 5 + [""])).table
    assert default_rules(table) == (*DEFAULT, Review())
    report = report_of(table, options=QUICK)
    assert report["data"]["ratings_kept"] == 6
    (row,) = [row for row in report["exclusions"] if row["rule"] == "review"]
    assert row["ratings"] == row["ratings_told"] == 3
    assert "--rule review" in report["provenance"]["again"]
    without = read(reviewed(["", ""])).table
    assert default_rules(without) is DEFAULT
    assert "review" not in report_of(without, options=QUICK)["provenance"]["again"]


@pytest.mark.slow
def test_the_command_obeys_verdicts_tells_what_it_read_and_warns_of_unused_verdicts(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(pipeline, "chosen_parts", lambda options: [Part.registry["screening"]])
    path = tmp_path / "mine.csv"
    path.write_text(
        f"{HEAD},review,colour\n" + "r1,A,i1,3,unfit,x\nr2,A,i1,4,fit,y\nr3,A,i2,4,,z\n"
    )
    words = ["analyse", str(path), "--set", "method=mos", "--replicates", "100"]
    call_command(*words)
    told = capsys.readouterr()
    assert "2 of 3 ratings kept" in told.out
    assert "left out: 1 rating (ratings whose justification was judged unfit)" in told.out
    assert told.err == "note: Not used: the column colour.\n"
    words += ["--everything", "--out", str(tmp_path / "o")]
    call_command(*words, "--no-screening", "--ignore-column", "colour")
    assert capsys.readouterr().err == ""
    report = json.loads((tmp_path / "o" / "report.json").read_text("utf-8"))
    assert report["data"]["ratings_kept"] == 3
    assert report["input"] == {"notes": [], "columns_not_used": ["colour"]}
    assert any(
        "Experts judged the justification of 1 rating unfit" in warning
        for part in report["parts"]
        for warning in part["warnings"]
    )


FIRST_THINGS_FIRST = """
import sys
import django
from django.core.management import CommandError, call_command
django.setup()
try:
    call_command("analyse", sys.argv[1])
except CommandError as error:
    print(error)
print(sorted({"pandas", "scipy", "pyarrow", "pymc", "matplotlib"} & set(sys.modules)))
"""


@pytest.mark.slow
def test_a_mistake_in_columns_is_told_before_anything_heavy_is_imported(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("participant,condition,item,score\nr,A,i,3\n")
    command = [sys.executable, "-c", FIRST_THINGS_FIRST, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stdout.splitlines() == [
        "mine.csv: no column rater; did you mean participant? --column rater=participant",
        "[]",
    ], done.stderr


def test_a_column_error_of_the_command_is_one_line(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(f"{HEAD},is_trap\n" + "r,A,i,3,0\n" * 30)
    with pytest.raises(CommandError) as caught:
        call_command("analyse", str(path))
    assert str(caught.value).count("\n") == 0


@pytest.mark.medium
def test_the_role_tells_the_reference_and_a_name_only_where_no_role_is_given():
    means = {"A": 2.0, "human": 3.0, "X": 4.0}
    scores = {
        (name, f"r{r}", f"i{i}"): mean + (3 * r + 5 * i + int(mean) * r * i) % 4 / 4
        for name, mean in means.items()
        for r in range(6)
        for i in range(6)
    }
    table = rows_of(scores)
    (bare,) = made(Answer, table).sentences
    assert "Relative to human (MOS 3.49), taken as the reference by its name" in bare
    table["role"] = table["condition"].map({"A": "anchor", "human": "test", "X": "reference"})
    (told,) = made(Answer, table).sentences
    assert "Relative to X (MOS 4.36), the reference by its role" in told
    assert "by its name" not in told
    roles = roles_of(table)
    assert roles == {"A": "anchor", "human": "test", "X": "reference"}
    assert reference_of(["A", "human"], roles=roles).name == ""
    assert reference_of(["A", "human", "X"], "human", roles).name == "human"
    both = reference_of(["X", "Y"], roles={"X": "reference", "Y": "reference"})
    assert "X and Y could each be the reference" in resolve(both.why)


def test_a_condition_has_one_role(read):
    assert problems(read, lines("role", "test", "anchor", "")) == [
        ", rows 2, 3 and 4, column role: A is called anchor and test; a condition has one role"
    ]


@pytest.mark.medium
def test_the_hidden_reference_of_mushra_is_found_by_its_role():
    table = mushra_s1()
    named = HiddenReference(condition="ref").reasons(table)
    assert HiddenReference().lacking(table)
    table["role"] = table["condition"].map(lambda name: "reference" if name == "ref" else "test")
    assert not HiddenReference().lacking(table)
    assert (HiddenReference().reasons(table) == named).all()
    assert (named != "").any()


def test_every_column_of_a_blank_row_is_known():
    assert set(BLANK) == set(COLUMNS)
