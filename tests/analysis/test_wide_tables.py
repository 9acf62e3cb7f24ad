"""What is proposed for a table with a column for each answer is obeyed, and gives its means."""

from __future__ import annotations

import csv
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

from analysis.ratings.problems import RatingsError
from analysis.ratings.table import read_csv

MEANS = {"fastspeech2_hifigan": 2.0, "vits": 3.0, "gt": 4.5}  # of raters 0 and 1, all items


def wide_file(path: Path, name: str, items: list[str]) -> Path:
    """Two raters who give each system its mean, half a point more and less in the mean of items."""
    columns = [(name.format(item=i, condition=c), m) for i in items for c, m in MEANS.items()]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["listener", *(column for column, _ in columns), "frameRate", "rtMs"])
        for rater in (-0.5, 0.5):
            scores = [mean + rater for _, mean in columns]
            writer.writerow([f"r{rater}", *scores, 60, 2.5])
    return path


def proposed(path: Path, **how) -> str:
    """The first template of ``--wide`` that the error names, as a shell reads it."""
    with pytest.raises(RatingsError) as caught:
        read_csv(path, **how)
    words = re.search(r"--wide (.*)", str(caught.value))
    assert words is not None, str(caught.value)
    return shlex.split(words[1].replace(",", "\\,") if words[1][0] != "'" else words[1])[0].rstrip(
        ","
    )


@pytest.mark.parametrize(
    ("name", "items"),
    [
        ("{item}_{condition}", ["01", "02", "03", "04"]),
        ("{condition}_{item}", ["utt1", "utt2", "utt3", "utt4"]),
        ("{condition}-{item}", ["S01", "S02", "S03", "S04"]),
        ("{condition}.{item}", ["s1", "s2", "s3", "s4"]),
        ("nat_{condition}_{item}", ["1", "2", "3", "4"]),
        ("{item}_{condition}.wav", ["LJ001-0001", "LJ001-0002", "LJ001-0003", "LJ001-0004"]),
        ("Rate this [{condition}_{item}.wav]", ["06", "07", "08", "09"]),
        ("Clip {condition} / sentence {item}", ["1", "2", "3", "4"]),
        ("q: {item} {condition}", ["a_b", "a_c", "b_d", "long_one_2"]),
    ],
)
def test_the_proposed_template_reads_items_and_conditions(tmp_path, name, items):
    path = wide_file(tmp_path / "wide.csv", name, items)
    template = proposed(path, columns={"rater": "listener"})
    reading = read_csv(path, columns={"rater": "listener"}, wide=template)
    assert reading.table.groupby("condition")["score"].mean().to_dict() == MEANS
    assert reading.table["item"].nunique() == len(items)
    assert set(reading.columns_not_used) == {"frameRate", "rtMs"}
    (note,) = [note for note in reading.notes if note.startswith("Each of these columns")]
    assert "condition fastspeech2_hifigan, vits and gt" in note


def test_letters_before_numbers_are_conditions(tmp_path):
    text = "listener,A1,B1,A2,B2\nr1,1,4,2,5\nr2,1,4,2,5\n"
    (tmp_path / "wide.csv").write_text(text)
    how = {"columns": {"rater": "listener"}}
    template = proposed(tmp_path / "wide.csv", **how)
    assert template == "{item}{condition}" or template == "{condition}{item}"
    table = read_csv(tmp_path / "wide.csv", **how, wide="{condition}{item}").table
    assert table.groupby("condition")["score"].mean().to_dict() == {"A": 1.5, "B": 4.5}


def test_questions_beside_a_column_of_conditions_are_criteria(tmp_path):
    rows = [f"r{r},{c},i{i},{2 + n},{3 + n},{4 - n}" for r in range(2) for i in range(2)
            for n, c in enumerate(("noisy", "clean"))]  # fmt: skip
    path = tmp_path / "p835.csv"
    path.write_text("\n".join(["rater,condition,item,SIG,BAK,OVRL", *rows]))
    assert proposed(path) == "SIG,BAK,OVRL"
    table = read_csv(path, wide="SIG,BAK,OVRL").table
    means = table.groupby(["criterion", "condition"])["score"].mean().to_dict()
    assert means[("OVRL", "noisy")] == 4.0
    assert means[("OVRL", "clean")] == 3.0
    assert set(table["condition"]) == {"noisy", "clean"}


