"""Every mistake in stimuli.csv, and every bad file name, is named with its row and column."""

import os
from pathlib import Path

import pytest

from listening.design.studyfile import Problem, mistakes, read_folder, stimuli_csv
from tests.listening.folders import (
    CONDITIONS,
    CSV,
    HEADER,
    ROWS,
    TOML,
    csv_with,
    make_folder,
    problems_of,
    the_problem,
    write_sound,
)

MAIN = ROWS[:3]  # the fourth row is the one that tests change


def check(problem: Problem, row: int | None, place: str, what: str, remedy: str = "") -> None:
    assert problem.file == "stimuli.csv"
    assert (problem.row, problem.place) == (row, place), str(problem)
    assert what in problem.what, str(problem)
    assert remedy in problem.remedy, str(problem)


@pytest.mark.parametrize(
    ("last", "place", "what", "remedy"),
    [
        ("a1,sys-b,i2,audio/b2.wav", "stimulus", "already in row 2", "of its own"),
        ("b2,sys-c,i2,audio/b2.wav", "condition", "as a condition", "“sys-"),
        ("b 2,sys-b,i2,audio/b2.wav", "stimulus", "holds a space", "- or _"),
        (",sys-b,i2,audio/b2.wav", "stimulus", "empty", "Fill"),
        ("b2,sys-b, ,audio/b2.wav", "item", "empty", "Fill"),
        ("b2,sys-b,i2,", "file", "empty", "Fill"),
        ("b2\0,sys-b,i2,audio/b2.wav", "stimulus", "NUL", "Delete"),
        ("b2,sys-b,i2\u200b,audio/b2.wav", "item", "invisible", "anew"),
        ('b2,sys-b,"i\n2",audio/b2.wav', "item", "line break", "anew"),
        (f"{'x' * 121},sys-b,i2,audio/b2.wav", "stimulus", "121 characters", "Shorten"),
        ("b2,sys-b,i2,audio/b2.wav,extra", "", "5 cells, the header 4", "double quotes"),
        ("b2,sys-b,i2", "", "only 3 cells, the header 4", "commas"),
        ("b2,sys-b,i2,audio/b9.wav", "file", "no file", "Copy it there"),  # no other item’s
        ("b2,sys-b,i2,audio/bb2.flac", "file", "no file", "Did you mean “audio/b2.wav”?"),
        ("b2,sys-b,i2,b2.wav", "file", "no file", "Did you mean “audio/b2.wav”?"),
        ("b2,sys-b,i2,audio/B2.wav", "file", "no file", "mind the capitals"),
        ("b2,sys-b,i2,audio/B1.wav", "file", "differ only in capitals", "Rename"),
        ("b2,sys-b,i2,audio", "file", "is no file", "sound file"),
        ("b2,sys-b,i2,../b2.wav", "file", "out of the folder", "into the folder"),
        ("b2,sys-b,i2,audio/../../b2.wav", "file", "out of the folder", "into the folder"),
        ("b2,sys-b,i2,/etc/passwd", "file", "absolute", "relative"),
        ("b2,sys-b,i2,C:/b2.wav", "file", "absolute", "relative"),
        ("b2,sys-b,i2,~/b2.wav", "file", "absolute", "relative"),
        ("b2,sys-b,i2,audio\\b2.wav", "file", "backslash", "forward"),
        ("b2,sys-b,i2,./audio/b2.wav", "file", "no plain path", "audio/clip.wav"),
        ("b2,sys-b,i2,audio//b2.wav", "file", "no plain path", "audio/clip.wav"),
        (f"b2,sys-b,i2,{'ä' * 140}.wav", "file", "255 bytes", "Shorten"),
        (f"b2,sys-b,i2,{'x' * 260}.wav", "file", "264 characters", "Shorten"),
    ],
)
def test_a_wrong_row_is_named(
    tmp_path: Path, last: str, place: str, what: str, remedy: str
) -> None:
    found = problems_of(tmp_path, csv=csv_with(*MAIN, last))
    match = [p for p in found if p.row == 5 and p.place == place and what in p.what]
    assert match, "\n".join(map(str, found))
    assert remedy in match[0].remedy


def test_two_rows_for_one_cell_of_the_design(tmp_path: Path) -> None:
    problem = the_problem(tmp_path, csv=csv_with(*ROWS, "c1,sys-a,i1,audio/b1.wav"))
    check(problem, 6, "condition", "Row 2 has the same condition, item and trap", "two conditions")


