"""The small worst case of each parser: what was sent is refused or read in little processor time.

Processor time is compared with a loop that is timed beside it, so that a slow machine has more.
"""

import gzip
import io
import json
import pickle
import struct
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest
import soundfile

from listening.audio import keep_served, long_sounds, probed
from listening.common import input_limits, reading_process
from listening.common.input_limits import APART_FROM_TABLE_BYTES
from listening.common.plain_json import JsonError, read_json
from listening.common.plain_toml import TomlError, read_toml
from listening.common.plain_yaml import YamlError, read_yaml
from listening.common.reading_process import ServerBusy, TookTooLong, read_apart
from listening.common.sound_files import AudioError
from listening.common.sound_files.layout import mp3_parts
from listening.common.spreadsheets import TableError, json_records, layout_of, raw_bytes, read_table
from listening.design.studyfile import CSV, TOML, read_folder, read_sent_folder, unpack
from listening.design.studyfile.archive import FROM_THE_WEB, unpack_upload
from tests.listening.folders import make_folder

LOOPS = 300  # so many times the loop below is what a parser may take: some 2 s usually


def loop_s() -> float:
    """Processor time of a fixed piece of work, some 8 ms."""
    began = time.process_time()
    total = 0
    for number in range(120_000):
        total += number
    return time.process_time() - began


def spent_s(work) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def laughs(lines: int, each: int, merge: bool = False) -> str:
    """A billion laughs: each line stands for several of the one before."""
    text = ["a0: &a0 {x: lol}" if merge else "a0: &a0 [lol]"]
    for n in range(1, lines):
        again = ", ".join([f"*a{n - 1}"] * each)
        text.append(f"a{n}: &a{n} " + (f"{{<<: [{again}]}}" if merge else f"[{again}]"))
    return "\n".join(text)


TOMLS = {
    "dotted keys": "a" + ".a" * 40_000 + " = 1",
    "dotted table": "[a" + ".a" * 40_000 + "]",
    "dots behind a text": 'b = """x"""""\na' + ".a" * 40_000 + " = 1",
    "quoted parts": "a" + '."a"' * 40_000 + " = 1",
    "deep lists": "a = " + "[" * 40_000,
    "deep tables": "a = " + "{a = " * 20_000,
    "deep enough": "a = " + "[" * 17 + "]" * 17,
    "long number": "a = " + "9" * 5_000,
    "long hexadecimal number": "a = 0x" + "f" * 5_000,
    "no number": "a = inf",
    "too large a number": "a = 1e999",
    "many values": "a = 1\n" * 60_000,
    "many tables": "[[a]]\n" * 30_000,
    "large": "#" * (input_limits.TOML_BYTES + 1),
    "quotes": '"' * 100_000,
    "half a surrogate pair": 'a = "\\ud800"',
    "a NUL": 'a = "\0"',
    "a NUL by its number": 'a = ["\\u0000"]',
    "a NUL in a name": '"a\\u0000" = 1',
}
JSONS = {
    "deep": "[" * 100_000 + "]" * 100_000,
    "deep enough": "[" * 101 + "]" * 101,
    "deep objects": '{"a":' * 5_000 + "1" + "}" * 5_000,
    "long number": "9" * 5_000,
    "too large a number": '{"a": 1e999}',
    "no number": "[NaN]",
    "a key twice": '{"a": 1, "b": {"c": 1, "c": 2}}',
    "many lists": "[" + "[]," * 1_000_001 + "[]]",
    "large": " " * (input_limits.PAGE_JSON_BYTES + 1),
    "no text": b'{"a": "\xff"}',
}
YAMLS = {
    "laughs": laughs(10, 10),
    "laughs of merges": laughs(30, 2, merge=True),
    "itself": "a: &a [*a]",
    "deep flow": "[" * 10_000,
    "deep block": "- " * 10_000,
    "deep keys": "? " * 10_000,
    "many values": "[" + "a," * 60_000 + "a]",
    "large": "a: b\n" * 200_000,
    "no date": "a: !!timestamp 2001-99-99",
    "long number": "a: " + "9" * 5_000,
    "a key twice": "a: {b: 1, b: 2}",
    "an object of Python": "a: !!python/object/apply:os.system [ls]",
}


