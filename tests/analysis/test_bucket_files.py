"""Addresses of S3 are read by boto3 from a service over HTTP; what goes wrong has a remedy."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from listening.common.bucket_files import BucketFiles
from listening.common.remote_files import opened, storage_of
from tests.s3_service import KEYS, s3_service
from tools.locks import ROOT

CLIP = next(ROOT.glob("demo/audio/flite-*.flac")).read_bytes()
NAMES = ("sys a/ü+1 #2?.flac", "sys a/2.flac", "sys b/2.flac")
REMEDY = r"AWS_ACCESS_KEY_ID .* AWS_PROFILE.*AWS_ENDPOINT_URL"


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of a service with the bucket `clips`, which the environment names."""
    BucketFiles.clear_instance_cache()
    with s3_service() as url:
        for name, value in {**KEYS, "AWS_ENDPOINT_URL": url}.items():
            monkeypatch.setenv(name, value)
        client = boto3.client("s3")
        client.create_bucket(Bucket="clips")
        for name in NAMES:
            client.put_object(Bucket="clips", Key=f"all/{name}", Body=CLIP)
        client.put_object(Bucket="clips", Key="all/sys c/", Body=b"")  # a folder of a console
        client.put_object(Bucket="clips", Key="all-others/3.flac", Body=CLIP)
        yield client
    BucketFiles.clear_instance_cache()


pytestmark = pytest.mark.medium


@pytest.mark.slow
def test_folders_patterns_and_parts_of_files_are_read(bucket: Any, tmp_path: Path):
    system, path = storage_of("S3://clips/all/")
    every = sorted(f"clips/all/{name}" for name in NAMES)
    assert sorted(system.find(path)) == every
    assert sorted(system.glob("clips/all/*/2.flac")) == [name for name in every if "/2." in name]
    assert len(system.find("clips")) == len(NAMES) + 1
    assert [system.info(each)["type"] for each in (path, "clips", every[0])] == [
        *("directory", "directory", "file"),
    ]
    for name in NAMES:
        assert opened(f"s3://clips/all/{name}").read() == CLIP
    table = pa.table({"id": np.arange(200_000), "noise": np.random.default_rng(0).random(200_000)})
    written = io.BytesIO()
    pq.write_table(table, written, row_group_size=10_000)
    bucket.put_object(Bucket="clips", Key="t.parquet", Body=written.getvalue())
    with opened("s3://clips/t.parquet") as file:
        assert pq.ParquetFile(file).read_row_group(19, ["id"])["id"][-1].as_py() == 199_999
    call_command("fetch_audio", "s3://clips/all", str(tmp_path / "study"))
    sources = (tmp_path / "study" / "sources.csv").read_text()
    assert [f"s3://clips/all/{name}" in sources for name in NAMES] == [True] * 3


def test_more_files_than_one_answer_lists_are_all_found(
    bucket: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", "1")
    answer = bucket.list_objects_v2(Bucket="clips", Prefix="all/")
    assert (answer["IsTruncated"], len(answer["Contents"])) == (True, 1)
    system, path = storage_of("s3://clips/all")
    assert len(system.find(path)) == len(NAMES)


def test_without_keys_what_is_public_is_read_and_the_rest_is_refused_with_a_remedy(
    bucket: Any, monkeypatch: pytest.MonkeyPatch
):
    bucket.put_object(Bucket="clips", Key="public.flac", Body=CLIP, ACL="public-read")
    for name in KEYS:
        if name.endswith(("_ID", "_KEY")):
            monkeypatch.delenv(name)
    BucketFiles.clear_instance_cache()
    assert opened("s3://clips/public.flac").read() == CLIP
    with pytest.raises(OSError, match=rf"2\.flac: .*\(403\) .*Forbidden\. .*{REMEDY}"):
        opened("s3://clips/all/sys a/2.flac").read()


def test_what_is_not_there_is_named_once_with_its_remedy(
    bucket: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    with pytest.raises(CommandError, match=f"^s3://none: there is no such file .*{REMEDY}"):
        call_command("fetch_audio", "s3://none", str(tmp_path / "a"))
    (tmp_path / "list.txt").write_text("s3://clips/no.flac\n")
    with pytest.raises(CommandError, match=f"line 1: s3://clips/no.flac: there is no .*{REMEDY}"):
        call_command("fetch_audio", str(tmp_path / "list.txt"), str(tmp_path / "a"))
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    BucketFiles.clear_instance_cache()
    with pytest.raises(CommandError, match=rf"profile \(nobody\) could not be found\. .*{REMEDY}"):
        call_command("fetch_audio", "s3://clips", str(tmp_path / "a"))
    monkeypatch.delenv("AWS_PROFILE")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    BucketFiles.clear_instance_cache()
    with pytest.raises(CommandError, match=f"^s3://clips: Could not connect .*{REMEDY}"):
        call_command("fetch_audio", "s3://clips", str(tmp_path / "a"))
