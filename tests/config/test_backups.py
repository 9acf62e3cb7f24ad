"""A backup holds the whole house, is looked through before it is used, and comes back whole."""

import contextlib
import fcntl
import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from django.core.management import CommandError, call_command
from django.db import IntegrityError, OperationalError, connection
from moto import mock_aws

from config.backups import BackupError, archive, database, restore
from config.backups.archive import ABOUT, FORMAT, MANIFEST, Reader, Writer
from config.backups.database_move import move
from config.run import commands, supervisor
from config.run.interrupted_restore import NOTE, check_restored, forget_staged
from config.run.server_checks import UnreachableError, bucket_problem
from listening.audio import store
from listening.common import whole_files
from listening.models import Rater, Rating, Study
from tests.factories import answer_all, arrive, make_study

CLIP = "served/ab/" + "ab" * 16 + ".flac"
OTHER = "served/cd/" + "cd" * 16 + ".flac"
REMEDIES = {
    "cut off": "Copy the file again",
    "damaged": "Copy the file again",
    "no backup": "unpacked",
}


COLUMNS = ["id", "word"]
ABOUT_SOME = {
    "format": FORMAT,
    "earnest": "1.0",
    "taken_at": "2026-11-28T09:00:00+00:00",
    "key": False,
    "left_out": {},
    "database": {
        "server": "18.0",
        "migrations": [["listening", "0001_initial"]],
        "tables": [
            {"name": "some", "columns": COLUMNS, "rows": 2, "digest": "7"},
            {"name": "django_migrations", "columns": COLUMNS, "rows": 0, "digest": "0"},
        ],
        "sequences": {},
    },
}


def written(path: Path, **changes: Any) -> bytes:
    with path.open("wb") as file:
        writer = Writer(file)
        writer.add_bytes(ABOUT, json.dumps(ABOUT_SOME | changes).encode())
        writer.add_rows("some", iter([b"1\tone\n", b"2\ttwo\n"]))
        writer.add_bytes(f"media/{CLIP}", b"sound" * 3000)
        writer.close()
    return path.read_bytes()


def test_rows_and_files_come_out_of_the_archive_as_they_went_in(tmp_path: Path):
    written(tmp_path / "a.tar")
    with Reader(tmp_path / "a.tar") as reader:
        assert b"".join(reader.rows("some")) == b"1\tone\n2\ttwo\n"
        assert reader.names("media/") == [CLIP]
        assert reader.open(f"media/{CLIP}").read() == b"sound" * 3000


@pytest.mark.parametrize("kind", REMEDIES)
def test_a_file_that_is_not_what_was_written_is_refused(tmp_path: Path, kind: str):
    path = tmp_path / "a.tar"
    whole = written(path)
    at = whole.index(b"soundsound")
    changed = {
        "cut off": whole[: whole.index(b"manifest.json")],
        "damaged": whole[:at] + b"S" + whole[at + 1 :],
        "no backup": b"(\xb5/\xfd" + whole,
    }
    path.write_bytes(changed[kind])
    with pytest.raises(BackupError, match=f"(?s){kind}.*{REMEDIES[kind]}"):
        Reader(path)


def test_a_form_of_later_versions_is_refused(tmp_path: Path):
    written(tmp_path / "a.tar", format=FORMAT + 1, earnest="9.0")
    with pytest.raises(BackupError, match=r"Earnest 9\.0 .* newer one"):
        Reader(tmp_path / "a.tar")


Members = dict[str, bytes | tarfile.TarInfo]


def some_members(**of_database: Any) -> Members:
    about = ABOUT_SOME | {"database": {**ABOUT_SOME["database"], **of_database}}
    return {ABOUT: json.dumps(about).encode(), "database/some/000000.gz": gzip.compress(ROWS)}


ROWS = b"1\tone\n2\ttwo\n"
PART = "database/some/000000.gz"


def about_with(**changes: Any) -> Members:
    return {ABOUT: json.dumps(ABOUT_SOME | changes).encode()}


def table_with(**changes: Any) -> Members:
    one, other = ABOUT_SOME["database"]["tables"]
    return some_members(tables=[{**one, **changes}, other])


