"""Tables that other programs wrote give the right result, or a question, by the real command.

The files of tests/data/foreign were made after public bug reports of other tools.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from analysis.report import build

pytestmark = [pytest.mark.usefixtures("answer_alone"), pytest.mark.slow]
DATA = Path(__file__).resolve().parents[1] / "data" / "foreign"
MEAN = re.compile(r"^  (\S.*?)\s{2,}([−-]?\d+\.\d+) .* n=(\d+), (\d+) raters", re.MULTILINE)
MOS = "--set method=mos"
BASE = {"alpha": 3.96, "beta": 3.27, "gamma": 2.23}
TTS = {"tts_a": 4.04, "tts_b": 3.48, "tts_c": 2.78}


def analysed(capsys, path: Path, options: str = "") -> tuple[dict[str, float], str]:
    """The means that the command prints, by condition, and all that it says."""
    call_command("analyse", str(path), *options.split(), "--replicates", "100")
    told = capsys.readouterr()
    means = {name: float(mean.replace("−", "-")) for name, mean, _, _ in MEAN.findall(told.out)}
    return means, told.out + told.err


READ = [  # file, options, means, and what the command says besides
    ("base.csv", MOS, BASE, "144 of 144 ratings kept"),
    ("c1_sep_line_semicolon.csv", MOS, {"tts_b": 3.93}, "decimal commas: 4,5 is 4.5"),
    ("c1_trailing_empty_columns.csv", MOS, TTS, "Rows 362, 363 and 364 have only empty cells"),
    ("c2_nbsp.csv", MOS, TTS, r"'tts_b\xa0' is read as 'tts_b'"),
    ("c2_blanks_and_case.csv", f"{MOS} --same condition", TTS, "TTS_B is read as tts_b"),
    ("c5_two_samples.csv", f"{MOS} --repeats all", {"tts_a": 3.96}, "12 raters"),
    ("c5b_rated_twice.csv", f"{MOS} --repeats first", {"A": 5.0}, "the first of each counts"),
    ("c5b_rated_twice.csv", f"{MOS} --repeats mean", {"A": 3.0}, "their mean counts as one"),
    ("c7_leading_zeros.csv", f"{MOS} --different rater", TTS, "120, 24 raters"),
    ("d_mushra.csv", "--set method=mushra", {"C1": 9.0, "C2": 50.0}, "in 24 of 120 cases"),
    ("k1_phase.csv", f"{MOS} --keep phase=practice", {"alpha": 3.22}, "192 of 192 ratings kept"),
    ("t24_rowname.csv", MOS, BASE, "R's row names are not used"),
    ("repeats_rated_at.csv", "--repeats first", {"A": 4.0, "B": 2.0}, "by the time in rated_at"),
    ("label_only_ab.csv", "", {"new": 0.188}, "96 of 96 rows"),
    ("rater_spaces.csv", "--same rater", {"A": 3.6, "B": 2.99}, "80, 8 raters"),
    ("35_rank_ties.csv", "", {"A": 1.15, "B": 2.15, "C": 2.7}, "42 of 72 screens hold ties"),
    ("ab_two_orientations.csv", "", {"new": 0.735}, "98 comparisons name a pair the other way"),
    ("07_label_words.csv", MOS, {"A": 4.13, "B": 2.96}, "Bad 1, Poor 2, Fair 3, Good 4"),
    ("04_three_point.csv", f"{MOS} --scale 1,5", {"sys one": 2.23}, "600 of 600"),
    (
        "12_qualtrics.csv",
        f"{MOS} --column rater=ResponseId --wide {{item}}_{{condition}}",
        {"A": 3.9, "B": 2.6},
        "Further header rows are not read as answers: rows 2 and 3",
    ),
]

ALIKE = [  # what another file or option above already needs
    ("c1_sep_line_semicolon.csv", MOS, {"tts_a": 4.39}, "separated by semicolons"),
    ("c5_two_samples.csv", f"{MOS} --column sample=sample", {"tts_a": 3.96}, "24 raters"),
    ("c5b_rated_twice.csv", MOS, {"A": 3.0, "B": 4.0}, "2 ratings each): all count"),
    ("c7_leading_zeros.csv", f"{MOS} --same rater", TTS, "120, 12 raters"),
    ("d_after1.csv", MOS, BASE, "the first of each counts, by the order of the rows"),
    ("k1_phase.csv", f"{MOS} --drop phase=practice", BASE, "48 rows with phase = practice"),
    ("n_space.csv", MOS, BASE, "'alpha ' is read as 'alpha'"),
    ("t37_trailing.csv", MOS, BASE, "Rows 146, 147, 148 and 2 more have only empty cells"),
    ("repeats_mos.csv", "", {"A": 3.41, "B": 3.52}, "3 ratings each): all count"),
    ("repeats_rated_at.csv", "", {"A": 3.0, "B": 3.0}, "all count"),
    ("label_only_cmos.csv", "", {"new": -0.81}, "78 of 96 rows"),
    ("04_three_point.csv", "--set method=free_choice", {"sys one": 2.23}, "Choice"),
    ("t06c_total.csv", f"{MOS} --drop rater=Mean", BASE, "144 of 144"),
    ("j3_ispractice.csv", f"{MOS} --drop is_practice=True", BASE, "24 rows with is_practice"),
]
READ += [pytest.param(*case, marks=pytest.mark.soak) for case in ALIKE]


@pytest.mark.parametrize(("file", "options", "means", "said"), READ)
def test_a_table_of_another_program_gives_its_numbers(
    capsys, monkeypatch, file, options, means, said
):
    monkeypatch.setattr(build, "parts_to_make", lambda given: [])  # the means are looked at alone
    found, told = analysed(capsys, DATA / file, options)
    assert {name: found.get(name) for name in means} == means
    assert said in told


def test_a_difference_that_another_program_tested_is_heard(capsys):
    found, told = analysed(capsys, DATA / "abx_16trials.csv")
    assert found == {"mp3": 0.817}
    assert "The difference is heard" in told


ASKED = [  # file, options, and what is asked or refused
    ("c2_blanks_and_case.csv", MOS, "column condition: tts_b and TTS_B differ only in case"),
    ("c5_two_samples.csv", MOS, "the column sample divides: are they other people"),
    ("c7_leading_zeros.csv", MOS, "column rater: 1 and 001; 2 and 002; 3 and 003; 9 more differ"),
    ("k1_phase.csv", MOS, "column phase: 48 of 192 rows say practice: are they ratings?"),
    ("j3_ispractice.csv", MOS, "column is_practice: 24 of 168 rows say true"),
    ("t06c_total.csv", MOS, "3 rows look like a summary, not like ratings (rater Mean)"),
    ("t14_under.csv", MOS, "rows 2 and 4, column score: '1_0' is no number"),
    ("rater_spaces.csv", "", "column rater: P0 and p0; P1 and p1; P2 and p2; 5 more differ"),
    ("rank_incomplete.csv", "", "ranks of screens with 2 and 4 clips"),
    ("12_qualtrics.csv", MOS, "say --wide '{item}_{condition}', where conditions are"),
    ("12_qualtrics.csv", MOS, "did you mean ResponseId? --column rater=ResponseId"),
    ("04_three_point.csv", MOS, "all 600 MOS scores are 1, 2 or 3: say --scale 1,5"),
    (
        "k1_phase.csv",
        f"{MOS} --drop phase=practise",
        "no row has it; phase holds practice and test",
    ),
]


@pytest.mark.parametrize(("file", "options", "asked"), ASKED)
def test_what_a_table_leaves_open_is_asked_with_the_remedy(capsys, file, options, asked):
    with pytest.raises(CommandError) as caught:
        analysed(capsys, DATA / file, options)
    (line,) = [line for line in str(caught.value).splitlines() if asked in line]
    assert line.startswith((file, "--drop"))


@pytest.mark.parametrize(
    ("name", "rows"),
    [("label_only_ab.csv", 96), ("label_only_cmos.csv", 78)],  # ties need no order
)
def test_labels_without_the_order_of_clips_are_refused(capsys, tmp_path, name, rows):
    text = (DATA / name).read_text().replace(",versus\n", ",\n").replace(",rated\n", ",\n")
    (tmp_path / name).write_text(text)
    with pytest.raises(CommandError, match=f"does not say in {rows} rows which clip came"):
        analysed(capsys, tmp_path / name)


@pytest.mark.parametrize("seed", [1, 2])
def test_no_choice_among_repeated_ratings_depends_on_their_values(capsys, tmp_path, seed):
    """The same rows with scores 1 and 5 exchanged give the mirrored means."""
    lines = (DATA / "d_after1.csv").read_text().splitlines()
    mirrored = [re.sub(r",(\d)$", lambda m: f",{6 - int(m[1])}", line) for line in lines]
    path = tmp_path / "mirrored.csv"
    path.write_text("\n".join(mirrored))
    options = MOS if seed == 1 else f"{MOS} --repeats all"
    means, _ = analysed(capsys, DATA / "d_after1.csv", options)
    other, _ = analysed(capsys, path, options)
    assert {k: round(6 - v, 2) for k, v in other.items()} == pytest.approx(means, abs=0.011)


def test_one_rater_is_one_rater(capsys, tmp_path):
    rows = [f"r,i{i},{c},{3 + (i + n) % 2}" for i in range(3) for n, c in enumerate("AB")]
    (tmp_path / "one.csv").write_text("\n".join(["rater,item,condition,score", *rows]))
    call_command("analyse", str(tmp_path / "one.csv"), *MOS.split(), "--part", "answer")
    printed = capsys.readouterr().out
    assert "n=3, 1 rater, 3 items" in printed
    assert "1 raters" not in printed


@pytest.mark.parametrize("both", [True, False])
def test_comparisons_are_with_the_condition_that_is_named_as_the_reference(capsys, tmp_path, both):
    rows = [
        f"p{rater},s{item},{'old,new' if both and item == 0 else 'new,old'},"
        f"{-1 if both and item == 0 else 1 + rater % 2}"
        for rater in range(4)
        for item in range(3)
    ]
    path = tmp_path / "pairs.csv"
    path.write_text("\n".join(["listener,sentence,first,second,score", *rows]))
    options = "--set method=cmos --column rater=listener --column item=sentence"
    options += " --column condition=first --column versus_condition=second"
    as_written, _ = analysed(capsys, path, options)
    means, told = analysed(capsys, path, f"{options} --reference new")
    assert means == {"old": -as_written["new"]}
    assert "Against new: old" in told
    assert "was not rated" not in told


def test_audio_without_scores_is_refused(tmp_path):
    with pytest.raises(CommandError, match="name these with --scores"):
        call_command("analyse", str(DATA / "base.csv"), "--audio", str(tmp_path))


def test_several_files_are_joined_as_the_command_says(capsys, tmp_path):
    """As PsychoPy and jsPsych write them: one file a rater, of which some lack a line end."""
    (tmp_path / "results").mkdir()
    for rater in range(3):
        lines = "\n".join(f"p{rater},s{item},A,{2 + item}" for item in range(3))
        text = f"\ufeffparticipant,sentence,system,score\n{lines}"
        (tmp_path / "results" / f"{rater}.csv").write_text(text, encoding="utf-8")
    files = [str(path) for path in sorted((tmp_path / "results").iterdir())]
    with pytest.raises(CommandError, match="reads one file") as caught:
        call_command("analyse", *files)
    command = re.search(r"awk 1 .* > all.csv", str(caught.value))
    assert command is not None
    subprocess.run(["sh", "-c", command[0]], cwd=tmp_path, check=True)
    options = f"{MOS} --column rater=participant --column item=sentence --column condition=system"
    means, _ = analysed(capsys, tmp_path / "all.csv", options)
    assert means == {"A": 3.0}


@pytest.mark.parametrize("column", ["noise", "group", "word"])
def test_words_of_other_columns_are_no_kinds_of_trials(capsys, tmp_path, column):
    """A background noise is called train, a group of raters control."""
    head, *rows = (DATA / "base.csv").read_text().splitlines()
    values = ["train", "control", "gold", "park"]
    given = [f"{head},{column}", *(f"{row},{values[n // 3 % 4]}" for n, row in enumerate(rows))]
    (tmp_path / "noises.csv").write_text("\n".join(given))
    assert analysed(capsys, tmp_path / "noises.csv", MOS)[0] == BASE


def test_a_remedy_that_ends_in_a_quote_is_printed_whole(capsys, tmp_path):
    (tmp_path / "gorilla.csv").write_text("Task Name,rater,condition,item,score\nx,r1,A,i1,3\n")
    with pytest.raises(CommandError, match=r"--ignore-column 'Task Name'$"):
        analysed(capsys, tmp_path / "gorilla.csv", MOS)


def test_rankings_with_an_unanswered_trial_are_asked_about(capsys, tmp_path):
    rows = [
        f"r{r},{c},i{i},{1 + n}" for r in range(4) for i in range(3) for n, c in enumerate("AB")
    ]
    text = "\n".join(["rater,condition,item,score", *rows, "r9,A,i1,", "r9,B,i1,"])
    (tmp_path / "ranks.csv").write_text(text)
    with pytest.raises(CommandError, match="the scores of each rater and item are places from 1"):
        analysed(capsys, tmp_path / "ranks.csv")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (  # VoiceMOS lists have no header
            "sys064e-utt1.wav,3.25\nsys2-utt1.wav,4.0\n",
            r"first row \(sys064e-utt1.wav, 3.25\) looks like ratings: put a row with the names",
        ),
        ("r1;vits;u1;4\nr1;xtts;u1;3\n", "looks like ratings: put a row with the names"),
        ("stimulus,mos\nvits_1.wav,3.25\nvits_2.wav,4.5\n", "Means over raters cannot be analysed"),
        ("who,1,2,3\nann,3,4,5\nbob,3,4,2\n", "1, 2 and 3 do not say which clip"),
    ],
)
def test_tables_without_names_of_columns_or_raters_are_called_so(capsys, tmp_path, text, said):
    (tmp_path / "list.csv").write_text(text)
    with pytest.raises(CommandError, match=said):
        analysed(capsys, tmp_path / "list.csv")
