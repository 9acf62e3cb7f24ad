"""Clips are brought from where they lie: bounded, resumable, with their sources and hashes."""

import csv
import hashlib
import io
import json
import re
import tarfile
import tracemalloc
from ipaddress import ip_network

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from analysis.corpus import remote_clips
from listening.common import remote_files
from listening.common.input_limits import MB
from listening.common.remote_files import without_secrets
from listening.design.studyfile import read_folder
from listening.notifications import posting
from tests.listening.folders import CONDITIONS, STUDY, TASK
from tests.local_server import LocalServer
from tools.locks import ROOT

CLIPS = {path.stem: path.read_bytes() for path in sorted(ROOT.glob("demo/audio/flite-*_s08*"))[:4]}
FIRST, *_ = CLIPS
NOISE = ("bin", "npy")  # endings of members that are no audio and no text


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def fetch(source, folder, *options):
    call_command("fetch_audio", str(source), str(folder), *options)
    return rows(folder / "stimuli.csv")


def check(folder, contents):
    """All files are there as they were, with their hashes."""
    listed = rows(folder / "sources.csv")
    assert sorted((folder / each["file"]).read_bytes() for each in listed) == sorted(contents)
    for each in listed:
        content = (folder / each["file"]).read_bytes()
        assert each["sha256"] == hashlib.sha256(content).hexdigest()
    return listed


@pytest.fixture
def server(settings):
    settings.EARNEST_WEBHOOK_NETWORKS = (ip_network("127.0.0.1/32"),)
    with LocalServer({f"/{name}.flac": data for name, data in CLIPS.items()}) as running:
        yield running


@pytest.fixture
def addresses(server, tmp_path):
    path = tmp_path / "urls.txt"
    path.write_text("".join(f"{server.url}/{name}.flac?key=secret\n" for name in CLIPS))
    return path


def test_a_list_of_addresses_is_brought_once_and_a_run_goes_on(addresses, server, tmp_path):
    folder = tmp_path / "study"
    with pytest.raises(CommandError, match=r"3 files were brought.*Run it again"):
        fetch(addresses, folder, "--most-files", "3")
    assert not (folder / "stimuli.csv").exists()
    found = fetch(addresses, folder, "--condition", "sys-a")
    assert len(server.asked) == len(CLIPS)
    assert [row["stimulus"] for row in found] == list(CLIPS)
    assert {row["condition"] for row in found} == {"sys-a"}
    listed = check(folder, CLIPS.values())
    assert not any("secret" in each["source"] for each in listed)
    fetch(addresses, folder, "--force")
    assert len(server.asked) == len(CLIPS)
    (folder / listed[0]["file"]).write_bytes(b"cut off")  # such a file is brought again
    fetch(addresses, folder, "--force")
    check(folder, CLIPS.values())


def test_addresses_that_differ_in_their_queries_are_different_clips(server, tmp_path):
    path, folder = tmp_path / "urls.txt", tmp_path / "study"
    for number, data in enumerate(CLIPS.values()):
        server.files[f"/get?id={number}&key=secret"] = data
    path.write_text("".join(f"{server.url}{each}\n" for each in server.files if "?" in each))
    for _ in range(2):
        found = fetch(path, folder, "--force")
        assert [(folder / row["file"]).read_bytes() for row in found] == list(CLIPS.values())
        assert len({row["stimulus"] for row in found}) == len(CLIPS)
    assert len(server.asked) == len(CLIPS)
    check(folder, CLIPS.values())
    assert "secret" not in (folder / "sources.csv").read_text()
    assert {row["source"] for row in found} == {f"{server.url}/get"}


def test_what_was_brought_is_a_study_folder(addresses, tmp_path):
    folder = tmp_path / "study"
    fetch(addresses, folder, "--condition", "sys-a")
    one = CONDITIONS.split("\n\n")[0]
    (folder / "study.toml").write_text(f"{STUDY}\n{one}\n{TASK}")
    reading = read_folder(folder)
    assert [str(each) for each in reading.problems] == []
    sources = {stimulus.attributes["source"] for stimulus in reading.study.stimuli}
    assert sources == {each["source"] for each in rows(folder / "sources.csv")}