@pytest.mark.medium
@pytest.mark.parametrize(
    ("read", "error", "text"),
    [
        *(pytest.param(read_toml, TomlError, text, id=f"toml {n}") for n, text in TOMLS.items()),
        *(pytest.param(read_json, JsonError, text, id=f"json {n}") for n, text in JSONS.items()),
        *(pytest.param(read_yaml, YamlError, text, id=f"yaml {n}") for n, text in YAMLS.items()),
    ],
)
def test_a_text_that_costs_much_is_refused_soon(read, error, text):
    usual = loop_s()

    def refused():
        with pytest.raises(error) as said:
            read(text)
        assert len(str(said.value)) < 400

    assert spent_s(refused) < LOOPS * usual


@pytest.mark.medium
def test_what_is_large_and_allowed_is_read():
    keys = "\n".join(f"key{n} = 'x.y.z.x.y.z.x.y.z.x.y.z.x.y.z.x.y.z'" for n in range(2_000))
    assert len(read_toml(keys + '\ntext = """' + "....." * 10_000 + '"""')) == 2_001
    assert read_json(json.dumps([{"a": [n]} for n in range(5_000)]))[-1] == {"a": [4_999]}
    assert read_json("[1e999, NaN]", finite=False)[0] == float("inf")
    shared = "a: &a {x: 1}\n" + "\n".join(f"b{n}: *a" for n in range(500))
    assert read_yaml(shared)["b499"] == {"x": 1}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"file": "a", "mos": 1, "mos": 2}', "line 1: .*“mos” stands twice in one object. Keep"),
        ('{"file": "a"}\n{"file": ' + "[" * 5_000, "line 2: .*nested more than 100 deep"),
        ("{'a': " + "(" * 200 + "}", "line 1"),
        ("{'a': '" + "x" * 200_000 + "'}", "line 1"),
        ('[{"a": 1, "a": 2}]', "“a” stands twice"),
    ],
)
def test_lines_of_json_are_bounded_and_no_key_stands_twice(text, said):
    with pytest.raises(TableError, match=said):
        list(json_records(text))


WIDE = ",".join(["a"] * 1_000_000)


@pytest.mark.medium
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (WIDE, "row 1: 1,000,000 columns, and 10,000 are allowed"),
        (WIDE[:19_999], "row 1: a more than once"),
        ("a,b\n" + "1,2\n" * 1_001, "row 1002: more than 1,000 rows"),
        ('a,b\n1,"' + "x" * 200_000, "row 2"),
    ],
)
def test_tables_are_bounded_in_rows_and_columns(text, said):
    usual = loop_s()

    def refused():
        with pytest.raises(TableError, match=said):
            read_table(text, most_rows=1_000)

    assert spent_s(refused) < LOOPS * usual


def test_many_columns_of_the_same_name_take_no_time_squared():
    usual = loop_s()
    text = ",".join(f"c{n}" for n in range(9_000)) + "\n" + ",".join("1" * 9_000)
    assert spent_s(lambda: layout_of(text)) < LOOPS * usual


def test_a_packed_table_is_unpacked_no_further_than_a_table_may_be(tmp_path, monkeypatch):
    monkeypatch.setattr("listening.common.spreadsheets.TABLE_BYTES", 1_000_000)
    path = tmp_path / "bomb.csv"
    path.write_bytes(gzip.compress(b"0" * 1_100_000))
    with pytest.raises(TableError, match="unpacked; split the table"):
        raw_bytes(path)
    path.write_bytes(gzip.compress(b"0" * 1_000_000)[:-20])
    with pytest.raises(TableError):
        raw_bytes(path)


