"""Tables as spreadsheets, R and other tools write them: the same ratings in every layout."""

from __future__ import annotations

import re

import pytest

from analysis.ratings.cells import csv_cell, unescape_cells
from analysis.ratings.problems import RatingsError
from analysis.ratings.table import Reading, read_csv
from listening.common.spreadsheets import safe_cell
from metrics.web import score_tables

HEAD = ("rater", "condition", "item", "score")
ROWS = [
    (f"r{r}", c, f"i{i}", str(1 + (r * 3 + i * 2 + ord(c)) % 5))
    for r in range(1, 5)
    for c in "AB"
    for i in (1, 2, 3)
]
MOS = {"method": "mos"}


@pytest.fixture
def read(tmp_path):
    def reading(data: bytes | str, name: str = "mine.csv", **how: object) -> Reading:
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return read_csv(path, **{"constants": MOS, **how})  # type: ignore[arg-type]

    return reading


def text(delimiter=",", end="\n", quoted=False, index="", first="", half=False) -> str:
    """The ratings; ``index`` "header" gives row names a head, "rows" gives them none."""

    def cell(value: str) -> str:
        return f'"{value}"' if quoted and not value[0].isdigit() else value

    lines = [delimiter.join(map(cell, HEAD))]
    lines[0] = f'""{delimiter}{lines[0]}' if index == "header" else lines[0]
    for number, row in enumerate(ROWS, start=1):
        cells = [*row[:3], f"{row[3]},5"] if half else list(row)
        names = [f'"{number}"'] if index else []
        lines.append(delimiter.join([*names, *map(cell, cells)]))
    return first + end.join([*lines, ""])


SHEETS = {
    "Excel, CSV UTF-8": ("\ufeff" + text(end="\r\n")).encode(),
    "Excel, Unicode Text": text("\t", "\r\n").encode("utf-16"),
    "Excel with sep=": ("\ufeff" + text(";", "\r\n", first="sep=;\r\n")).encode(),
    "Excel for Mac": text(end="\r").encode(),
    "UTF-16 without a mark": text().encode("utf-16-le"),
    "LibreOffice": text(quoted=True).encode(),
    "LibreOffice, empty columns": text().replace("\n", ",,\n").encode(),
    "R, write.csv": text(quoted=True, index="header").encode(),
    "R, write.csv2": text(";", quoted=True, index="header").encode(),
    "R, write.table": text(" ", quoted=True, index="rows").encode(),
    "R, write.table without quotes": text(" ", index="rows").replace('"', "").encode(),
    "R, write.table with tabs": text("\t", index="rows").encode(),
    "bars": text("|").encode(),
    "blank lines": text().replace("\n", "\n\n").encode(),
    "files joined": (text() + "\n".join(text().split("\n")[:1]) + "\n").encode(),
}


@pytest.mark.medium
@pytest.mark.parametrize("name", SHEETS)
def test_spreadsheets_and_r_write_the_same_ratings(read, name):
    table = read(SHEETS[name]).table
    assert table.equals(read(text()).table)
    assert len(table) == len(ROWS)


def test_decimal_commas_of_r_are_read(read):
    reading = read(text(";", quoted=True, index="header", half=True))
    assert sorted(set(reading.table["score"])) == [1.5, 2.5, 3.5, 4.5, 5.5]


@pytest.mark.medium
@pytest.mark.parametrize(
    ("encoding", "name", "said"),
    [("cp1252", "Jörg", "Windows-1252 (for example “Jörg”)"), ("gb18030", "王芳", "GB 18030")],
)
def test_older_encodings_are_guessed_and_named(read, encoding, name, said):
    reading = read(text().replace("r1", name).encode(encoding))
    assert name in set(reading.table["rater"])
    assert any(said in note for note in reading.notes)
    named = read(text().replace("r1", name).encode(encoding), encoding=encoding)
    assert named.table.equals(reading.table)
    assert named.notes == ()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"PK\x03\x04rest", "is a file of a spreadsheet program; open it there and save it as CSV"),
        (b"<html><table>", "is a web page or XML"),
        (text().replace("score", "score (1, worst)"), "put a name that holds a comma in quotes"),
        (text().replace(",1\n", ",1,5\n"), "decimal commas need semicolons or tabs"),
        (text() + 'r9,A,i1,"3\n', "a quote is not closed"),
        (text() + "item,score,rater,condition\n", "the names of the columns in another order"),
        ("My results,,,\n" + text(), "row 1 holds a title, not the names of columns; delete the"),
        (text().replace("score", "rater"), "row 1: rater more than once"),
        (text() + "r9,A,i9,１\n", "'１' is no number"),
        (text().replace(",".join(HEAD), f'"{",".join(HEAD)}"'), "row 1 is quoted as one cell"),
        ("\n".join(f'"{line}"' for line in text().splitlines()), "row 1 is quoted as one cell"),
        (text(";").replace(";".join(HEAD), ",".join(HEAD)), "by commas, the cells below by semi"),
        (text().replace(",".join(HEAD), "\t".join(HEAD)), "by tabs, the cells below by commas"),
    ],
)
def test_what_cannot_be_read_is_one_sentence_with_its_remedy(read, data, said):
    with pytest.raises(RatingsError) as caught:
        read(data)
    (line,) = caught.value.problems
    assert line.startswith("mine.csv")
    assert said in line


# --- Tables of other tools ------------------------------------------------------------------------


def webmushra() -> str:
    head = "session_test_id,email,age,session_uuid,trial_id,rating_stimulus,rating_score,"
    lines = [head + "rating_time,rating_comment"]
    for rater in range(3):
        for trial in ("training", "t1", "t2"):
            for stimulus, score in (("reference", 100), ("C1", 60 + rater), ("anchor35", 20)):
                cells = f"x,a@x,2{rater},u{rater},{trial},{stimulus},{score},999,"
                lines.append(cells)
    return "\n".join(lines)


def pymushra() -> str:
    lines = ["responses_score;responses_stimulus;wm_id;questionaire_uuid;wm_date;wm_type;wm_testId"]
    for rater in range(3):
        for trial in ("t1", "t2"):
            for stimulus, score in (("reference", 100), ("C1", 60 + rater), ("anchor35", 20)):
                lines.append(f"{score};{stimulus};{trial};u{rater};2024-01-01 10:00;mushra;x")
    return "\n".join(lines)