@pytest.mark.parametrize(
    ("header", "place", "what", "remedy"),
    [
        ("stimulus,condition,item", "file", "column is missing", "Add a column “file”"),
        ("id,condition,item,file", "stimulus", "column is missing", "Add a column"),
        ("stimulus,condition,item,,file", "column 4", "no name", "Name or delete"),
        ("stimulus,condition,item,file,item", "item", "two columns", "Rename or delete"),
        (f"{HEADER},Dimension", "Dimension", "looks like “dimension”", "Rename it"),
        (f"{HEADER},langauge", "langauge", "looks like “language”", "Rename it"),
        (f"{HEADER},texts", "texts", "looks like “text”", "Rename it"),
    ],
)
def test_a_wrong_header_is_named(
    tmp_path: Path, header: str, place: str, what: str, remedy: str
) -> None:
    rows = [f"{row}," if header.startswith(f"{HEADER},") else row for row in ROWS]
    found = problems_of(tmp_path, csv=csv_with(*rows, header=header))
    match = [p for p in found if p.file == "stimuli.csv" and p.place == place and p.row == 1]
    assert match, "\n".join(map(str, found))
    assert what in match[0].what
    assert remedy in match[0].remedy


@pytest.mark.parametrize("how", ["semicolons", "sep line", "tabs in UTF-16", "empty columns"])
def test_the_layouts_of_spreadsheet_programs_are_read(tmp_path: Path, how: str) -> None:
    text = csv_with(*ROWS, header=HEADER)
    text = text if isinstance(text, str) else text.decode()
    data = {
        "semicolons": text.replace(",", ";").encode(),
        "sep line": ("\ufeffsep=;\r\n" + text.replace(",", ";")).encode(),
        "tabs in UTF-16": text.replace(",", "\t").encode("utf-16"),
        "empty columns": text.replace("\n", ",,\n").encode(),
    }[how]
    assert problems_of(tmp_path, csv=data) == []


@pytest.mark.parametrize(
    "name", ["seed", "duration", "engine", "take", "speaker age", "speakers", "sentences", "文本"]
)
def test_other_columns_are_no_misspelling(tmp_path: Path, name: str) -> None:
    rows = [f"{row},1" for row in ROWS]
    assert problems_of(tmp_path, csv=csv_with(*rows, header=f"{HEADER},{name}")) == []


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (b"\n\n,,\n", "is empty"),
        ((HEADER + "\n").encode(), "no row below the header"),
        (b"PK\x03\x04\x14\x00 a workbook", "spreadsheet program"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1 an older one", "spreadsheet program"),
        (CSV.encode("utf-16")[:-1], "not utf-16"),
    ],
)
def test_a_table_without_rows(tmp_path: Path, content: bytes, what: str) -> None:
    problem = the_problem(tmp_path, csv=content)
    assert what in problem.what
    assert problem.remedy


def test_bytes_that_are_not_utf8_are_named_by_row_column_and_place(tmp_path: Path) -> None:
    rows = [f"{ROWS[0]},ok", f"{ROWS[1]},ok", f"{ROWS[2]},ok", f"{ROWS[3]},caf\u00e9"]
    csv = csv_with(*rows, header=f"{HEADER},text").encode("latin-1")
    check(the_problem(tmp_path, csv=csv), 5, "text", "Byte 4 of the cell (0xe9)", "UTF-8")


def test_each_row_with_wrong_bytes_is_named(tmp_path: Path) -> None:
    rows = [f"{row},\u00fc" for row in ROWS]
    found = problems_of(tmp_path, csv=csv_with(*rows, header=f"{HEADER},text").encode("latin-1"))
    assert [(p.row, p.place) for p in found] == [(n, "text") for n in (2, 3, 4, 5)]


def test_a_quote_that_is_never_closed(tmp_path: Path) -> None:
    found = problems_of(tmp_path, csv=csv_with(*MAIN, 'b2,sys-b,"i2,audio/b2.wav'))
    match = [p for p in found if "quotes do not match" in p.what]
    assert [p.row for p in match] == [5]


def test_a_cell_that_is_absurdly_long(tmp_path: Path) -> None:
    rows = [*ROWS[:3], f"{ROWS[3]}{'x' * 200_000}"]
    found = problems_of(tmp_path, csv=csv_with(*rows))
    assert any(p.row == 5 and "131,072" in p.what for p in found)