def special(name: str, kind: bytes, target: str = "") -> Members:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return {name: member}


def crafted(path: Path, changes: Members, *, manifest: Any = None, again: str = "") -> None:
    """An archive with a manifest that is right, whatever the members are."""
    members = {n: c for n, c in {**some_members(), **changes}.items() if c != b"gone"}
    sums: dict[str, Any] = {}
    with tarfile.TarFile.open(path, "w") as tar:
        for name, content in [*members.items(), *([(again, members[again])] if again else [])]:
            if isinstance(content, bytes):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
                sums[name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
            else:
                tar.addfile(content)
        listed = json.dumps({"members": sums} if manifest is None else manifest).encode()
        member = tarfile.TarInfo(MANIFEST)
        member.size = len(listed)
        tar.addfile(member, io.BytesIO(listed))


NESTED = ("[" * 200_000).encode()
CRAFTED: dict[str, tuple[Members, str]] = {
    "no list in front": ({ABOUT: b"gone"}, "about.json is missing"),
    "a list in front that is no JSON": ({ABOUT: b"\xff\xfe{"}, "no JSON"),
    "a list in front that never ends": ({ABOUT: NESTED}, "no JSON"),
    "a list in front with a key twice": ({ABOUT: b'{"format": 1, "format": 2}'}, "stands twice"),
    "a list in front that is no object": ({ABOUT: b"[]"}, "no JSON object"),
    "a format that is a word": (about_with(format="one"), "its format"),
    "no format": (about_with(format=None), "its format"),
    "no version": (about_with(earnest=None), "which version"),
    "a day that is a number": (about_with(taken_at=5), "when it was taken"),
    "no database": (about_with(database=None), "does not describe"),
    "a database of words": (about_with(database="none"), "does not describe"),
    "a key that is not there": (about_with(key=True), "about the key"),
    "no tables": (some_members(tables=[]), "no table of Earnest"),
    "tables that are words": (some_members(tables=["some"]), "does not describe"),
    "one table twice": (
        some_members(tables=ABOUT_SOME["database"]["tables"] * 2),
        "listed twice",
    ),
    "a table without columns": (table_with(columns=None), "does not describe"),
    "a table with something more": (table_with(more=1), "does not describe"),
    "a table that is a statement": (table_with(name='"a"; DROP TABLE b; --"'), "wrong name"),
    "a column that is a statement": (table_with(columns=['"a")', "word"]), "wrong name"),
    "rows that are a word": (table_with(rows="two"), "wrong number of rows"),
    "rows below none": (table_with(rows=-1), "wrong number of rows"),
    "rows that are not there": (table_with(rows=3), "has 2 rows, and about.json says 3"),
    "a sum that is a number": (table_with(digest=7), "wrong sum"),
    "migrations of one word": (some_members(migrations=[["listening"]]), "does not describe"),
    "migrations that are numbers": (some_members(migrations=[[1, 2]]), "wrong text"),
    "a sequence that is a word": (some_members(sequences={"a": "b"}), "wrong sequence"),
    "sequences that are a number": (some_members(sequences=5), "does not describe"),
    "rows of a table that is not listed": (
        {"database/other/000000.gz": gzip.compress(ROWS)},
        "does not list",
    ),
    "rows that are not packed": ({PART: ROWS}, "cannot be unpacked|would grow"),
    "rows that are cut": ({PART: gzip.compress(ROWS * 99)[:-12]}, "cannot be unpacked|would grow"),
    "rows behind the rows": ({PART: gzip.compress(ROWS) * 2}, "cannot be unpacked"),
    "rows that deny their size": (
        {PART: gzip.compress(b"1\tone\n" * 10**6)[:-4] + b"\x0e\0\0\0"},
        "cannot be unpacked",
    ),
    "a link": (special(f"media/{CLIP}", tarfile.SYMTYPE, "/etc/passwd"), "not a plain file"),
    "a link to nothing": (special("files/drafts/a", tarfile.LNKTYPE, "none"), "not a plain file"),
    "a folder": (special("files/drafts", tarfile.DIRTYPE), "not a plain file"),
    "a pipe": (special("files/drafts/a", tarfile.FIFOTYPE), "not a plain file"),
    "a place above": ({"files/drafts/../../x": b"x"}, "no place"),
    "a place from the root": ({"/etc/x": b"x"}, "no place"),
    "another place of files": ({"files/supervisor.lock": b"x"}, "no place"),
    "a file that is a folder of files": ({"files/drafts": b"x"}, "no place"),
    "a folder under a file": (
        {"files/drafts/a": b"x", "files/drafts/a/b": b"x"},
        "cannot both be there",
    ),
    "a file over a folder": (
        {"files/drafts/a/b": b"x", "files/drafts/a": b"x"},
        "cannot both be there",
    ),
    "a name that ends early": ({"files/drafts/a\0b": b"x"}, "no place|damaged"),
    "a clip with a name of its own": ({"media/../../etc/x": b"x"}, "no place"),
}


@pytest.mark.parametrize("kind", CRAFTED)
def test_a_crafted_archive_is_refused_in_a_sentence(tmp_path: Path, kind: str):
    changes, why = CRAFTED[kind]
    crafted(tmp_path / "a.tar", changes)
    with pytest.raises(BackupError, match=why) as refused:
        Reader(tmp_path / "a.tar")
    assert str(tmp_path / "a.tar") in str(refused.value)
    assert "Nothing was changed" in str(refused.value) or "Copy the file" in str(refused.value)


@pytest.mark.parametrize("manifest", [[], {}, {"members": []}, {"members": {ABOUT: 1}}, 5])
def test_a_list_of_members_that_is_none_is_refused(tmp_path: Path, manifest: Any):
    crafted(tmp_path / "a.tar", {}, manifest=manifest)
    with pytest.raises(BackupError, match=r"manifest\.json"):
        Reader(tmp_path / "a.tar")


def test_a_member_that_is_there_twice_is_refused(tmp_path: Path):
    crafted(tmp_path / "a.tar", {}, again=PART)
    with pytest.raises(BackupError, match="in it twice"):
        Reader(tmp_path / "a.tar")


class MemberTable(dict[str, Any]):
    """Members of an archive; counts how often all of them are looked through."""

    scans = 0

    def __iter__(self) -> Iterator[str]:
        self.scans += 1
        return super().__iter__()


def test_no_member_is_compared_with_every_other_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    clips: Members = {f"media/served/ab/{n:032x}.flac": b"x" for n in range(100)}
    crafted(tmp_path / "a.tar", clips)
    check = Reader._check_member

    def check_and_count(reader: Reader, member: tarfile.TarInfo) -> None:
        if not reader.members:
            reader.members = MemberTable()
        check(reader, member)

    monkeypatch.setattr(Reader, "_check_member", check_and_count)
    with Reader(tmp_path / "a.tar") as reader:
        assert len(reader.names("media/")) == 100
        assert isinstance(reader.members, MemberTable)
        assert reader.members.scans < 10


def test_a_crafted_archive_without_a_fault_is_read(tmp_path: Path):
    crafted(tmp_path / "a.tar", {})
    with Reader(tmp_path / "a.tar") as reader:
        assert b"".join(reader.rows("some")) == ROWS


def test_a_changed_or_cut_file_ends_in_no_traceback(tmp_path: Path):
    whole, path = written(tmp_path / "a.tar"), tmp_path / "b.tar"
    for at in (*range(0, 512, 7), *range(512, len(whole), 4099)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x80]) + whole[at + 1 :])
        with contextlib.suppress(BackupError):  # the padding of tar may be anything
            Reader(path).close()
        path.write_bytes(whole[:at])
        with pytest.raises(BackupError):
            Reader(path)