@pytest.mark.medium
def test_tables_of_webmushra_and_pymushra_are_recognised(read):
    with pytest.raises(RatingsError, match="column trial_id: 9 of 27 rows say training"):
        read(webmushra(), constants={})
    ours = read(webmushra(), constants={}, drop=["trial_id=training"])
    theirs = read(pymushra(), constants={})
    assert ours.table.equals(theirs.table)
    assert set(ours.table["method"]) == {"mushra"}
    assert sorted(ours.table["condition"].unique()) == ["C1", "anchor35", "reference"]
    assert ours.notes[0].startswith("The file is read as a table of webMUSHRA (mushra.csv): rater")


def test_likert_pages_of_webmushra_are_recognised(read):
    lines = ["session_test_id,session_uuid,trial_id,stimuli_rating,stimuli,rating_time"]
    lines += [f'x,u{r},p{p}," {1 + (r + p) % 5} ",C{p % 2},9' for r in range(3) for p in range(4)]
    table = read("\n".join(lines)).table
    assert (len(table), set(table["condition"])) == (12, {"C0", "C1"})


def batch(endings: tuple[str, ...] = ("",)) -> str:
    """A batch of the P.808 toolkit: four clips, a trapping and a gold clip in each assignment."""
    clips = [f"https://x/D_c0{c}_s{s}.wav" for c in (1, 2) for s in (1, 2)]
    clips += ["https://x/tp.wav", "https://x/gold.wav"]
    head = "HITId,AssignmentId,WorkerId,Input.TP,Input.TP_ANS,Input.gold_clips,Input.gold_clips_ans"
    for n in range(1, 7):
        head += f",Answer.q{n}_url" + "".join(f",Answer.q{n}{ending}" for ending in endings)
    lines = [head]
    for rater in range(3):
        answers = [4, 3, 2, 1, 2 if rater else 5, 4]
        line = f"H{rater},A{rater},W{rater},{clips[4]},2,{clips[5]},5"
        for clip, answer in zip(clips, answers, strict=True):
            line += f",{clip}" + f",{answer}" * len(endings)
        lines.append(line)
    return "\n".join(lines)


@pytest.mark.medium
def test_a_batch_of_the_p808_toolkit_is_read_with_its_traps(read):
    with pytest.raises(RatingsError, match="--condition-pattern REGEX"):
        read(batch())
    pattern = r"_c(\d+)_(?P<item>s\d)"
    table = read(batch(), condition_pattern=pattern).table
    rated, traps = table[table["trap"] == ""], table[table["trap"] != ""]
    assert (len(rated), set(rated["condition"]), set(rated["item"])) == (
        12,
        {"01", "02"},
        {"s1", "s2"},
    )
    assert set(rated["session"]) == {"A0", "A1", "A2"}
    passed = traps.groupby(["trap", "rater"])["trap_passed"].first()
    assert passed["gold"].tolist() == [True, True, True]
    assert passed["trapping"].tolist() == [False, True, True]
    three = read(batch(("_sig", "_bak", "_ovrl")), constants={"method": "p835"},
                 condition_pattern=pattern).table  # fmt: skip
    assert set(three["criterion"]) == {"signal", "background", "overall"}
    assert len(three) == 3 * len(table)


def test_the_p808_toolkits_own_tables_are_read_or_refused(read):
    head = "HITId,workerid,assignment_id,assignmentstatus,file,short_file_name,vote,question_type,"
    rows = [f"H,W{w},A{w},Submitted,x/c{c}.wav,c{c}.wav,{1 + (w + c) % 5},MOS,0{c}"
            for w in range(3) for c in (1, 2)]  # fmt: skip
    table = read("\n".join([head + "condition_num", *rows])).table
    assert (len(table), set(table["condition"])) == (6, {"01", "02"})
    with pytest.raises(RatingsError, match=r"do not say who voted; analyse its file votes_per_w"):
        read("file_url,n,MOS,std,95%CI,vote_1\nx,1,3,,,3\n")


def qualtrics() -> str:
    head = ("StartDate", "Status", "Progress", "Finished", "ResponseId", "UserLanguage", "Q1_A")
    lines = [",".join((*head, "Q1_B", "Q2_A", "Q2_B"))] * 2
    lines.append(",".join(['"{""ImportId"":""x""}"'] * 10))
    for r in range(4):
        status = "Survey Preview" if r == 3 else "IP Address"
        lines.append(f"2024-01-01 10:00:00,{status},100,True,R_{r},EN,{1 + r},2,3,4")
    return "\n".join(lines)


@pytest.mark.medium
def test_an_export_of_qualtrics_asks_for_its_columns_and_its_previews(read):
    with pytest.raises(RatingsError) as caught:
        read(qualtrics())
    wide, rater = caught.value.problems
    assert "say --wide '{item}_{condition}', where conditions are A and B, or" in wide
    assert rater.endswith("did you mean ResponseId? --column rater=ResponseId")
    how = {"columns": {"rater": "ResponseId"}, "wide": "{item}_{condition}"}
    with pytest.raises(RatingsError, match="--drop 'Status=survey preview'"):
        read(qualtrics(), **how)
    table = read(qualtrics(), **how, drop=["Status=survey preview"]).table
    assert (len(table), table["rater"].nunique(), set(table["item"])) == (12, 3, {"Q1", "Q2"})


def test_a_column_for_each_system_is_asked_about_and_read(read):
    lines = ["participant,utterance,tts_a,tts_b,human"]
    lines += [f"p{r},u{u},{1 + r},{2 + u},5" for r in range(3) for u in range(3)]
    with pytest.raises(RatingsError, match="one condition, say --wide tts_a,tts_b,human"):
        read("\n".join(lines))
    columns = {"rater": "participant", "item": "utterance"}
    table = read("\n".join(lines), wide="tts_a,tts_b,human", columns=columns).table
    means = table.groupby("condition")["score"].mean().to_dict()
    assert means == {"human": 5.0, "tts_a": 2.0, "tts_b": 3.0}
    with pytest.raises(RatingsError, match=r"--wide \{item\}/\{condition\}: no column fits"):
        read("\n".join(lines), wide="{item}/{condition}", columns=columns)


