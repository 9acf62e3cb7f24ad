"""A backup holds the whole house, is looked through before it is used, and comes back whole."""

import fcntl
import io
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection
from moto import mock_aws

from config.backups import BackupError, files, loading, restoring
from config.backups.archive import ABOUT, FORMAT, Reader, Writer
from config.backups.moving import move
from config.backups.tables import Contents
from config.reachable import bucket_problem
from listening.audio import store
from listening.models import Rater, Rating, Study
from tests.factories import answer_all, arrive, make_study

CLIP = "served/ab/" + "ab" * 16 + ".flac"
OTHER = "served/cd/" + "cd" * 16 + ".flac"
REMEDIES = {
    "cut off": "Copy the file again",
    "damaged": "Copy the file again",
    "no backup": "unpacked",
}


def written(path: Path, about: dict[str, Any]) -> bytes:
    with path.open("wb") as file:
        writer = Writer(file)
        writer.add_bytes(ABOUT, json.dumps(about).encode())
        writer.add_rows("some", iter([b"1\tone\n", b"2\ttwo\n"]))
        writer.add_bytes(f"media/{CLIP}", b"sound" * 3000)
        writer.close()
    return path.read_bytes()


def test_rows_and_files_come_out_of_the_archive_as_they_went_in(tmp_path: Path):
    written(tmp_path / "a.tar", {"format": FORMAT})
    with Reader(tmp_path / "a.tar") as reader:
        assert b"".join(reader.rows("some")) == b"1\tone\n2\ttwo\n"
        assert reader.names("media/") == [CLIP]
        assert reader.open(f"media/{CLIP}").read() == b"sound" * 3000


@pytest.mark.parametrize("kind", REMEDIES)
def test_a_file_that_is_not_what_was_written_is_refused(tmp_path: Path, kind: str):
    path = tmp_path / "a.tar"
    whole = written(path, {"format": FORMAT})
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
    written(tmp_path / "a.tar", {"format": FORMAT + 1, "earnest": "9.0"})
    with pytest.raises(BackupError, match=r"Earnest 9\.0 .* newer one"):
        Reader(tmp_path / "a.tar")


@pytest.mark.django_db
def test_tables_of_later_versions_are_refused_and_named():
    found = Contents("18", (("listening", "0001_initial"), ("listening", "9999_later")), (), {})
    with pytest.raises(BackupError, match=r"listening\.9999_later .* Update Earnest"):
        loading.check_known(found)


@pytest.mark.django_db
def test_a_database_that_others_use_is_not_replaced():
    other = connection.copy("other")
    other.connect()
    try:
        with pytest.raises(BackupError, match="connections use the database: stop Earnest"):
            loading.check_alone()
    finally:
        other.close()


def test_clips_for_a_bucket_need_no_space_on_this_disk(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
):
    written(tmp_path / "a.tar", {"format": FORMAT})
    usage = SimpleNamespace(free=10_000)  # the clip has 15,000 bytes, the rows 18
    monkeypatch.setattr(files.shutil, "disk_usage", lambda path: usage)
    with Reader(tmp_path / "a.tar") as reader:
        with pytest.raises(BackupError, match=r"has .* of free space, and the backup needs"):
            files.check_space(reader)
        bucket = {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": {"bucket_name": "clips"}}
        settings.STORAGES = {**settings.STORAGES, "default": bucket}
        files.check_space(reader)


@pytest.fixture
def house(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A house with ratings, a clip, a draft and a key, in a folder of its own."""
    var = tmp_path / "var"
    (var / "drafts" / "code").mkdir(parents=True)
    (var / "drafts" / "code" / "study.toml").write_text("begun")
    (var / "secret_key").write_text(settings.SECRET_KEY)
    settings.EARNEST_VAR = var
    options = {"location": str(var / "media")}
    storage = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": options}
    settings.STORAGES = {**settings.STORAGES, "default": storage}
    monkeypatch.setattr(restoring.cache, "clear", lambda: None)  # other test processes share it
    monkeypatch.setattr(loading, "check_alone", lambda: None)  # the tests' web process is there
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
    assert "1 clips of the house that was here were deleted" in capsys.readouterr().out
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


@pytest.mark.django_db(transaction=True)
def test_a_full_disk_leaves_no_file(house: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Writer, "add_rows", full)
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