def test_a_small_archive_that_would_fill_a_disk_is_refused_by_what_it_says_of_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(archive, "UNPACKED_FOR_FREE_BYTES", 1000)
    monkeypatch.setattr(archive.zlib, "decompressobj", None)  # nothing is unpacked for it
    crafted(tmp_path / "a.tar", {PART: gzip.compress(b"\0" * 10**6)})
    with pytest.raises(BackupError, match=r"would grow from [\d,]{3,5} to 1,000,000 bytes"):
        Reader(tmp_path / "a.tar")


@pytest.mark.parametrize("place", ["a folder", "nothing"])
def test_what_is_no_file_is_named(tmp_path: Path, place: str):
    with pytest.raises(BackupError, match=r"There is no file|is not a file"):
        Reader(tmp_path / "no.tar" if place == "nothing" else tmp_path)


@pytest.mark.django_db
def test_tables_of_later_versions_are_refused_and_named():
    with pytest.raises(BackupError, match=r"listening\.9999_later\. Update Earnest"):
        database.check_known([("listening", "0001_initial"), ("listening", "9999_later")])


@pytest.mark.django_db
def test_a_database_that_others_use_is_not_replaced():
    other = connection.copy("other")
    other.connect()
    try:
        with pytest.raises(BackupError, match="connections use the database: stop Earnest"):
            database.check_alone()
    finally:
        other.close()


