"""Odd names, things that are no files, equal files, one file for two runs, full disks."""

import errno
import json
import os
from io import StringIO

import numpy as np
import pytest
import soundfile
from django.core.management import CommandError, call_command

from metrics.scoring import inputs, records
from metrics.scoring.records import RecordFile, RecordsError

RATE_HZ = 8_000


def sound(path, level=0.5, samples=1_600):
    wave = level * np.sin(np.arange(samples) * 0.3)
    with open(path, "wb") as file:  # by its bytes: soundfile would refuse the name
        soundfile.write(file, wave, RATE_HZ, format="WAV")
    return path


def score_files(*arguments, fails=""):
    """What the command says on both streams; and it must fail with ``fails``, or not."""
    out, err = StringIO(), StringIO()
    given = ("score_files", *map(str, arguments), "--metrics=length_s", "--device=cpu")
    if fails:
        with pytest.raises(CommandError, match=fails):
            call_command(*given, stdout=out, stderr=err)
    else:
        call_command(*given, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def odd(tmp_path):
    """A folder with one good file, and all that may lie beside it."""
    folder = tmp_path / "clips"
    folder.mkdir()
    sound(folder / "good.wav")
    sound(os.fsencode(folder) + b"/caf\xe9.wav", 0.25)
    (folder / "folder.wav").mkdir()
    (folder / "gone.wav").symlink_to("nowhere.wav")
    os.mkfifo(folder / "pipe.wav")
    (folder / "text.wav").write_text("no audio")
    (folder / "notes.txt").write_text("notes")
    (folder / ".hidden.wav").write_text("hidden")
    return folder


def test_every_input_has_its_line_with_value_or_reason(odd, tmp_path):
    path = tmp_path / "out.jsonl"
    _, err = score_files(odd, "--out", path, fails="4 files cannot be read")
    by_name = {line["file"].rsplit("/", 1)[1]: line for line in lines_of(path)}
    assert [line["warnings"] for line in by_name.values()] == [{}] * 6
    assert by_name["good.wav"]["value"] == by_name[r"caf\xe9.wav"]["value"] == 0.2
    reasons = {name: line["reason"] for name, line in by_name.items() if line["metric"] is None}
    assert reasons.keys() == {"folder.wav", "gone.wav", "pipe.wav", "text.wav"}
    rename = "; rename it, or leave it out"
    assert reasons["folder.wav"].endswith(f"folder.wav: is a folder, not a file{rename}")
    gone = "is a link to nowhere.wav, which is not there; mend or delete it"
    assert reasons["gone.wav"].endswith(gone)
    assert reasons["pipe.wav"].endswith(f"is a pipe, not a file{rename}")
    decoder = "no audio that can be read"
    assert reasons["text.wav"].endswith(f"{decoder}; save it again as FLAC or WAV")
    assert "2 other files are left out (1 hidden, 1 .txt)" in err
    assert r"1 name is no UTF-8, and written with \x: " in err
    again = path.read_bytes()
    score_files(odd, "--out", path, fails="4 files cannot be read")
    assert path.read_bytes() == again  # nothing is said twice


def test_what_a_shell_finds_in_a_folder_ends_no_run(odd, tmp_path):
    path = tmp_path / "out.jsonl"
    wanted = sorted(each for each in odd.iterdir() if each.suffix == ".wav")
    score_files(*wanted, "--out", path, fails="5 files cannot be read")  # and .hidden.wav
    assert len(lines_of(path)) == len(wanted)
    reasons = {line["stimulus"]: line["reason"] for line in lines_of(path)}
    assert reasons["folder"].endswith("is a folder, not a file; rename it, or leave it out")


def test_an_empty_file_is_called_empty(tmp_path):
    (tmp_path / "a.wav").touch()
    out, _ = score_files(tmp_path / "a.wav", fails="1 file cannot be read")
    assert "(is empty (0 bytes); copy it again from its source)" in out


def test_a_folder_that_cannot_be_opened_is_told(tmp_path, monkeypatch):
    folder, path, real = tmp_path / "clips", tmp_path / "out.jsonl", os.scandir
    for name in ("open", "v1.2"):
        (folder / name).mkdir(parents=True)
        sound(folder / name / "a.wav")

    def scandir(place="."):
        if os.fspath(place).endswith("v1.2"):
            raise PermissionError(errno.EACCES, "Permission denied", os.fspath(place))
        return real(place)

    monkeypatch.setattr(os, "scandir", scandir)  # whoever runs the tests may open everything
    score_files(folder, "--out", path, fails="1 file cannot be read")
    found = {line["file"]: line["reason"] for line in lines_of(path)}
    assert found.pop(str(folder / "open" / "a.wav")) == ""
    denied = f"{folder / 'v1.2'}: cannot be read (Permission denied); let this user read it"
    assert found == {str(folder / "v1.2"): denied}


def test_folders_behind_links_are_looked_into_and_circles_are_not(tmp_path):
    folder, path = tmp_path / "clips", tmp_path / "out.jsonl"
    folder.mkdir()
    (tmp_path / "elsewhere").mkdir()
    sound(tmp_path / "elsewhere" / "a.wav")
    for name in ("one", "two"):  # of the same clips, under two conditions
        (folder / name).symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "back").symlink_to(folder)
    (folder / "loop").symlink_to(folder)
    score_files(folder, "--out", path)
    assert sorted(line["condition"] for line in lines_of(path)) == ["one", "two"]