def zip_of(entries: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return out.getvalue()


def problem_of(tmp_path, data: bytes) -> str:
    archive, into = tmp_path / "study.zip", tmp_path / "into"
    archive.write_bytes(data)
    into.mkdir(exist_ok=True)
    (problem,) = unpack(archive, into, FROM_THE_WEB)
    assert not any(into.iterdir())
    return str(problem)


def test_an_archive_of_very_many_entries_is_refused_by_its_end(tmp_path, monkeypatch):
    """The table of contents of 60,000 entries took 22 s; its end says how many there are."""
    monkeypatch.setattr(zipfile, "ZipFile", None)  # it is not even opened
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 60_000, 60_000, 100, 0, 0)
    said = problem_of(tmp_path, b"x" * 1_000 + end)
    assert said == "study.zip: The archive holds 60,000 files; 20,000 are allowed. Split the study."
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, 50_000_000, 0, 0)  # it says one
    assert "table of contents has 48 MB" in problem_of(tmp_path, b"x" * 1_000 + end)
    end64 = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 10**9, 10**9, 10**11, 0)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 65_535, 65_535, 2**32 - 1, 2**32 - 1, 0)
    assert "1,000,000,000 files" in problem_of(tmp_path, end64 + locator + end)


@pytest.mark.medium
def test_a_small_archive_with_a_costly_table_is_read_soon(tmp_path):
    usual = loop_s()
    data = zip_of({TOML: TOMLS["dotted keys"].encode(), CSV: WIDE.encode()})
    assert len(data) < 3_000
    (tmp_path / "a.zip").write_bytes(data)
    into = tmp_path / "into"
    into.mkdir()

    def read():
        assert unpack_upload(tmp_path / "a.zip", into, []) == []
        said = "\n".join(map(str, read_folder(into).problems))
        assert "A key has more than 16 parts" in said
        assert "There are 1000000 columns" in said

    assert spent_s(read) < LOOPS * usual


@pytest.mark.medium
@pytest.mark.parametrize(
    "data",
    [
        b"ID3\x04\0\0\x7f\x7f\x7f\x7f" + b"\0" * 5_000,  # a tag of 256 MB, says its head
        b"\xff\xfb\x90\0" * 100_000,  # heads of frames that no frame follows
        (b"\xff\xfb\x90\0" + b"\0" * 413 + b"x") * 2_000,  # damage after each frame
        b"\0" * 500_000,
    ],
    ids=["tag", "heads", "damage", "zeros"],
)
def test_a_sound_file_is_looked_through_in_little_time(data):
    usual = loop_s()
    assert spent_s(lambda: mp3_parts(io.BytesIO(data), len(data))) < LOOPS * usual


# --- Apart ----------------------------------------------------------------------------------------


@pytest.mark.medium
def test_what_is_read_apart_comes_back_or_says_why_not():
    assert read_apart(int, "12") == 12
    with pytest.raises(ValueError, match="invalid literal"):
        read_apart(int, "twelve")


@pytest.mark.medium
@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ({"cpu_s": 0, "wait_s": 600}, "needs more processor time or memory than is allowed here"),
        ({"cpu_s": 600, "wait_s": 0.01}, "did not end in time, because the server is busy"),
    ],
    ids=["cpu", "wait"],
)
def test_what_does_not_end_is_ended(limits, why):
    with pytest.raises(TookTooLong) as stopped:
        read_apart(sum, range(10**15), **limits)
    what, remedy = stopped.value.explain("Counting", "Count less.")
    assert what == f"Counting {why}."
    assert remedy == ("Try again later." if "busy" in why else "Count less.")


def test_the_web_process_says_that_it_is_busy_while_the_request_still_waits(monkeypatch):
    from config import web

    assert reading_process.longest_wait_s < web.PATIENCE_S["researchers"]
    asked = []

    class Busy:
        def __init__(self, *_, **__):
            pass

        def communicate(self, given=None, timeout=None):
            asked.append(timeout)
            if given:
                raise subprocess.TimeoutExpired("", timeout)

        def kill(self):
            pass

    monkeypatch.setattr(subprocess, "Popen", Busy)
    with pytest.raises(ServerBusy):
        read_apart(int, "1")
    assert asked == [reading_process.longest_wait_s, None]


@pytest.fixture
def long_silence(tmp_path):
    """Twelve seconds in stereo at 192 kHz: 4.6 million samples in some kilobytes."""
    path = tmp_path / "silence.flac"
    with soundfile.SoundFile(path, "w", 192_000, 2, "PCM_16", format="FLAC") as file:
        for _ in range(12):
            file.write(np.zeros((192_000, 2), np.int16))
    assert path.stat().st_size < 100_000
    return path