def test_many_columns_of_scores_are_not_all_written_out(read):
    files = [f"{n:03}-{system}-32.wav" for n in range(9) for system in ("lstm", "vae")]
    lines = [",".join(["rater", *files])]
    lines += [",".join([f"r{r}", *(str(1 + (r + i) % 5) for i in range(18))]) for r in range(3)]
    with pytest.raises(RatingsError, match=r"say --wide '\{item\}-\{condition\}-32.wav', where"):
        read("\n".join(lines))
    table = read("\n".join(lines), wide="{item}-{condition}.wav").table
    assert (set(table["condition"]), table["item"].nunique()) == ({"lstm-32", "vae-32"}, 9)
    lines[0] = ",".join(["rater", *(f"system{n}" for n in range(18))])
    with pytest.raises(RatingsError, match="rename the columns after items and conditions"):
        read("\n".join(lines))


SURVEY = ["Hörer", "Q1_age", "s1_vits", "s1_human", "s2_vits", "s3_human", "Q9_TEXT", "Q_Recaptcha"]


def survey() -> str:
    """A wide table with questions of a survey, and with holes in its grid of clips."""
    rows = [[f"h{r}", "31", "3", "5", "2", "4", "nice", "1"] for r in range(3)]
    return "\n".join(";".join(row) for row in [SURVEY, *rows])


def test_questions_of_a_survey_are_no_clips(read):
    how = {"columns": {"rater": "Hörer"}, "wide": "{item}_{condition}"}
    others = ["Q1_age", "Q9_TEXT", "Q_Recaptcha"]
    with pytest.raises(RatingsError, match="also fits Q1_age, Q9_TEXT and Q_Recaptcha, unlike"):
        read(survey(), **how)
    reading = read(survey(), **how, ignore=others)
    assert len(reading.table) == 12
    assert set(reading.table["condition"]) == {"human", "vits"}
    assert set(others) <= set(reading.columns_not_used)


def test_systems_with_sentences_of_their_own_are_read_from_the_names_of_columns(read):
    lines = ["rater,s1_vits,s2_vits,s3_human,s4_human", *(f"r{r},3,2,5,4" for r in range(3))]
    table = read("\n".join(lines), wide="{item}_{condition}").table
    assert table.groupby("condition")["item"].nunique().to_dict() == {"human": 2, "vits": 2}


def test_the_rater_is_no_answer_though_the_template_fits_its_column(read):
    lines = ["Email Address,s1 vits,s1 human", *(f"a{r}@x,3,5" for r in range(3))]
    how = {"columns": {"rater": "Email Address"}, "wide": "{item} {condition}"}
    assert len(read("\n".join(lines), **how).table) == 6


def test_a_grid_of_google_forms_is_proposed_with_the_words_of_its_question(read):
    names = [f"How natural? [{i}_{c}.wav]" for i in ("s1", "s2") for c in ("vits", "human")]
    lines = [",".join(["Timestamp", "Email Address", *names])]
    lines += [f"2024-01-0{d} 10:00,a{d}@x,3,5,2,4" for d in range(1, 4)]
    with pytest.raises(RatingsError) as caught:
        read("\n".join(lines))
    wide, rater = caught.value.problems
    assert "say --wide 'How natural? [{item}_{condition}.wav]', where conditions are vits" in wide
    assert rater.endswith("--column rater='Email Address'")
    how = {"columns": {"rater": "Email Address"}, "wide": "How natural? [{item}_{condition}.wav]"}
    assert set(read("\n".join(lines), **how).table["condition"]) == {"human", "vits"}


@pytest.mark.parametrize("encoding", ["cp1252", "mac_roman", "utf-16", "utf-8-sig"])
def test_a_header_may_be_in_any_encoding_where_the_cells_are_ascii(read, encoding):
    lines = ["Hörer;Systëm;Satz;Qualität", *(f"h{r};{c};s1;4" for r in range(3) for c in "AB")]
    columns = {"rater": "Hörer", "condition": "Systëm", "item": "Satz", "score": "Qualität"}
    how = {"columns": columns} | ({"encoding": encoding} if encoding == "mac_roman" else {})
    assert len(read("\n".join(lines).encode(encoding), **how).table) == 6


def test_the_last_row_of_gorilla_is_left_out_and_said(read):
    reading = read(text() + "END OF FILE\n")
    assert reading.table.equals(read(text()).table)
    assert f"Row {len(ROWS) + 2} says END OF FILE and is not read." in reading.notes


LATER = "rater,condition,item,score,at\n"  # trials that ran out of time are shown again


def timed_out(nothing: str) -> str:
    rows = [f"r{r},{c},i{i},{1 + (r + i) % 5}" for r in range(4) for c in "AB" for i in range(5)]
    missed = [row.rpartition(",")[0] + f",{nothing}" for row in rows[::4]]
    return LATER + "\n".join(f"{row},{n}" for n, row in enumerate([*missed, *rows]))


@pytest.mark.parametrize("nothing", ["", "NA", "n/a", "-", "."])
@pytest.mark.parametrize("rule", ["", "first", "mean", "all"])
def test_a_trial_without_an_answer_is_no_first_rating(read, nothing, rule):
    reading = read(timed_out(nothing), repeats=rule)
    rated = reading.table[reading.table["score"].notna()]
    assert (len(rated), len(reading.table)) == (40, 50)
    assert rated["counts"].fillna(True).all()
    assert not any("Repeated ratings" in note for note in reading.notes)
    said = f"Column score: these stand for missing answers: {nothing} (10)."
    assert (said in reading.notes) == (nothing != "")


def test_equal_rows_among_other_repeated_ratings_are_named(read):
    repeated = (
        text().replace("\n", "\n", 1) + "r1,A,i1,5\nr1,A,i2,5\n" + text().splitlines()[9] + "\n"
    )
    notes = read(repeated, repeats="all").notes
    assert any(note.startswith("1 row equals another row in every column. Other") for note in notes)


@pytest.mark.parametrize(("code", "shown"), [("-99", "-99"), ("9", "9"), ("99.0", "99.0")])
def test_codes_of_missing_answers_are_asked_about(read, code, shown):
    given = text().replace("r1,A,i1,", f"r1,A,i1,{code}#").replace("r2,B,i2,", f"r2,B,i2,{code}#")
    coded = "\n".join(line.partition("#")[0] for line in given.splitlines())
    with pytest.raises(RatingsError) as caught:
        read(coded)
    (problem,) = caught.value.problems
    assert f"2 scores are {shown}, outside of the scale of 1 to 5: missing answers or" in problem
    assert len(read(coded, drop=[f"score={code}"]).table) == len(ROWS) - 2
    assert len(read(coded, keep=[f"score={code}"]).table) == len(ROWS)