def test_a_text_that_is_too_long(tmp_path: Path) -> None:
    rows = [f"{row},{'x' * 20_001 if n == 3 else ''}" for n, row in enumerate(ROWS)]
    problem = the_problem(tmp_path, csv=csv_with(*rows, header=f"{HEADER},text"))
    check(problem, 5, "text", "20,001 characters", "Shorten")


def test_more_rows_than_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stimuli_csv.TABLE_ROWS == 200_000
    monkeypatch.setattr(stimuli_csv, "TABLE_ROWS", 1_000)
    rows = [f"s{n},sys-a,i{n},audio/a1.wav" for n in range(1_001)]
    found = problems_of(tmp_path, csv=csv_with(*rows))
    assert any(p.row == 1_002 and "more than 1,000 rows" in p.what for p in found)


def test_texts_of_one_item_that_contradict_each_other(tmp_path: Path) -> None:
    rows = [f"{row},{'Hello' if n < 2 else 'Hullo'}" for n, row in enumerate(ROWS)]
    found = problems_of(tmp_path, csv=csv_with(*rows, header=f"{HEADER},text"))
    assert [(p.row, p.place) for p in found] == [(4, "text"), (5, "text")]
    assert "“Hullo” contradicts “Hello” in row 2" in found[0].what


def test_long_texts_that_contradict_each_other_are_shown_where_they_differ(tmp_path: Path) -> None:
    ours = "Had he married a more amiable woman he might have been made still more so"
    theirs = ours.replace("still", "even")
    rows = [f"{row},{ours if n < 2 else theirs}" for n, row in enumerate(ROWS)]
    found = problems_of(tmp_path, csv=csv_with(*rows, header=f"{HEADER},text"))
    assert "“…ight have been made even more so” contradicts" in found[0].what
    assert "“…ight have been made still more so” in row 2" in found[0].what


@pytest.mark.parametrize("position", ["first", "-1", "1.5", "1e3", "９", "9999999999"])
def test_a_position_that_is_no_number(tmp_path: Path, position: str) -> None:
    rows = [f"{row},{position if n == 3 else ''}" for n, row in enumerate(ROWS)]
    problem = the_problem(tmp_path, csv=csv_with(*rows, header=f"{HEADER},position"))
    check(problem, 5, "position", f"“{position}” is no whole number" if position != "９" else "no")


def test_ids_that_differ_only_by_unicode_normalisation(tmp_path: Path) -> None:
    csv = CSV.replace("a2,sys-a,i2", "a2,sys-a,\u00e92").replace("b2,sys-b,i2", "b2,sys-b,e\u03012")
    problem = the_problem(tmp_path, csv=csv)
    check(problem, 5, "item", "only by Unicode normalisation (composed and decomposed)", "Copy")


def test_a_link_that_leads_out_of_the_folder(tmp_path: Path) -> None:
    write_sound(tmp_path / "outside.wav")
    folder = make_folder(tmp_path / "study")
    (folder / "audio" / "b2.wav").unlink()
    (folder / "audio" / "b2.wav").symlink_to(tmp_path / "outside.wav")
    (problem,) = read_folder(folder).problems
    check(problem, 5, "file", "a link to a place outside", "Copy the file itself")


def test_a_folder_that_is_a_link_out_of_the_folder(tmp_path: Path) -> None:
    write_sound(tmp_path / "elsewhere" / "b2.wav")
    folder = make_folder(tmp_path / "study", csv=CSV.replace("audio/b2.wav", "more/b2.wav"))
    (folder / "more").symlink_to(tmp_path / "elsewhere")
    (problem,) = read_folder(folder).problems
    check(problem, 5, "file", "a link to a place outside", "Copy the file itself")


