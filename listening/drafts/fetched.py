"""Audio files of a draft that are fetched from web addresses, some at a time."""

from __future__ import annotations

from pathlib import PurePosixPath

from listening.audio.fetching import (
    SOURCES,
    Download,
    LimitReached,
    Limits,
    NotFetched,
    RemoteClip,
    address_sha256,
    fetch_into,
    fetched_files,
    paths_below,
)
from listening.common.input_limits import WEB_ARCHIVE_BYTES, WEB_FILES
from listening.common.remote_files import is_web
from listening.drafts.folder import Rows, folder_of, place_of
from listening.models import Draft

FETCHED_AT_ONCE_S = 2.0  # before the page is told how far it is
FILE_S = 20.0  # of one file: a request waits for it


def fetch_some(
    draft: Draft, lines: str, download: Download, seconds: float = FETCHED_AT_ONCE_S
) -> tuple[int, int]:
    """Fetch some of the addresses, one a line; how many are left, and how many there are.

    Raises NotFetched for what is no address, and for a file that does not come.
    """
    addresses = list(dict.fromkeys(line.strip() for line in lines.splitlines() if line.strip()))
    if not addresses:
        raise NotFetched("Enter the addresses of your files, one per line.")
    if len(addresses) > WEB_FILES:
        raise NotFetched(f"A draft holds at most {WEB_FILES:,} files.")
    for address in addresses:
        if not is_web(address):
            raise NotFetched(f"“{address[:80]}” is not a web address.")
    paths = paths_below(addresses)
    clips = [
        RemoteClip(PurePosixPath(path).with_suffix("").as_posix(), address)
        for address, path in paths.items()
    ]
    folder, record = folder_of(draft), place_of(draft) / SOURCES
    limits = Limits(WEB_FILES, WEB_ARCHIVE_BYTES, seconds, FILE_S)
    try:
        fetch_into(folder, clips, download, limits=limits, record=record)
    except LimitReached:
        known = {row["address_sha256"] for row in fetched_files(folder, record)}
        return sum(address_sha256(each) not in known for each in addresses), len(addresses)
    return 0, len(addresses)


def note_sources(draft: Draft, rows: Rows) -> None:
    """Write into the rows where each fetched file is from."""
    known = fetched_files(folder_of(draft), place_of(draft) / SOURCES)
    sources = {each["file"]: each["source"] for each in known}
    for row in rows:
        if row["file"] in sources:
            row["source"] = sources[row["file"]]