def test_buttons_that_were_counted_from_0_are_asked_about(read):
    lines = text().splitlines()
    lowered = [
        lines[0],
        *(re.sub(r"\d$", lambda score: str(int(score[0]) - 1), line) for line in lines[1:]),
    ]
    with pytest.raises(RatingsError, match=r"counted from 0, as jsPsych does\? Then add 1 to each"):
        read("\n".join(lowered), constants={"method": "mos"})
    assert len(read("\n".join(lowered), keep=["score=0"]).table) == len(ROWS)


def test_numbers_may_stand_among_words_of_the_scale(read):
    words = {"1": "Bad", "2": "(2) Poor", "3": "3 - Fair", "4": "good", "5": "5"}
    mixed = "\n".join(f"{','.join(row[:3])},{words[row[3]]}" for row in ROWS)
    reading = read(f"{','.join(HEAD)}\n{mixed}\nr1,A,i4,Don't know\n")
    assert reading.table["score"].dropna().tolist() == read(text()).table["score"].tolist()
    assert "Column score: these stand for missing answers: Don't know (1)." in reading.notes


def test_empty_cells_of_a_wide_table_are_counted(read):
    reading = read("rater,s1_A,s1_B\nr1,3,\nr2,4,5\n", wide="{item}_{condition}")
    assert len(reading.table) == 3
    assert "1 of 4 cells for answers are empty: they are no ratings." in reading.notes


@pytest.mark.parametrize("data", ['[{"rating": 3}, {"rating": 4}]', '{"trials": [1]}', "[\n [1]]"])
def test_json_is_called_so(read, data):
    with pytest.raises(RatingsError, match=r"mine\.csv: JSON, not a table; write it as CSV"):
        read(data)


@pytest.mark.medium
def test_an_export_of_label_studio_is_read_without_what_was_cancelled(read):
    lines = ["annotation_id,annotator,audio,created_at,rating,was_cancelled"]
    lines += [
        f"{n},{r},/data/c{c}_s{s}.wav,2024-01-01T10:00:0{n % 10}Z,{1 + (r + c) % 5},{n == 3}"
        for n, (r, c, s) in enumerate((r, c, s) for r in range(3) for c in (1, 2) for s in (1, 2))
    ]
    how = {
        "columns": {"rater": "annotator", "score": "rating", "stimulus": "audio"},
        "condition_pattern": r"c(\d)_(?P<item>s\d)",
    }
    with pytest.raises(RatingsError, match="was_cancelled: 1 of 12 rows say true"):
        read("\n".join(lines), **how)
    table = read("\n".join(lines), **how, drop=["was_cancelled=True"]).table
    assert (len(table), set(table["condition"]), set(table["item"])) == (
        11,
        {"1", "2"},
        {"s1", "s2"},
    )


# --- What is asked --------------------------------------------------------------------------------


@pytest.mark.parametrize("score", ["Good", "4 - Good", "Good (4)"])
def test_words_in_the_place_of_scores_are_read(read, score):
    reading = read(f"rater,condition,item,score\nr1,A,i1,{score}\nr2,A,i1,{score}\n")
    assert reading.table["score"].tolist() == [4.0, 4.0]
    assert any("The column score holds words" in note for note in reading.notes)


def asked(read, head: str, *rows: str, **how: object) -> list[str]:
    with pytest.raises(RatingsError) as caught:
        read("\n".join([head, *rows]), **how)
    return [problem.removeprefix("mine.csv: ") for problem in caught.value.problems]


@pytest.mark.medium
@pytest.mark.parametrize(
    ("column", "values", "flagged"),
    [
        ("block_type", ("main", "warm-up"), "warm-up"),
        ("valid", ("1", "0"), "0"),
        ("consent", ("yes", "no"), "no"),
        ("exclude_reason", ("", "too fast"), "too fast"),
        ("isTraining", ("FALSE", "TRUE"), "true"),
        ("Finished", ("True", "False"), "false"),
        ("block", ("1", "practice 1"), "practice 1"),
        ("trial_id", ("t1", "Entraînement"), "entraînement"),
        ("Teil", ("Test", "Übung 1"), "übung 1"),
        ("state", ("complete", "active"), "active"),
        ("status", ("complete", "active"), "active"),
        ("Status", ("APPROVED", "TIMED-OUT"), "timed-out"),
        ("submission_status", ("APPROVED", "RETURNED"), "returned"),
        ("trial_type", ("main", "attention_check"), "attention_check"),
        ("phase", ("test", "train"), "train"),
        ("phase", ("test", "Prac"), "prac"),
        ("phase", ("test", "familiarization"), "familiarization"),
        ("block", ("main", "catch trial 2"), "catch trial 2"),
        ("kind", ("clip", "Trap"), "trap"),
        ("kind", ("clip", "control item"), "control item"),
        ("kind", ("clip", "gold_clip"), "gold_clip"),
        ("screen", ("rating", "headphone_check"), "headphone_check"),
        ("screen", ("rating", "Instructions 1"), "instructions 1"),
        ("stage", ("main", "screening"), "screening"),
        ("stage", ("main", "pilot"), "pilot"),
        ("AssignmentStatus", ("Approved", "Reject"), "reject"),
        ("isFamiliarization", ("0", "1"), "1"),
    ],
)
def test_a_column_that_speaks_against_counting_its_rows_is_asked_about(
    read, column, values, flagged
):
    rows = [f"r{n},A,i1,3,{values[n == 3]}" for n in range(5)]
    (question,) = asked(read, f"rater,condition,item,score,{column}", *rows)
    assert question.startswith(f"column {column}: 1 of 5 rows say {flagged}: are they ratings?")


@pytest.mark.medium
@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("training_hours", ("3", "12")),
        ("valid_until", ("2024", "2025")),
        ("age", ("20", "30")),
        ("split", ("test", "training")),
        ("validity_score", ("0.2", "0.9")),
        ("clip", ("example1", "example2")),
        ("status", ("complete", "APPROVED")),
        ("noise", ("active", "none")),
        ("device", ("loudspeaker", "headphones")),
        ("phase", ("test", "after training")),
        ("musical_training", ("no", "yes")),
        ("trials.thisN", ("0", "")),
        ("trials.thisTrialN", ("", "1")),
    ],
)
def test_a_column_of_another_meaning_is_not(read, column, values):
    rows = [f"r{n},A,i1,3,{values[n == 3]}" for n in range(5)]
    assert len(read("\n".join([f"rater,condition,item,score,{column}", *rows])).table) == 5