def test_a_link_inside_the_folder_is_fine_and_a_loop_is_not(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    (folder / "audio" / "b2.wav").unlink()
    (folder / "audio" / "b2.wav").symlink_to("b1.wav")
    assert read_folder(folder).problems == ()
    (folder / "audio" / "b2.wav").unlink()
    (folder / "audio" / "b2.wav").symlink_to("b2.wav")
    (problem,) = read_folder(folder).problems
    check(problem, 5, "file", "no file", "")


def test_a_pipe_is_no_sound_file(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    (folder / "audio" / "b2.wav").unlink()
    os.mkfifo(folder / "audio" / "b2.wav")
    (problem,) = read_folder(folder).problems
    check(problem, 5, "file", "is no file", "")


def test_tables_may_not_be_links_out_of_the_folder_either(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "study")
    for name in ("study.toml", "stimuli.csv"):
        (folder / name).rename(tmp_path / name)
        (folder / name).symlink_to(tmp_path / name)
    found = read_folder(folder).problems
    assert [p.file for p in found] == ["study.toml", "stimuli.csv"]
    assert all("link out of the folder" in p.what for p in found)


def test_an_empty_folder(tmp_path: Path) -> None:
    found = read_folder(tmp_path).problems
    assert [p.file for p in found] == ["study.toml", "stimuli.csv"]
    assert all("No such file" in p.what and "study.toml and stimuli.csv" in p.remedy for p in found)


def test_the_toml_is_checked_even_when_the_table_is_broken(tmp_path: Path) -> None:
    found = problems_of(tmp_path, TOML.replace("[study]", '[study]\nlanguage = "?"'), b"")
    assert {p.file for p in found} == {"study.toml", "stimuli.csv"}


def test_what_a_problem_quotes_cannot_steer_a_terminal(tmp_path: Path) -> None:
    rows = [f"{row}," for row in ROWS]
    header = f"{HEADER},\x1b[2Jgone\u202e"
    toml = TOML + '"\\u001b[31mred" = 1\n'
    text = "".join(map(str, problems_of(tmp_path, toml, csv_with(*rows, header=header))))
    assert "\\x1b[31mred" in text
    assert not {c for c in text if not c.isprintable()}


@pytest.mark.medium
def test_a_mistake_of_a_thousand_rows_is_one_line_with_a_count(tmp_path: Path) -> None:
    rows = [f"x{n},sys-bb,i{n},audio/none{n}.wav" for n in range(1000)]
    found = mistakes(problems_of(tmp_path, csv=csv_with(*ROWS, *rows)))
    lines = [str(mistake) for mistake in found]
    assert len(lines) == 2
    assert lines[0].startswith(
        "rows 6, 7, 8 and 997 more, file: There is no file “audio/none0.wav”"
    )
    assert lines[1].startswith(
        "rows 6, 7, 8 and 997 more, condition: “sys-bb” is not declared as a condition"
    )


def test_few_rows_with_one_mistake_are_named_one_by_one(tmp_path: Path) -> None:
    rows = [f"x{n},sys-a,i{n + 1},audio/none{n}.wav" for n in (2, 3)]
    found = mistakes(problems_of(tmp_path, csv=csv_with(*ROWS, *rows)))
    files = [m for m in found if m.first.place == "file"]
    assert [m.where for m in files] == ["row 6, file", "row 7, file"]


def test_what_follows_from_an_unread_row_is_not_said_again(tmp_path: Path) -> None:
    problem = the_problem(tmp_path, csv=csv_with(*MAIN, "b2,sys-b,i2,audio/b2.wav,a comma, too"))
    check(problem, 5, "", "6 cells, the header 4", "double quotes")


def test_a_row_that_stands_twice_is_one_mistake(tmp_path: Path) -> None:
    check(the_problem(tmp_path, csv=csv_with(*ROWS, ROWS[1])), 6, "stimulus", "row 3 once more")


def test_conditions_of_the_table_need_no_declaration_and_are_said(tmp_path: Path) -> None:
    toml = TOML.replace(CONDITIONS, "")
    reading = read_folder(make_folder(tmp_path / "none", toml))
    assert reading.study is not None
    assert [c.key for c in reading.study.conditions] == ["sys-a", "sys-b"]
    assert "“sys-a”, “sys-b”: compared under these names." in reading.remarks[0]
    extra = read_folder(
        make_folder(
            tmp_path / "one",
            csv=csv_with(*ROWS, "r1,studio,i1,audio/a1.wav", "r2,studio,i2,audio/a2.wav"),
        )
    )
    assert extra.study is not None
    assert [c.key for c in extra.study.conditions] == ["sys-a", "sys-b", "studio"]
    assert read_folder(make_folder(tmp_path / "all")).remarks == ()


def test_a_folder_of_sounds_is_told_what_makes_a_study_of_it(tmp_path: Path) -> None:
    write_sound(tmp_path / "vits" / "s1.wav")
    told = "\n".join(map(str, read_folder(tmp_path).problems))
    assert "manage.py scan_audio makes stimuli.csv of their names" in told
    assert "manage.py new_study mos FOLDER" in told
