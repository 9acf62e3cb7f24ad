"""Files in S3 buckets for fsspec, read by boto3: s3fs needs an older botocore than boto3 does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from boto3 import Session
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from fsspec import AbstractFileSystem

MISSING = ("404", "NoSuchKey", "NoSuchBucket")


@contextmanager
def _described_errors(path: str) -> Iterator[None]:
    """Raise errors of boto3 as OSError with the address and what to check."""
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        code = error.response["Error"]["Code"] if isinstance(error, ClientError) else ""
        reason = "there is no such file or bucket" if code in MISSING else str(error).rstrip(".")
        raise (FileNotFoundError if code in MISSING else OSError)(
            f"s3://{path}: {reason}. Check the address, the keys (AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE) and the service (AWS_ENDPOINT_URL)"
        ) from None


class BucketFiles(AbstractFileSystem):  # type: ignore[misc]
    """Buckets of the service, region and keys that boto3 finds; anonymous where it has no keys."""

    protocol = "s3"

    @cached_property
    def client(self) -> Any:
        """The client of boto3, of which each process and thread has its own."""
        session = Session()
        config = None if session.get_credentials() else Config(signature_version=UNSIGNED)
        return session.client("s3", config=config)

    def find(self, path: str, *_: Any, detail: bool = False, **__: Any) -> Any:
        """Return the files below a folder, at any depth."""
        found = {each["name"]: each for each in self._below(path.strip("/"))}
        return found if detail else list(found)

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        """Return name, size and type of a file or folder."""
        bucket, _, key = (path := self._strip_protocol(path)).partition("/")
        folder: dict[str, Any] = {"name": path, "size": 0, "type": "directory"}
        try:
            with _described_errors(path):
                size = key and self.client.head_object(Bucket=bucket, Key=key)["ContentLength"]
        except FileNotFoundError:
            if any(self._below(path)):
                return folder
            raise
        return folder | {"size": size, "type": "file"} if key else folder

    def cat_file(self, path: str, start: int = 0, end: int | None = None, **options: Any) -> Any:
        """Return the bytes of a file, or those from ``start`` up to ``end``."""
        bucket, _, key = path.partition("/")
        part = f"bytes={start}-{end - 1 if end else ''}"
        with _described_errors(path):
            return self.client.get_object(Bucket=bucket, Key=key, Range=part)["Body"].read()

    def _below(self, path: str) -> Iterator[dict[str, Any]]:
        bucket, _, key = path.partition("/")
        with _described_errors(path):
            pages = self.client.get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=bucket, Prefix=f"{key}/" if key else ""):
                for each in page.get("Contents", ()):
                    name = f"{bucket}/{each['Key']}"
                    if not name.endswith("/"):  # what consoles make for a folder
                        yield {"name": name, "size": each["Size"], "type": "file"}