@pytest.mark.parametrize("column", ["item", "condition"])
def test_words_of_checks_may_be_names_of_items_and_conditions(read, column):
    rows = [f"r{n},{word},{word},3" for n in range(3) for word in ("gold", "train", "house")]
    assert len(read("\n".join(["rater,item,condition,score", *rows])).table) == 9


@pytest.mark.medium
def test_a_practice_loop_of_psychopy_is_one_question_and_leaves_whole(read):
    counters = ("thisRepN", "thisTrialN", "thisN", "thisIndex")
    loops = ("practice_trials", "trials")
    head = "participant,system,sentence,slider.response"
    head += "".join(f",{loop}.{counter}" for loop in loops for counter in counters)
    rows = [f"p{r},A,w{n},3,0,{n},{n},{n},,,," for r in range(3) for n in range(2)]
    rows += [f"p{r},A,s{n},3,,,,,0,{n},{n},{n}" for r in range(3) for n in range(4)]
    how: dict[str, object] = {
        "columns": {
            "rater": "participant",
            "condition": "system",
            "item": "sentence",
            "score": "slider.response",
        }
    }
    (question,) = asked(read, head, *rows, **how)
    assert question.startswith("column practice_trials.thisRepN: 6 of 18 rows say 0: are they")
    assert "--drop 'practice_trials.thisRepN=*', or count them by --keep" in question
    text = "\n".join([head, *rows])
    for counter in counters:
        answer = [f"practice_trials.{counter}=*"]
        assert set(read(text, drop=answer, **how).table["item"]) == {"s0", "s1", "s2", "s3"}
        assert len(read(text, keep=answer, **how).table) == 18
    (rest,) = asked(read, head, *rows, drop=["practice_trials.thisN=1"], **how)
    assert "3 of 15 rows say 0" in rest


@pytest.mark.medium
def test_values_that_begin_alike_share_a_question_and_an_answer(read):
    head = "rater,condition,item,score"
    rows = [f"r{r},A,training{i},3" for r in range(3) for i in range(4)]
    rows += [f"r{r},A,s{i},3" for r in range(3) for i in range(4)]
    (question,) = asked(read, head, *rows)
    assert "12 of 24 rows say training0, training1, training2 and 1 more" in question
    assert question.endswith("--drop 'item=training*', or count them by --keep 'item=training*'")
    reading = read("\n".join([head, *rows]), drop=["item=training*"])
    assert len(reading.table) == 12
    assert len(read("\n".join([head, *rows]), keep=["item=training*"]).table) == 24


def test_a_column_by_which_rows_were_chosen_is_not_called_unused(read):
    rows = [f"r{n},A,i1,3,{n},{'practice' if n == 3 else 'test'}" for n in range(5)]
    text = "\n".join(["rater,condition,item,score,mood,phase", *rows])
    notes = read(text, drop=["phase=practice"]).notes
    assert "Not used: the column mood." in notes


@pytest.mark.medium
def test_scores_that_use_a_tenth_of_the_scale_are_asked_about(read):
    rows = [f"r{r},{c},i{i},{1 + (r + i) % 5}" for r in range(4) for i in range(4) for c in "AB"]
    lines, mushra = ["rater,condition,item,score", *rows], {"method": "mushra"}
    (question,) = asked(read, *lines, constants=mushra)
    assert question.startswith("all 32 MUSHRA scores are 1 to 5: say --scale 0,100 if")
    assert len(read("\n".join(lines), constants=mushra, scale="0,100").table) == 32
    assert len(read("\n".join(lines)).table) == 32


def test_a_scale_that_no_score_has_is_refused(read):
    rows = [f"r{r},A,i{i},{10 * i}" for r in range(3) for i in range(9)]
    text = "\n".join(["rater,condition,item,score", *rows])
    with pytest.raises(RatingsError, match=r"--scale 1,5 is not .* \(MUSHRA has 0,100\): leave it"):
        read(text, constants={"method": "mushra"}, scale="1-5")
    with pytest.raises(RatingsError, match=r"\(Choice has none\)"):
        read(text, constants={"method": "free_choice"}, scale="1,7")
    assert len(read(text, constants={"method": "mushra"}, scale="0, 100").table) == 27


REPEATED = "rater,condition,item,score,{}"


@pytest.mark.medium
@pytest.mark.parametrize(
    ("column", "first"),
    [
        ("wave", "are they other people of the same name in rater (--column sample=wave)"),
        ("repetition", "are they the same people again (--repeats all, mean or first)"),
        ("question", "are they other questions (--column criterion=question)"),
        ("session", "are they other people of the same name in rater (--column sample=session)"),
    ],
)
def test_a_column_that_divides_repeated_ratings_is_asked_about(read, column, first):
    rows = [
        f"r{r},A,i{i},{1 + (r + i + k) % 5},{k}" for k in (1, 2) for r in (1, 2) for i in (1, 2)
    ]
    (question,) = asked(read, REPEATED.format(column), *rows)
    assert f"the column {column} divides: {first}" in question
    people = read("\n".join([REPEATED.format(column), *rows]), columns={"sample": column}).table
    assert people["rater"].nunique() == 4


def test_repeated_ratings_go_by_time_where_a_column_has_it(read):
    rows = [f"r{r},A,i{i},3,2024-01-01T10:0{i}:00Z,ios" for r in (1, 2) for i in range(5)]
    rows.insert(0, "r1,A,i0,1,2024-01-01T11:00:00Z,ios")
    reading = read("\n".join([REPEATED.format("submitted_at,device"), *rows]))
    counted = reading.table[reading.table["counts"]]
    assert set(counted["score"]) == {3.0}
    (note,) = [note for note in reading.notes if note.startswith("Repeated ratings")]
    assert "the first of each counts, by the time in the column submitted_at" in note
    assert reading.columns_not_used == ("device",)
    (unused,) = [note for note in reading.notes if note.startswith("Not used")]
    assert unused == "Not used: the column device."


def test_a_trap_or_practice_row_never_counts_as_the_first(read):
    head = "rater,condition,item,score,trap,trap_passed"
    rows = [f"r{r},A,i{i},4,," for r in (1, 2) for i in range(4)]
    table = read("\n".join([head, "r1,A,i0,1,training,", *rows])).table
    assert table[table["trap"] == ""]["counts"].all()