def test_clips_for_a_bucket_need_no_space_on_this_disk(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
):
    written(tmp_path / "a.tar")
    usage = SimpleNamespace(free=10_000)  # the clip has 15,000 bytes, the rows 18
    monkeypatch.setattr(restore.shutil, "disk_usage", lambda path: usage)
    with Reader(tmp_path / "a.tar") as reader:
        with pytest.raises(BackupError, match=r"has .* of free space, and the backup needs"):
            restore.check_space(reader)
        bucket = {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": {"bucket_name": "clips"}}
        settings.STORAGES = {**settings.STORAGES, "default": bucket}
        restore.check_space(reader)


@pytest.fixture
def house_folder(tmp_path: Path, settings: Any) -> Path:
    """A folder of its own for a house, with its clips in it."""
    var = tmp_path / "var"
    var.mkdir()
    settings.EARNEST_VAR = var
    options = {"location": str(var / "media")}
    storage = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": options}
    settings.STORAGES = {**settings.STORAGES, "default": storage}
    return var


@pytest.fixture
def house(house_folder: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A house with ratings, a clip, a draft and a key."""
    var = house_folder
    (var / "drafts" / "code").mkdir(parents=True)
    (var / "drafts" / "code" / "study.toml").write_text("begun")
    (var / "secret_key").write_text(settings.SECRET_KEY)
    monkeypatch.setattr(restore.cache, "clear", lambda: None)  # other test processes share it
    monkeypatch.setattr(database, "check_alone", lambda: None)  # the tests' web process is there
    store.put_back(CLIP, io.BytesIO(b"sound"))
    answer_all(arrive(make_study(key="kept"), prolific_id="5f0000000000000000000001"))
    return var


def everything() -> tuple[list[Any], list[Any], list[str]]:
    ratings = Rating.objects.order_by("pk").values_list()
    ids = [rater.prolific_id for rater in Rater.objects.order_by("pk")]
    return list(ratings), ids, sorted(store.stored_names())


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_house_comes_back_as_it_was(
    house: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file, before = tmp_path / "house.tar", everything()
    call_command("backup", str(file))
    assert "not in the backup: 60 files, first originals/" in capsys.readouterr().err
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(CommandError, match="there already"):
        call_command("backup", str(file))

    answer_all(arrive(make_study(key="added-later")))
    store.put_back(OTHER, io.BytesIO(b"another"))
    (house / "drafts" / "code" / "study.toml").write_text("changed")
    (house / "secret_key").write_text("k" * 60)
    later = everything()
    with pytest.raises(CommandError, match=r"2 studies.*--replace"):
        call_command("restore", str(file))
    with (house / "supervisor.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(CommandError, match="stop it first"):
            call_command("restore", str(file), replace=True)
    call_command("restore", str(file), check=True)
    assert everything() == later

    call_command("restore", str(file), replace=True)
    assert everything() == before
    assert (house / "drafts" / "code" / "study.toml").read_text() == "begun"
    assert len((house / "secret_key").read_text()) != 60
    assert "Deleted 1 clip of the previous installation." in capsys.readouterr().out
    Study.objects.create(key="next", title="", owner=Study.objects.get().owner)  # a free number
    with pytest.raises(IntegrityError, match="never changed"):  # the guards are on again
        Rating.objects.update(label="changed")


def into(settings: Any, bucket: str, prefix: str) -> Any:
    """Keeps clips in a new bucket of Amazon's double; gives the bucket."""
    options = {"bucket_name": bucket, "location": prefix, "file_overwrite": False}
    options |= {"default_acl": None, "region_name": "us-east-1"}
    storage = {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}
    settings.STORAGES = {**settings.STORAGES, "default": storage}
    made = boto3.resource("s3", region_name="us-east-1").Bucket(bucket)
    made.create()
    return made


def kept_in(bucket: Any) -> dict[str, bytes]:
    return {each.key: each.get()["Body"].read() for each in bucket.objects.all()}


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_clips_of_a_bucket_come_back_into_it_and_into_another_ones_prefix(
    house: Path, tmp_path: Path, settings: Any
):
    with mock_aws():
        one = into(settings, "clips", "earnest")
        sound = b"RIFF" * 2**21  # 8 MiB: sent in several parts
        store.put_back(CLIP, io.BytesIO(sound))
        before = everything()
        assert before[2] == [CLIP]
        call_command("backup", str(tmp_path / "house.tar"))

        store.forget([CLIP])
        store.put_back(OTHER, io.BytesIO(b"another"))
        call_command("restore", str(tmp_path / "house.tar"), replace=True)
        assert everything() == before
        assert kept_in(one) == {f"earnest/{CLIP}": sound}

        other = into(settings, "elsewhere", "deep/er")
        call_command("restore", str(tmp_path / "house.tar"), replace=True)
        assert everything() == before
        assert kept_in(other) == {f"deep/er/{CLIP}": sound}
        assert kept_in(one) == {f"earnest/{CLIP}": sound}  # what is not the house's stays


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_bucket_that_is_not_there_is_named_and_nothing_is_changed(
    house: Path, tmp_path: Path, settings: Any
):
    call_command("backup", str(tmp_path / "house.tar"))
    before = everything()
    kept = settings.STORAGES
    with mock_aws():
        into(settings, "clips", "").delete()
        with pytest.raises(ClientError) as refused:
            call_command("restore", str(tmp_path / "house.tar"), replace=True)
        assert "The bucket “clips” (MEDIA_STORE) cannot be used" in bucket_problem(refused.value)
    settings.STORAGES = kept
    assert everything() == before


@pytest.mark.django_db(transaction=True)
@pytest.mark.medium
def test_what_was_loaded_otherwise_than_it_was_written_changes_nothing(
    house: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    call_command("backup", str(tmp_path / "house.tar"))
    before = everything()
    rows = Reader.rows
    half = lambda self, table: () if table == "listening_rating" else rows(self, table)  # noqa: E731
    monkeypatch.setattr(Reader, "rows", half)
    with pytest.raises(CommandError, match=r"listening_rating .*Nothing was changed"):
        call_command("restore", str(tmp_path / "house.tar"), replace=True)
    assert everything() == before


def no_space(*_: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.django_db(transaction=True)
@pytest.mark.medium
@pytest.mark.parametrize("step", ["staging", "loading", "putting in place"])
def test_a_restore_that_fails_leaves_no_key_behind(
    house: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
):
    call_command("backup", str(tmp_path / "house.tar"))
    key = (house / "secret_key").read_bytes()
    (house / "secret_key").write_text("n" * 60)
    broken = {
        "staging": (restore.shutil, "copyfileobj"),
        "loading": (database, "_fill"),
        "putting in place": (whole_files.os, "fsync"),
    }
    monkeypatch.setattr(*broken[step], no_space)
    with pytest.raises(CommandError, match=r"No space left"):
        call_command("restore", str(tmp_path / "house.tar"), replace=True)
    holders = [p for p in house.rglob("*") if p.is_file() and key in p.read_bytes()]
    assert holders == []
    assert not (house / "restoring").exists()


class Killed(BaseException):
    """Ends a restore where it is; nothing that handles errors takes it for one."""


def killed(*_: object, **__: object) -> None:
    raise Killed


@pytest.mark.django_db(transaction=True)
@pytest.mark.medium
@pytest.mark.parametrize("step", ["put_in_place", "forget_others"])
def test_a_restore_that_is_killed_behind_the_database_is_finished_by_the_same_command(
    house: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
):
    file, before = tmp_path / "house.tar", everything()
    call_command("backup", str(file))
    answer_all(arrive(make_study(key="added-later")))
    (house / "drafts" / "code" / "study.toml").write_text("changed")
    with monkeypatch.context() as until_killed:
        until_killed.setattr(restore, step, killed)
        with pytest.raises(Killed):
            call_command("restore", str(file), replace=True)
    with pytest.raises(UnreachableError, match=rf"A restore of {file} was cut off .* Finish it: "):
        check_restored(house)
    call_command("restore", str(file))  # without --replace: nobody has started what is there
    check_restored(house)
    assert everything() == before
    assert (house / "drafts" / "code" / "study.toml").read_text() == "begun"
    assert forget_staged(house) == ""


@pytest.mark.django_db(transaction=True)
def test_a_restore_that_ends_before_the_database_changes_leaves_no_note(
    house: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    call_command("backup", str(tmp_path / "house.tar"))
    monkeypatch.setattr(database, "_bring_up_to_date", killed)
    with pytest.raises(Killed):
        call_command("restore", str(tmp_path / "house.tar"), replace=True)
    check_restored(house)


@pytest.mark.django_db(transaction=True)
@pytest.mark.medium
def test_clips_stay_where_nobody_knows_whether_the_database_was_saved(
    house: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    call_command("backup", str(tmp_path / "house.tar"))
    store.forget([CLIP])
    wrapper: Any = connection
    commit = wrapper._commit

    def lost() -> None:
        commit()
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(connection, "_commit", lost)
    with pytest.raises(CommandError, match=r"may hold the backup or .* Run the same command again"):
        call_command("restore", str(tmp_path / "house.tar"), replace=True)
    assert list(store.stored_names()) == [CLIP]
    assert (house / NOTE).exists()


def test_what_a_killed_restore_had_copied_is_deleted_at_the_next_start(house_folder: Path):
    store.put_back(CLIP, io.BytesIO(b"sound"))
    store.put_back(OTHER, io.BytesIO(b"new"))
    (house_folder / "restoring" / "drafts").mkdir(parents=True)
    (house_folder / "restoring" / "clips.txt").write_text(f"{OTHER}\n")
    assert "cut off before it changed anything" in forget_staged(house_folder)
    assert list(store.stored_names()) == [CLIP]
    assert not (house_folder / "restoring").exists()


@pytest.mark.parametrize("start", [supervisor.main, commands.main])
def test_nothing_starts_on_a_restore_that_was_cut_off(
    start: Any,
    house_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    (house_folder / NOTE).write_text("/srv/earnest.tar\n2026-11-28 21:30 UTC\n")
    monkeypatch.setattr("sys.argv", ["manage.py", "list_studies"])
    try:
        said = capsys.readouterr().err if start() else ""
    except SystemExit as ended:
        said = str(ended.code)
    assert said.startswith("Earnest cannot start. A restore of /srv/earnest.tar was cut off (2026")
    assert len(said.strip().splitlines()) == 1


@pytest.mark.django_db(transaction=True)
def test_a_full_disk_leaves_no_file(house: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Writer, "add_rows", no_space)
    with pytest.raises(CommandError, match=r"is full\. Nothing was kept"):
        call_command("backup", str(tmp_path / "house.tar"))
    assert [path.name for path in tmp_path.iterdir()] == ["var"]


@pytest.mark.django_db(transaction=True)
def test_a_database_is_not_moved_onto_itself(house: Path, settings: Any):
    here = connection.settings_dict
    url = f"postgresql://{here['USER']}@/{here['NAME']}?host={here['HOST']}"
    with pytest.raises(BackupError, match="uses already"):
        move(url, lambda words: None)
    with pytest.raises(BackupError, match="cannot be used"):
        move("postgresql://nobody@127.0.0.1:1/none", lambda words: None)
    assert Rating.objects.exists()
