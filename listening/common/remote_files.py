"""Files at addresses of the web and of storage services."""

from __future__ import annotations

import re
import time
from math import inf
from pathlib import Path
from typing import IO, Any

from config.missing_packages import installing
from listening.common.input_limits import CLIP_BYTES

ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
WEB = ("http://", "https://")
STORAGE = {  # schemes of fsspec that are read, and the package of each
    **{"s3": "boto3", "gs": "gcsfs", "gcs": "gcsfs", "hf": "huggingface_hub"},
    **{"az": "adlfs", "abfs": "adlfs", "abfss": "adlfs"},
}
USER = re.compile(r"(?<=://)[^/?#]*:[^/?#]*@")  # with a password
WEB_USER = re.compile(r"(https?://)[^/?#]*@", re.IGNORECASE)
WEB_QUERY = re.compile(r"(https?://[^?#]*)[?#].*", re.IGNORECASE | re.DOTALL)
PIECE_BYTES = 1024**2


def is_web(address: str) -> bool:
    """Whether an address is one of the web, not of a storage service."""
    return address.lower().startswith(WEB)


def check_address(address: str) -> None:
    """Raise ValueError for an address of a scheme that is not fetched, and for a chain of them."""
    if is_web(address):
        return
    scheme = address.partition("://")[0].lower()
    if scheme not in STORAGE or "::" in address:
        what = "chains of addresses" if "::" in address else f"{scheme}:// addresses"
        allowed = ", ".join(("https", "http", *STORAGE))
        raise ValueError(f"{what} are not fetched. Use one of {allowed}, or copy the files here")


def without_secrets(address: str) -> str:
    """Return an address without user and password, and without the query of a web address."""
    return WEB_QUERY.sub(r"\1", WEB_USER.sub(r"\1", USER.sub("", address)))


def problem_at(address: str, error: object) -> str:
    """Return what is wrong at an address, after the address itself; without its secrets."""
    shown = without_secrets(address)
    return f"{shown}: {str(error).replace(address, shown).removeprefix(f'{shown}: ')}"


def copy_bounded(source: IO[bytes], target: IO[bytes], seconds: float = inf) -> None:
    """Copy a clip piece by piece; ValueError where it is too large or takes too long."""
    until, size = time.monotonic() + seconds, 0
    while piece := source.read(PIECE_BYTES):
        size += len(piece)
        if size > CLIP_BYTES:
            raise ValueError(f"is larger than {CLIP_BYTES // 1024**2} MB; shorten it")
        if time.monotonic() > until:
            raise ValueError("takes longer than the time of this run")
        target.write(piece)


def opened(place: str) -> Any:
    """Return a file or an address of fsspec, opened for reading bytes."""
    if not ADDRESS.match(place):
        return Path(place).open("rb")
    system, path = storage_of(place)
    return system.open(path, "rb")


def storage_of(address: str) -> tuple[Any, str]:
    """Return the file system of fsspec and the path of an address; ValueError if it is not read."""
    check_address(address)
    import fsspec

    scheme = address.partition("://")[0].lower()
    if scheme == "s3":
        from listening.common.bucket_files import BucketFiles

        return BucketFiles(), address[len("s3://") :].strip("/")
    try:
        fsspec.get_filesystem_class(scheme)
    except (ImportError, ValueError):
        package = STORAGE[scheme]
        raise ValueError(
            f"needs the package {package}, which is not installed here: {installing(package)}"
        ) from None
    system, path = fsspec.core.url_to_fs(scheme + address[len(scheme) :])
    return system, path