@pytest.mark.parametrize("repeats", ["", "first", "mean", "all"])
def test_a_labelled_row_without_a_score_is_no_rating_whatever_repeats_count(read, repeats):
    """Survey tools write "timed out" beside the empty score, and a row for the second showing."""
    head = "rater,condition,item,score,label"
    rows = [f"r{r},A,i{i},,timed out" for r in (1, 2) for i in range(4)]
    rows += [f"r{r},A,i{i},{2 + i}," for r in (1, 2) for i in range(4)]
    reading = read("\n".join([head, *rows]), repeats=repeats)
    counted = reading.table[reading.table["score"].notna() & reading.table["counts"]]
    assert sorted(counted["score"]) == [2, 2, 3, 3, 4, 4, 5, 5]
    assert not any(note.startswith("Repeated ratings") for note in reading.notes)


def test_choices_without_scores_are_answers_where_repeats_are_counted(read):
    rows = [f"r{r},A,i{i},{w}" for r in (1, 2) for i in range(4) for w in ("", "robotic")]
    rows += ["r1,A,i0,warm"]
    free = {"method": "free_choice"}
    reading = read("\n".join(["rater,condition,item,label", *rows]), constants=free)
    (note,) = [note for note in reading.notes if note.startswith("Repeated ratings")]
    assert "in 1 of 8 cases" in note


def test_rows_that_stand_twice_are_dropped_where_a_time_tells_ratings_apart(read):
    rows = [f"r{r},A,i{i},3,{r}{i}{k}000000" for r in (1, 2) for i in (1, 2) for k in (1, 2)]
    reading = read("\n".join([REPEATED.format("rated_at"), *rows, rows[0]]))
    assert len(reading.table) == 8
    assert "1 row repeats another row in every column and does not count again." in reading.notes


@pytest.mark.medium
def test_equal_ratings_without_anything_that_tells_them_apart_are_asked_about(read):
    rows = [f"r{r},A,i{i},1" for r in (1, 2) for i in (1, 2)] * 2
    (question,) = asked(read, ",".join(HEAD), *rows)
    assert "every rating stands there 2 times with the same score" in question
    assert len(read("\n".join([",".join(HEAD), *rows]), repeats="all").table) == 8
    assert len(read("\n".join([",".join(HEAD), *rows]), repeats="first").table) == 4


def test_between_few_and_most_repeated_ratings_the_rule_is_asked_for(read):
    rows = [f"r{r},A,i{i},{1 + i}" for r in (1, 2) for i in range(5)]
    rows += [f"r{r},A,i{i},5" for r in (1, 2) for i in range(3)]
    (question,) = asked(read, ",".join(HEAD), *rows)
    assert question.startswith("in 6 of 10 cases a rater rated one clip several times (2 ratings")
    assert "--repeats first, --repeats mean or --repeats all" in question


def test_choices_have_no_mean(read):
    rows = [f"r{r},A,i{i},{s}" for r in (1, 2) for i in (1, 2) for s in (0, 1)]
    (question,) = asked(read, ",".join(HEAD), *rows, constants={"method": "att"}, repeats="mean")
    assert "scores of HLS are choices and have no mean" in question


def test_sessions_of_one_name_are_each_raters_own(read):
    rows = [f"r{r},A,i{i},3,{s}" for r in (1, 2) for i, s in ((1, "s1"), (2, "s2"))]
    table = read("\n".join([REPEATED.format("session"), *rows])).table
    assert table["session"].nunique() == 4


@pytest.mark.parametrize("places", ["1 1 3", "1 1 2", "1.5 1.5 3", "2 2 3"])
def test_tied_places_are_middle_ranks_however_they_are_written(read, places):
    rows = [f"r{r},{c},i1,{p}" for r in (1, 2) for c, p in zip("ABC", places.split(), strict=True)]
    table = read("\n".join([",".join(HEAD), *rows]), constants={"method": "rank"}).table
    assert table.groupby("condition")["score"].mean().tolist() == [1.5, 1.5, 3.0]


def test_places_that_are_missing_are_refused_with_their_rows(read):
    rows = [f"r{r},{c},i1,{p}" for r in (1, 2) for c, p in zip("ABC", (1, 2, 4), strict=True)]
    (problem,) = asked(read, ",".join(HEAD), *rows, constants={"method": "rank"})
    assert problem.startswith("mine.csv, rows 2, 3, 4 and 3 more, column score: places of a screen")


@pytest.mark.medium
def test_a_preference_may_be_the_name_of_the_system_that_was_chosen(read):
    head = "rater,condition,versus_condition,item,label"
    rows = ["r1,new,old,i1,new", "r2,new,old,i1,old", "r3,new,old,i2,New", "r4,new,old,i2,tie"]
    with pytest.raises(RatingsError, match="presented_first: does not say in 1 rows"):
        read("\n".join([head, *rows, "r5,new,old,i2,A"]), constants={"method": "ab"})
    table = read("\n".join([head, *rows]), constants={"method": "ab"}).table
    assert table.sort_values("rater")["score"].tolist() == [1.0, 0.0, 1.0, 0.5]


@pytest.mark.medium
def test_a_button_does_not_say_whether_an_abx_answer_was_right(read):
    head = "rater,condition,versus_condition,item,label,presented_first"
    with pytest.raises(RatingsError, match="add a column score with 1 for right and 0 for wrong"):
        read(f"{head}\nr1,a,b,i1,A,rated\n", constants={"method": "abx"})
    table = read(f"{head}\nr1,a,b,i1,Correct,\nr2,a,b,i1,wrong,\n", constants={"method": "abx"})
    assert table.table.sort_values("rater")["score"].tolist() == [1.0, 0.0]


def test_turned_pairs_keep_what_belongs_to_each_condition(read):
    head = "rater,condition,versus_condition,item,score,role,presented_first"
    rows = [f"r{r},A,ref,i{i},1,test,rated" for r in (1, 2, 3) for i in (1, 2)]
    rows += ["r4,ref,A,i1,-2,reference,rated"]
    table = read("\n".join([head, *rows]), constants={"method": "cmos"}).table
    (turned,) = table[table["rater"] == "r4"].to_dict("records")
    assert (turned["condition"], turned["versus_condition"], turned["score"]) == ("A", "ref", 2.0)
    assert (turned["role"], turned["presented_first"]) == ("test", "versus")
    assert turned["stimulus"] == "A i1"