def test_a_name_with_a_line_break_is_one_line_of_the_screen(tmp_path):
    sound(tmp_path / "a\nb\x1b[2J.wav")
    (tmp_path / "c\nd.wav").write_text("no audio")
    out, err = score_files(tmp_path, fails="1 file cannot be read")
    assert "a\\nb\\x1b[2J.wav" in out
    assert "c\\nd.wav" in out
    assert "\x1b" not in out + err
    assert not [line for line in (out + err).splitlines() if line.startswith(("b", "d.wav"))]


def test_the_screen_tells_all_inputs_too(odd):
    out, err = score_files(odd, fails="4 files cannot be read")
    for name in ("good.wav", r"caf\xe9.wav", "folder.wav", "gone.wav", "pipe.wav", "text.wav"):
        assert sum(name in line for line in out.splitlines() if "written with" not in line) == 1
    assert "pipe.wav" not in err


def test_an_unreadable_file_is_one_line_however_many_metrics_are_asked(tmp_path):
    path, out = tmp_path / "out.jsonl", StringIO()
    (tmp_path / "text.wav").write_text("no audio")
    given = ("score_files", str(tmp_path / "text.wav"), "--metrics=length_s,srmr,srmr_norm")
    with pytest.raises(CommandError, match="1 file cannot be read"):
        call_command(*given, "--out", str(path), "--device=cpu", stdout=out, stderr=out)
    assert len(lines_of(path)) == 1
    assert out.getvalue().count("no audio that can be read") == 1


def test_equal_files_each_have_their_line_now_and_later(tmp_path):
    path = tmp_path / "out.jsonl"
    first, second, third = (tmp_path / name for name in ("a.wav", "b.wav", "c.wav"))
    sound(first)
    sound(second)
    score_files(first, second, "--out", path)
    assert [line["stimulus"] for line in lines_of(path)] == ["a", "b"]
    sound(third)
    _, err = score_files(first, second, third, "--out", path)
    assert [line["stimulus"] for line in lines_of(path)] == ["a", "b", "c"]
    assert "1 of them are written for files with the same audio" in err
    assert len({line["value"] for line in lines_of(path)}) == 1


def test_a_manifest_may_give_one_file_to_several_conditions(tmp_path):
    path, table = tmp_path / "out.jsonl", tmp_path / "m.csv"
    sound(tmp_path / "a.wav")
    table.write_text("file,stimulus,condition\na.wav,one,calm\na.wav,two,loud\n")
    out, _ = score_files(table, "--out", path)
    assert [(r["stimulus"], r["condition"]) for r in lines_of(path)] == [
        ("one", "calm"),
        ("two", "loud"),
    ]
    assert "calm" in out
    assert "loud" in out


def test_warnings_and_facts_are_in_the_lines_and_told_at_the_end(tmp_path):
    path = tmp_path / "out.jsonl"
    sound(tmp_path / "loud.wav", 1.5)
    _, err = score_files(tmp_path / "loud.wav", "--out", path)
    (line,) = lines_of(path)
    assert list(line["warnings"]) == ["clipped"]
    assert line["audio"]["rate_hz"] == RATE_HZ
    assert line["audio"]["bits"] == 16
    assert "Warning, Clipped (clipped), 1 clip: " in err


def test_two_runs_do_not_write_into_one_file(tmp_path):
    path = tmp_path / "out.jsonl"
    sound(tmp_path / "a.wav")
    with RecordFile(path):
        score_files(tmp_path / "a.wav", "--out", path, fails="another process is writing there")
    score_files(tmp_path / "a.wav", "--out", path)
    assert len(lines_of(path)) == 1


def test_a_full_disk_leaves_whole_lines_and_a_sentence(tmp_path, monkeypatch):
    path = tmp_path / "out.jsonl"
    sound(tmp_path / "a.wav")
    score_files(tmp_path / "a.wav", "--out", path)
    before, real = path.read_bytes(), os.write

    def full(file, text):
        if len(text) > 100:
            return real(file, text[:100])  # as much as finds room
        raise OSError(errno.ENOSPC, "No space left on device")

    sound(tmp_path / "b.wav", 0.3)
    monkeypatch.setattr(records.os, "write", full)
    said = r"No space left on device\); its 1 lines are whole\. Free some space and run"
    score_files(tmp_path / "a.wav", tmp_path / "b.wav", "--out", path, fails=said)
    assert path.read_bytes() == before
    monkeypatch.undo()
    score_files(tmp_path / "a.wav", tmp_path / "b.wav", "--out", path)
    assert [line["stimulus"] for line in lines_of(path)] == ["a", "b"]


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(RecordsError, match="cannot be written"):
        RecordFile(tmp_path / "no folder" / "out.jsonl")


def test_a_folder_of_oddities_alone_gives_clips_that_say_so(odd):
    found = {clip.stimulus for clip in inputs.folder_clips(odd)}
    assert found == {"good", r"caf\xe9", "folder", "gone", "pipe", "text"}