def test_addresses_within_a_private_network_are_not_called(server, settings, tmp_path):
    inside = tmp_path / "inside.txt"
    server.redirects["/away"] = "http://169.254.169.254/latest/meta-data"
    inside.write_text(f"{server.url}/away\n")
    with pytest.raises(CommandError, match=r"169\.254\.169\.254 is in a private network"):
        fetch(inside, tmp_path / "a")
    settings.EARNEST_WEBHOOK_NETWORKS = ()
    inside.write_text(f"{server.url}/{FIRST}.flac\n")
    with pytest.raises(CommandError, match="is in a private network"):
        fetch(inside, tmp_path / "b")
    assert server.asked == ["/away"]


def test_a_file_that_is_too_large_or_missing_is_named(server, tmp_path):
    with pytest.raises(OSError, match="larger than 0 MB"):
        posting.download(f"{server.url}/{FIRST}.flac", tmp_path / "x", 1000, 10)
    missing = tmp_path / "missing.txt"
    missing.write_text(f"{server.url}/nothing.flac\n")
    with pytest.raises(CommandError, match=r"nothing\.flac: the server answered 404"):
        fetch(missing, tmp_path / "c")
    assert [path.name for path in (tmp_path / "c" / "audio").iterdir()] == []


def test_an_answer_that_is_no_sound_is_refused_and_fetched_again(server, tmp_path):
    path, folder = tmp_path / "urls.txt", tmp_path / "study"
    server.files["/page.wav"] = b"<html>Please log in</html>"
    path.write_text(f"{server.url}/{FIRST}.flac\n{server.url}/page.wav\n")
    for _ in range(2):
        with pytest.raises(CommandError, match=r"urls\.txt, line 2: .*/page\.wav: .* FLAC or WAV"):
            fetch(path, folder)
        check(folder, [CLIPS[FIRST]])
    server.files["/page.wav"] = CLIPS[FIRST]
    fetch(path, folder)
    check(folder, [CLIPS[FIRST]] * 2)
    assert server.asked.count("/page.wav") == 3


def test_the_folders_of_addresses_are_systems_where_names_repeat(server, tmp_path):
    names = [f"{system}/00{n}" for system in ("sysA", "sysB") for n in (1, 2)]
    for name, data in zip(names, CLIPS.values(), strict=True):
        server.files[f"/set/{name}.flac"] = data
    of_each = {name: f"{server.url}/set/{name}.flac" for name in names}
    lines = "".join(f"{address}\n" for address in of_each.values())
    for source, content, expected in (
        ("all.txt", lines, names),
        ("two.txt", f"{of_each['sysA/001']}\n{of_each['sysB/001']}\n", ["sysA/001", "sysB/001"]),
        ("table.csv", f"file\n{lines}", names),
    ):
        (tmp_path / source).write_text(content)
        found = fetch(tmp_path / source, tmp_path / f"study-{source}")
        assert [row["stimulus"] for row in found] == expected
        assert [f"{row['condition']}/{row['item']}" for row in found] == expected
    (tmp_path / "ids.csv").write_text(
        "id,system,file\n" + "".join(f"{n[-3:]},{n[:4]},{of_each[n]}\n" for n in names)
    )
    found = fetch(tmp_path / "ids.csv", tmp_path / "ids")
    assert [row["stimulus"] for row in found] == ["001", "002", "sysB/001", "sysB/002"]
    assert [f"{row['condition']}/{row['item']}" for row in found] == names


def test_a_shard_says_text_and_system_in_json_and_else_by_folders(tmp_path):
    facts = {"text": "Hello", "system": "vits", "lang": "de", "words": ["a"]}
    first, second, third, *_ = CLIPS.values()
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for name, data in (
            *(("./001.flac", first), ("./001.json", json.dumps(facts).encode())),
            *(("sysA/wavs/001.flac", second), ("sysB/wavs/001.flac", third)),
        ):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    found = fetch(tmp_path / "a.tar", tmp_path / "study")
    assert [[row[n] for n in ("stimulus", "condition", "item")] for row in found] == [
        *(["001", "vits", "001"], ["sysA/wavs/001", "sysA", "001"]),
        ["sysB/wavs/001", "sysB", "001"],
    ]
    assert (found[0]["text"], found[0]["language"]) == ("Hello", "de")
    check(tmp_path / "study", (first, second, third))