@pytest.mark.parametrize("sign", [*"=+-@＝＋－＠", "\t", "\r"])
def test_a_cell_that_begins_like_a_formula_is_defused_in_every_csv(sign):
    """Excel takes full-width signs, as Chinese keyboards write them, for plain ones."""
    cell = f"{sign}HYPERLINK(1)"
    assert safe_cell(cell) == csv_cell(cell) == score_tables._cell(cell) == f"'{cell}"
    assert unescape_cells([f"'{cell}"], "label") == [cell]


def rated_again(times: list[str]) -> str:
    """Each clip twice by one rater: 1 by the later time, which stands first, 5 by the earlier."""
    later, earlier = times
    rows = [f"r{r},A,i{i},{r + i},{earlier}" for r in range(1, 4) for i in range(1, 3)]
    return "\n".join(["rater,condition,item,score,timestamp", f"r1,A,i1,1,{later}", *rows])


@pytest.mark.parametrize(
    "times",
    [
        ["02/03/2024 10:00", "28/02/2024 10:00"],
        ["02.03.2024 10:00", "28.02.2024 10:00"],
        ["3/2/2024 1:00:00 PM", "2/28/2024 11:00:00 AM"],
        ["Sat Mar 02 10:00:00 PST 2024", "Wed Feb 28 10:00:00 PST 2024"],
        ["02-Mar-2024", "28-Feb-2024"],
        ["10:01:20", "09:05:00"],
        ["05/03/2024 12:00", "05/03/2024 09:30"],  # of one day, whichever of both is the month
    ],
)
def test_the_first_of_repeated_ratings_is_told_by_dates_of_all_kinds(read, times):
    reading = read(rated_again(times))
    first = reading.table[reading.table["counts"].fillna(True) & (reading.table["item"] == "i1")]
    assert first[first["rater"] == "r1"]["score"].tolist() == [2.0]
    assert any("by the time in the column timestamp" in note for note in reading.notes)


def test_dates_that_may_be_read_in_two_ways_are_said_to_tell_nothing(read):
    reading = read(rated_again(["05/03/2024", "04/06/2024"]))
    why = "as the column timestamp does not tell which time was first"
    assert any(why in note for note in reading.notes)


@pytest.mark.parametrize("name", ["question", "aspect", "scale"])
def test_a_column_of_questions_is_asked_about_where_nothing_is_repeated(read, name):
    rows = [f"r{r},{c},i{r},3,{'nat' if r % 2 else 'sim'}" for r in range(8) for c in "AB"]
    text = "\n".join([f"rater,condition,item,score,{name}", *rows])
    with pytest.raises(RatingsError, match=f"{name} says what was asked .nat and sim.: say"):
        read(text)
    assert set(read(text, columns={"criterion": name}).table["criterion"]) == {"nat", "sim"}
    assert len(read(text, ignore=[name]).table) == 16


@pytest.mark.parametrize("form", ["{n} ({word})", "{n}: {word}", "{word} ({n})", "{n} - {word}"])
def test_numbers_that_run_against_their_words_are_refused(read, form):
    words = ["Excellent", "Good", "Fair", "Poor", "Bad"]
    rows = [
        f"r{r},A,i{n},{form.format(n=n + 1, word=w)}" for r in "12" for n, w in enumerate(words)
    ]
    text = "\n".join(["rater,condition,item,score", *rows])
    with pytest.raises(RatingsError, match=r"run against the scale of mos\. Remove the numbers"):
        read(text, constants={"method": "mos"})


def test_numbers_that_excel_took_for_dates_are_no_scores(read):
    with pytest.raises(RatingsError, match=r"'03\. Mai' is no number"):
        read("rater,condition,item,score\nr1,A,i1,03. Mai\nr1,A,i2,4\n")


def test_a_label_that_contradicts_its_score_is_asked_about(read):
    text = "rater,condition,item,score,label\nr1,A,i1,1,Excellent\nr1,A,i2,4,Good\n"
    how = {"constants": {"method": "mos"}}
    with pytest.raises(RatingsError, match="1 label has another score on the scale"):
        read(text, **how)
    assert read(text, **how, ignore=["label"]).table["score"].tolist() == [1.0, 4.0]
    labels = read(text, **how, ignore=["score"]).table
    assert sorted(labels["score"]) == [4.0, 5.0]


@pytest.mark.parametrize(
    ("column", "bad", "good"),
    [
        *(("attention_check_passed", "no", "yes"), ("headphone_check", "fail", "pass")),
        *(("accept", "0", "1"), ("group", "pilot", "main"), ("condition", "attention_check", "A")),
    ],
)
def test_rows_of_raters_who_failed_are_asked_about(read, column, bad, good):
    head = ["rater", "condition", "item", "score"]
    rows = [[f"r{n}", "A", f"i{n}", "3"] for n in range(4)]
    values = [bad, good, good, good]
    if column in head:
        rows = [[r[0], value, *r[2:]] for r, value in zip(rows, values, strict=True)]
    else:
        rows = [[*r, value] for r, value in zip(rows, values, strict=True)]
        head.append(column)
    text = "\n".join(map(",".join, [head, *rows]))
    with pytest.raises(RatingsError, match=f"column {column}: 1 of 4 rows say {bad}: are they"):
        read(text)
    assert len(read(text, drop=[f"{column}={bad}"]).table) == 3


def test_a_table_of_counts_is_asked_about(read):
    with pytest.raises(RatingsError, match="the column n may count ratings: repeat the rows"):
        read("rater,condition,item,score,n\nall,A,x,1,3\nall,A,x,2,19\n")


def test_typing_errors_are_asked_about(read):
    rows = "\n".join(f"r{n},A,i{n},{3 + n % 2}" for n in range(99))
    with pytest.raises(RatingsError, match="1 score is 44, outside of the scale of 1 to 5: miss"):
        read(f"rater,condition,item,score\n{rows}\nr1,A,i100,44\n", constants={"method": "mos"})


def test_the_pattern_finds_both_conditions_of_a_comparison(read):
    head = "listener,sentence,a,b,answer"
    rows = ["P1,1,ours/s1.wav,base/s1.wav,A", "P2,1,base/s1.wav,ours/s1.wav,B"]
    columns = {"rater": "listener", "item": "sentence", "stimulus": "a", "versus_stimulus": "b"}
    how = {"columns": {**columns, "label": "answer"}, "condition_pattern": r"^(\w+)/"}
    constants = {"method": "ab", "presented_first": "rated"}
    table = read("\n".join([head, *rows]), **how, constants=constants).table
    names = [*table["condition"], *table["versus_condition"]]
    assert names == ["base", "base", "ours", "ours"]
    assert table["score"].tolist() == [0.0, 0.0]