@pytest.mark.medium
def test_long_sounds_are_left_to_the_process_with_a_deadline(long_silence, monkeypatch):
    asked = []

    def ends(function, *given, cpu_s):
        asked.append((function, cpu_s))
        raise TookTooLong

    monkeypatch.setattr(long_sounds, "read_apart", ends)
    usual = loop_s()

    def refused():
        with pytest.raises(AudioError, match="more processor time or memory than is allowed"):
            probed(long_silence)
        with pytest.raises(AudioError, match="more processor time or memory than is allowed"):
            keep_served(long_silence, -1.0)

    assert spent_s(refused) < LOOPS * usual
    assert [cpu_s for _, cpu_s in asked] == [input_limits.APART_SOUND_CPU_S] * 2


def test_decoding_here_stops_whatever_the_header_says():
    blocks = iter([np.zeros((1_000, 2))] * 100)
    with pytest.raises(long_sounds.IsLong):
        list(long_sounds.bounded(blocks, 10_000))
    assert len(list(blocks)) == 94
    assert len(list(long_sounds.bounded(blocks, None))) == 0


@pytest.mark.slow
def test_a_long_sound_measured_apart_has_the_same_facts(tmp_path, monkeypatch):
    path = tmp_path / "a.wav"
    soundfile.write(path, np.sin(np.arange(16_000) / 9) / 2, 16_000)
    here = probed(path)
    monkeypatch.setattr(long_sounds, "APART_FROM_SAMPLES", 0)
    assert probed(path) == here
    error = pickle.loads(pickle.dumps(AudioError("It is damaged.", "Copy it again.")))
    assert (str(error), error.remedy) == ("It is damaged. Copy it again.", "Copy it again.")


@pytest.mark.medium
def test_large_tables_are_read_apart_and_give_the_same_study(tmp_path, monkeypatch):
    folder = make_folder(tmp_path / "study")
    assert read_sent_folder(folder) == read_folder(folder)
    with (folder / TOML).open("a") as toml:
        toml.write("\n#" + "x" * APART_FROM_TABLE_BYTES)
    calls = []

    def apart(function, *given):
        calls.append(function)
        return read_apart(function, *given)

    monkeypatch.setattr("listening.design.studyfile.read_apart", apart)
    assert read_sent_folder(folder) == read_folder(folder)
    assert calls == [read_folder]


@pytest.mark.medium
def test_a_large_archive_is_unpacked_apart_as_here(tmp_path, monkeypatch):
    monkeypatch.setattr(input_limits, "APART_FROM_FILES", 0)
    archive, into = tmp_path / "a.zip", tmp_path / "into"
    archive.write_bytes(zip_of({"a/b.txt": b"b", "__MACOSX/x": b"x"}))
    into.mkdir()
    ignored: list[str] = []
    assert unpack_upload(archive, into, ignored) == []
    assert ((into / "a/b.txt").read_bytes(), ignored) == (b"b", ["__MACOSX/x"])
    archive.write_bytes(b"no zip" + b"PK\5\6" + b"\xff" * 18)
    assert len(unpack_upload(archive, into, ignored)) == 1


@pytest.mark.parametrize(
    "text",
    ["[" * 5_000, '{"a":' * 5_000, "[" * 9_000 + "]" * 9_000, '["\\"]", ' + "[" * 101 + "]" * 102],
)
def test_depth_is_refused_however_deep_a_library_lets_python_recurse(text):
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)  # as PyMC does for the whole process
    try:
        with pytest.raises(JsonError, match="nested more than 100 deep"):
            read_json(text)
    finally:
        sys.setrecursionlimit(usual)


@pytest.mark.parametrize(
    "value", ["[" * 500, ["\\", "[" * 500, '"[[[['], {'"' + "{" * 300: ["]" * 300]}]
)
def test_brackets_within_texts_are_no_depth(value):
    assert read_json(json.dumps([value] + [[]] * 200))[0] == value


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_table_longer_than_pages_take_is_refused_at_the_same_row(quote):
    rows = [f"{quote}s{n}{quote},A" for n in range(12)]
    text = "\n".join(["stimulus,condition", *rows])
    assert len(list(read_table(text, most_rows=12).records())) == 12
    with pytest.raises(TableError, match=r"^row 12: more than 10 rows below the header"):
        read_table(text, most_rows=10)