def test_raters_may_be_columns(tmp_path):
    rows = [f"{c},i{i},{1 + n},{2 + n},{3 + n}" for i in range(3) for n, c in enumerate("AB")]
    path = tmp_path / "raters.csv"
    path.write_text("\n".join(["system,item,L01,L02,L03", *rows]))
    template = proposed(path)
    assert template == "L{rater}"
    table = read_csv(path, columns={"condition": "system"}, wide=template).table
    assert table.groupby("condition")["score"].mean().to_dict() == {"A": 2.0, "B": 3.0}
    assert set(table["rater"]) == {"01", "02", "03"}
    path.write_text(path.read_text().replace("item,L01", "item,Length,L01").replace(",i", ",i9,2"))
    with pytest.raises(RatingsError, match="also fits Length, unlike the other columns"):
        read_csv(path, columns={"condition": "system"}, wide=template)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (  # of a P.808 toolkit
            "file_name,workerid,votes,accept\nvits_1.wav,w1,4,1\nvits_2.wav,w2,3,1\n",
            "no column score; did you mean votes?",
        ),
        (  # of SOMOS
            "utteranceId,choice,sentenceId,systemId,testpageId,listenerId\nu1,4,1,018,1,P1\n",
            "no column score; did you mean choice?",
        ),
        ("subj,sys,sent,resp\n8,A,12,2\n13,C,11,3\n", "no column score; did you mean resp?"),
        (  # of PsychoPy
            "participant,system,item,practice.thisN,trials.thisN,slider.response,slider.rt\n"
            "p1,A,x,,0,4,1.5\np1,B,x,,1,2,0.5\n",
            "no column score; did you mean slider.response?",
        ),
        (
            "ResponseId,Q1,Q2\nR1,4 - Good,3\nR2,5 - Excellent,2\n",
            "Q1 and Q2 do not say which clip an answer is about: rename the columns",
        ),
        ("ID,Email,x_A,x_B\n1,anonymous,2,4\n2,anonymous,3,5\n", "did you mean ID? --column"),
    ],
)
def test_numbers_beside_answers_are_not_proposed(tmp_path, text, said):
    (tmp_path / "mine.csv").write_text(text)
    with pytest.raises(RatingsError, match=re.escape(said)):
        read_csv(tmp_path / "mine.csv")


def test_columns_far_outside_of_the_scale_of_the_others_are_no_answers(tmp_path):
    (tmp_path / "mine.csv").write_text("rater,item,A,B,frameRate\nr1,x,3,4,60\nr2,x,2,5,60\n")
    with pytest.raises(RatingsError, match="frameRate holds numbers of 60 or more, most columns"):
        read_csv(tmp_path / "mine.csv", wide="A,B,frameRate")
    assert isinstance(read_csv(tmp_path / "mine.csv", wide="A,B").table, pd.DataFrame)


def test_a_column_that_the_answers_replace_is_named(tmp_path):
    (tmp_path / "mine.csv").write_text("rater,condition,x_A,x_B\nr1,quiet,3,4\nr2,loud,2,5\n")
    reading = read_csv(tmp_path / "mine.csv", wide="{item}_{condition}")
    assert set(reading.table["condition"]) == {"A", "B"}
    said = "The column condition is not used: each answer has its own condition."
    assert said in reading.notes


def test_a_question_of_a_survey_does_not_hide_the_answers(tmp_path):
    text = "rater,s1_A,s1_B,s2_A,s2_B,preference\nr1,3,4,2,5,A\nr2,2,4,3,5,B\n"
    (tmp_path / "mine.csv").write_text(text)
    assert proposed(tmp_path / "mine.csv") == "{item}_{condition}"


def test_a_few_columns_of_numbers_beside_answers_do_not_hide_the_template(tmp_path):
    names = [f"Satz{i}_{c}" for i in range(3) for c in "ABC"]
    rows = [f"p{r},5,1,{','.join(str(1 + (r + n) % 5) for n in range(9))}" for r in range(4)]
    head = f"Kennung,Musik_Jahre,Zustimmung,{','.join(names)}"
    (tmp_path / "mine.csv").write_text("\n".join([head, *rows]))
    assert proposed(tmp_path / "mine.csv") == "{item}_{condition}"


def test_the_further_header_row_of_surveymonkey_is_not_read(tmp_path):
    head = "Respondent ID,How good is A_1.mp3?,How good is B_1.mp3?,How good is A_2.mp3?"
    text = f"{head}\n,Response,Response,Response\n11,3,4,2\n12,2,5,3\n"
    (tmp_path / "mine.csv").write_text(text)
    how = {"columns": {"rater": "Respondent ID"}, "wide": "How good is {condition}_{item}.mp3?"}
    reading = read_csv(tmp_path / "mine.csv", **how)
    assert reading.table.groupby("condition")["score"].mean().to_dict() == {"A": 2.5, "B": 4.5}
    assert "Further header rows are not read as answers: row 2." in reading.notes