def test_parquet_with_an_audio_column_has_its_texts_and_systems(tmp_path):
    audio = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    table = pa.table(
        {
            "sentence": [f"Text of {name}" for name in CLIPS],
            "system": ["a", "a", "b", "b"],
            "audio": pa.array(
                [{"bytes": data, "path": f"{name}.flac"} for name, data in CLIPS.items()], audio
            ),
        }
    )
    (tmp_path / "data").mkdir()
    pq.write_table(table, tmp_path / "data" / "train-00000.parquet")
    found = fetch(tmp_path / "data", tmp_path / "study", "--language", "en")
    assert [row["text"] for row in found] == [f"Text of {name}" for name in CLIPS]
    assert [row["condition"] for row in found] == ["a", "a", "b", "b"]
    check(tmp_path / "study", CLIPS.values())


def shard():
    """A shard of WebDataset: a sound, its text and its facts stand together."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, data in CLIPS.items():
            facts = json.dumps({"speaker": 1}).encode()
            for ending, part in (
                ("flac", data),
                ("txt", f"Text of {name}".encode()),
                ("json", facts),
            ):
                member = tarfile.TarInfo(f"{name}.{ending}")
                member.size = len(part)
                archive.addfile(member, io.BytesIO(part))
    return content.getvalue()


def pack(path, members):
    """A compressed shard of members (name, size) of zeros."""
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, size in members:
            member = tarfile.TarInfo(name)
            member.size = size
            archive.addfile(member, io.BytesIO(bytes(size)))
    return path


@pytest.mark.medium
def test_a_shard_is_read_within_bounds_of_memory_size_and_time(tmp_path, monkeypatch):
    path = pack(tmp_path / "a.tar.gz", [(f"{n}.{end}", 24 * MB) for n in "12" for end in NOISE])
    tracemalloc.start()
    with pytest.raises(CommandError, match="no clips are there"):
        fetch(path, tmp_path / "a")
    assert tracemalloc.get_traced_memory()[1] < 20 * MB
    tracemalloc.stop()
    with pytest.raises(CommandError, match="time of this run is over"):
        fetch(path, tmp_path / "a", "--minutes", "0")
    monkeypatch.setattr(remote_clips, "CLIP_BYTES", MB)
    for name, size in (("1.wav", 2 * MB), ("1.txt", 2 * MB), (f"{'long' * MB}.wav", 1)):
        with pytest.raises(CommandError, match="is larger than 1 MB"):
            fetch(pack(tmp_path / "b.tar.gz", [(name, size)]), tmp_path / "b")
    (tmp_path / "b.tar.gz").write_bytes(path.read_bytes()[:5000])
    with pytest.raises(CommandError, match=r"b\.tar\.gz: cannot be read"):
        fetch(tmp_path / "b.tar.gz", tmp_path / "b")


def test_shards_and_folders_lie_in_any_storage_of_fsspec(tmp_path, monkeypatch):
    import fsspec

    monkeypatch.setitem(remote_files.STORAGE, "memory", "fsspec")
    memory = fsspec.filesystem("memory")
    memory.pipe("/bucket/shards/00000.tar", shard())
    for name, data in CLIPS.items():
        memory.pipe(f"/bucket/clips/{name}.flac", data)
    found = fetch("memory://bucket/shards/*.tar", tmp_path / "shards")
    assert [row["text"] for row in found] == [f"Text of {name}" for name in CLIPS]
    check(tmp_path / "shards", CLIPS.values())
    fetch("memory://bucket/clips", tmp_path / "clips")
    listed = check(tmp_path / "clips", CLIPS.values())
    assert listed[0]["source"] == f"memory://bucket/clips/{FIRST}.flac"
    for system in ("sysA", "sysB"):
        memory.pipe(f"/bucket/two/{system}/wavs/001.flac", CLIPS[FIRST])
    found = fetch("memory://bucket/two", tmp_path / "two")
    assert [(row["stimulus"], row["condition"]) for row in found] == [
        *(("sysA/wavs/001", "sysA"), ("sysB/wavs/001", "sysB")),
    ]
    with pytest.raises(CommandError, match="no audio files; check the address"):
        fetch("memory://bucket/nothing", tmp_path / "nothing")


def test_wav_scp_and_the_table_of_ljspeech_name_local_files(tmp_path):
    wavs = tmp_path / "corpus" / "wavs"
    wavs.mkdir(parents=True)
    for name, data in CLIPS.items():
        (wavs / f"{name}.flac").write_bytes(data)
    (tmp_path / "corpus" / "metadata.csv").write_text(
        "".join(f"{name}|Text of {name}|Text of {name}\n" for name in CLIPS)
    )
    found = fetch(tmp_path / "corpus" / "metadata.csv", tmp_path / "lj")
    assert [row["text"] for row in found] == [f"Text of {name}" for name in CLIPS]
    scp = tmp_path / "data"
    scp.mkdir()
    (scp / "wav.scp").write_text("".join(f"utt_{n} {wavs}/{n}.flac\n" for n in CLIPS))
    (scp / "text").write_text("".join(f"utt_{name} Text of {name}\n" for name in CLIPS))
    with pytest.raises(CommandError, match=r"line 1: .* outside the folder .*: --audio FOLDER"):
        fetch(scp / "wav.scp", tmp_path / "kaldi", "--condition", "tts")
    options = ("--condition", "tts", "--audio", str(tmp_path / "corpus"))
    again = fetch(scp / "wav.scp", tmp_path / "kaldi", *options)
    assert [row["text"] for row in again] == [row["text"] for row in found]
    assert [row["stimulus"] for row in again] == [f"utt_{name}" for name in CLIPS]
    assert {row["condition"] for row in again} == {"tts"}
    check(tmp_path / "kaldi", CLIPS.values())


def test_secrets_of_addresses_are_not_written_down():
    address = "https://me:word@host.org/a/b.wav?X-Amz-Signature=1#x"
    assert without_secrets(address) == "https://host.org/a/b.wav"
    for kept in ("s3://bucket/a?b.wav", "abfs://box@account.dfs/a.wav", "hf://me/it@main/a:b@c"):
        assert without_secrets(kept) == kept
    assert without_secrets("HTTPS://me@host.org/a?key=1") == "HTTPS://host.org/a"
    assert without_secrets("FTP://me:p@ss@host.org/a.wav") == "FTP://host.org/a.wav"
    chain = "zip://a.wav::http://me:word@host.org/a.zip?key=1"
    assert without_secrets(chain) == "zip://a.wav::http://host.org/a.zip"


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("file:///etc/hostname", "file:// addresses are not fetched. Use one of https, http, s3"),
        ("LOCAL:///etc/hostname", "local:// addresses are not fetched"),
        ("ftp://me:word@host.org/a.wav", "ftp:// addresses are not fetched"),
        ("zip://a.wav::http://127.0.0.1/a.zip", "chains of addresses are not fetched"),
        ("s3://bucket::file:///etc/hostname", "chains of addresses are not fetched"),
        ("az://box/a.wav", "needs the package adlfs, which is not installed here: "),
        ("abfss://box@account/a.wav", "needs the package adlfs, which is not installed here: "),
    ],
)
def test_other_schemes_chains_and_missing_packages_are_named(address, problem, tmp_path):
    (tmp_path / "list.txt").write_text(f"{address}\n")
    (tmp_path / "table.csv").write_text(f"file,text\n{address},Hello\n")
    (tmp_path / "wav.scp").write_text(f"utt {address}\n")
    for source in (address, *map(str, tmp_path.glob("*.*"))):
        with pytest.raises(CommandError, match=re.escape(problem)) as raised:
            fetch(source, tmp_path / "study")
        assert "word" not in str(raised.value)
        assert not list(tmp_path.glob("study/audio/*"))


def test_tables_name_local_files_in_their_own_folder_only(tmp_path):
    (tmp_path / "secret.flac").write_bytes(CLIPS[FIRST])
    inside = tmp_path / "table"
    inside.mkdir()
    (inside / "link.flac").symlink_to(tmp_path / "secret.flac")
    for file in ("../secret.flac", tmp_path / "secret.flac", "link.flac"):
        (inside / "table.csv").write_text(f"file\n{file}\n")
        with pytest.raises(CommandError, match=r"table\.csv, row 2: .* lies outside the folder"):
            fetch(inside / "table.csv", tmp_path / "study")


def test_web_addresses_in_capitals_are_guarded_as_others_are(server, settings, tmp_path):
    path = tmp_path / "urls.txt"
    path.write_text(f"HTTP{server.url.removeprefix('http')}/{FIRST}.flac\n")
    fetch(path, tmp_path / "a")
    settings.EARNEST_WEBHOOK_NETWORKS = ()
    with pytest.raises(CommandError, match=r"urls\.txt, line 1: .* is in a private network"):
        fetch(path, tmp_path / "b")