def test_the_sign_of_comparisons_is_said_where_columns_were_named(read):
    text = "rater,item,condition,B,score\nr1,i1,new,old,2\nr2,i1,new,old,1\n"
    how = {"columns": {"versus_condition": "B"}, "constants": {"method": "cmos"}}
    assert any(n.startswith("CMOS scores above 0 are read as") for n in read(text, **how).notes)


def test_the_order_of_two_clips_is_asked_about(read):
    text = "rater,item,condition,versus_condition,order,score\nr1,i1,nr,noisy,ref-test,1\n"
    with pytest.raises(RatingsError, match="order may say which clip came first"):
        read(text, constants={"method": "ccr"})
    assert len(read(text, constants={"method": "ccr"}, ignore=["order"]).table) == 1


def test_the_name_of_the_preferred_system_may_be_the_score(read):
    head = "rater,item,system_a,system_b,winner"
    rows = ["r1,i1,new,old,new", "r2,i1,old,new,tie", "r3,i2,old,new,new"]
    columns = {"condition": "system_a", "versus_condition": "system_b", "score": "winner"}
    with pytest.raises(RatingsError) as caught:
        read("\n".join([head, *rows]), constants={})
    for ours, theirs in columns.items():
        assert f"--column {ours}={theirs}" in str(caught.value)
    with pytest.raises(RatingsError, match="labels are new and tie; is it --set method=ab"):
        read("\n".join([head, *rows]), columns=columns, constants={})
    table = read("\n".join([head, *rows]), columns=columns, constants={"method": "ab"}).table
    scores = dict(zip(table["rater"], table["score"], strict=True))
    assert scores == {"r1": 0.0, "r2": 0.5, "r3": 0.0}  # of old versus new
    assert set(table["condition"]) == {"old"}


def test_words_of_another_scale_name_its_method(read):
    text = "rater,condition,item,score\nr1,A,i1,Degradation is annoying\nr1,A,i2,Inaudible\n"
    with pytest.raises(RatingsError, match="are words of the scale of dcr: say --set method=dcr"):
        read(text)
    assert read(text, constants={"method": "dcr"}).table["score"].tolist() == [2.0, 5.0]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("experience", "pilot"),
        ("genre", "train"),
        ("group", "control"),
        ("musical_training", "yes"),
    ],
)
def test_words_about_raters_and_texts_are_no_kinds_of_trials(read, column, values):
    lines = text().splitlines()
    rows = [f"{line},{values if n % 3 else 'none'}" for n, line in enumerate(lines[1:])]
    assert len(read("\n".join([f"{lines[0]},{column}", *rows])).table) == len(ROWS)


@pytest.mark.parametrize(
    "column",
    [
        *("n_plays", "Plays", "Position", "Block", "Session", "latency-ms", "wore_headphones"),
        *("User Language", "age", "native_language", "confidence", "browser", "attention_passed"),
    ],
)
def test_columns_that_change_no_number_are_only_noted(read, column):
    lines = text().splitlines()
    reading = read("\n".join([f"{lines[0]},{column}", *(f"{line},1" for line in lines[1:])]))
    assert reading.table["score"].tolist() == read(text()).table["score"].tolist()
    assert f"Not used: the column {column}." in reading.notes


@pytest.mark.parametrize("name", ["trial_number", "order", "Durchgang"])
def test_the_first_of_repeated_ratings_is_told_by_the_number_of_the_trial(read, name):
    rows = ["r1,A,i1,1,12", "r1,A,i1,2,3", "r1,A,i2,4,4", "r2,A,i1,3,1", "r2,A,i2,5,2"]
    reading = read("\n".join([f"rater,condition,item,score,{name}", *rows]))
    counted = reading.table[reading.table["counts"].fillna(True)]
    assert sorted(counted["score"]) == [2.0, 3.0, 4.0, 5.0]
    assert any(f"counts, by the column {name}" in note for note in reading.notes)


@pytest.mark.parametrize(
    "words",
    [
        ["schlecht", "dürftig", "ordentlich", "gut", "ausgezeichnet"],
        ["Mala", "Mediocre", "Regular", "Buena", "Excelente"],
        ["很差", "较差", "一般", "较好", "很好"],
    ],
)
def test_words_of_the_scale_are_read_in_the_languages_of_raters_pages(read, words):
    rows = [f"r{r},A,i{n},{word}" for r in "12" for n, word in enumerate(words)]
    how = {"constants": {"method": "mos"}}
    table = read("\n".join(["rater,condition,item,score", *rows]), **how).table
    assert table.sort_values(["rater", "item"])["score"].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0] * 2
    numbered = [f"r1,A,i{n},{5 - n} ({word})" for n, word in enumerate(words)]
    with pytest.raises(RatingsError, match="run against the scale of mos"):
        read("\n".join(["rater,condition,item,score", *numbered]), **how)


@pytest.mark.parametrize("first", [0, 1])
def test_numbers_of_trials_called_order_are_not_taken_for_the_order_of_two_clips(read, first):
    rows = [f"r{r},i{i},new,old,1,{i + first}" for r in range(3) for i in range(3)]
    text = "\n".join(["rater,item,condition,versus_condition,score,order", *rows])
    assert len(read(text, constants={"method": "cmos"}).table) == 9


@pytest.mark.parametrize("label", ["4 - Decent", "5 - Genuine", "3 - Marginal", "4 (general)"])
def test_words_that_begin_like_a_month_are_no_dates(read, label):
    table = read(f"rater,condition,item,score\nr1,A,i1,{label}\nr1,A,i2,2 - Poor\n").table
    assert table["score"].tolist() == [float(label[0]), 2.0]


@pytest.mark.parametrize(
    "date", ["03. Mai", "3 May", "03. Mär", "3 Sept", "2. Okt", "1 août", "4 dic", "3 March 2024"]
)
def test_dates_in_several_languages_are_no_scores(read, date):
    with pytest.raises(RatingsError, match="is no number"):
        read(f"rater,condition,item,score\nr1,A,i1,{date}\nr1,A,i2,4\n")
