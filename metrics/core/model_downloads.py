"""Downloads of published models: resumed where they stopped, checked, one process at a time.

A model appears in its place as a whole: files lie in a place beside it, NAME.part, until each has
the hash that its publisher states, or that is declared with it. What is there is recorded as
`sha256sum` writes it, so that a folder of models serves as a mirror.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import http.client
import json
import logging
import os
import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from listening.common.remote_files import without_secrets
from metrics.core.model_hosts import (
    TRIES,
    BrokenOffError,
    DownloadError,
    RangeError,
    hub_address,
    opened,
    pause,
)
from metrics.core.published_models import PublishedModel, read_sums, recorded_sums

log = logging.getLogger(__name__)

PIECE_BYTES = 1024**2
NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}

Report = Callable[[int], object]  # bytes that came since the last call


class _WrongFileError(DownloadError):
    """What came is not the file that was published."""


@dataclass(frozen=True)
class RemoteFile:
    """One file of a model where it is published."""

    path: str  # below the model's folder; of a model of one file, its last name
    url: str
    size: int = 0  # bytes; 0: unknown
    sha256: str = ""  # hex; empty: not stated
    git_sha1: str = ""  # hex, of git's blob, which hubs state of small files

    def sha256_when_right(self, path: Path) -> str:
        """Return the file's SHA-256 (hex); raise _WrongFileError when it is another file."""
        size = path.stat().st_size
        if self.size and size != self.size:
            raise _WrongFileError(f"{self._name} has {size:,} bytes, not {self.size:,}")
        blob = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        sha256 = hashlib.sha256()
        with path.open("rb") as file:
            while piece := file.read(PIECE_BYTES):
                sha256.update(piece)
                blob.update(piece)
        kinds = (("SHA-256", sha256, self.sha256), ("git hash", blob, self.git_sha1))
        for kind, found, expected in kinds:
            if expected and found.hexdigest() != expected:
                raise _WrongFileError(
                    f"{self._name} has the {kind} {found.hexdigest()}, not {expected}; the file is "
                    "not used"
                )
        return sha256.hexdigest()

    @property
    def _name(self) -> str:
        return without_secrets(self.url)


@dataclass(frozen=True)
class Download:
    """A model with the files that its publisher, or a mirror, has."""

    model: PublishedModel
    target: Path
    files: Sequence[RemoteFile]

    @property
    def left_bytes(self) -> int:
        """How many bytes are still to come, of files whose size is known."""
        staging = _staging(self.target)
        return sum(max(0, each.size - _staged_bytes(self, staging, each)) for each in self.files)

    def run(
        self, report: Report = lambda count: None, say: Callable[[str], object] = log.info
    ) -> Path:
        """Fetch what is missing and put the model into its place, which is returned.

        ``say`` gets a line when another process is fetching the same model.
        """
        try:
            self.target.parent.mkdir(parents=True, exist_ok=True)
            with _lock(self.target, say) as staging:
                if self.model.lacking(self.target):
                    self._fetch(staging, report)
        except OSError as error:
            raise DownloadError(_unwritable(error, self.target)) from error
        return self.target

    def _fetch(self, staging: Path, report: Report) -> None:
        if self.model.files:
            staging.mkdir(exist_ok=True)
        sums = {}
        for file in self.files:
            place = staging / file.path if self.model.files else staging
            place.parent.mkdir(parents=True, exist_ok=True)
            sums[file.path] = _fetch_file(file, place, report, self.model.files != ())
        lines = "".join(f"{sha256}  {name}\n" for name, sha256 in sums.items())
        if not self.model.files:
            recorded_sums(self.target).write_text(lines, encoding="utf-8")
            os.replace(staging, self.target)
            return
        recorded_sums(staging).write_text(lines, encoding="utf-8")
        if not self.target.exists():
            os.replace(staging, self.target)
            return
        for name in (*sums, recorded_sums(staging).name):  # into a folder that lacked some
            (self.target / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(staging / name, self.target / name)
        shutil.rmtree(staging)


def fetch(model: PublishedModel, folder: Path) -> Path:
    """Fetch a model into a folder of models; raises DownloadError."""
    download = plan(model, folder)
    check_space([download], folder)
    size = f"{megabytes(download.left_bytes)}, " if download.left_bytes else ""
    log.warning("Downloading %s (%s%s) to %s", model.name, size, model.terms, folder)
    return download.run(say=log.warning)


def plan(model: PublishedModel, folder: Path, mirror: str = "") -> Download:
    """Ask the publisher, or a mirror, which files a model has; raises DownloadError.

    ``mirror``: a URL below which a folder of models lies, or one with ``{path}`` for the path of a
    file in such a folder.
    """
    if mirror:
        files = _mirrored(model, mirror)
    elif model.hub_name:
        files = _on_hub(model)
    elif model.is_fetched:
        last = Path(model.name).name
        files = [RemoteFile(last, model.source, sha256=model.sha256.get(last, ""))]
        files[0] = _with_size(files[0])
    else:
        raise DownloadError(f"{model.name} is put there by hand, from {model.origin or 'its page'}")
    return Download(model, folder / model.name, files)


def check_space(downloads: Sequence[Download], folder: Path) -> None:
    """Raise DownloadError when the disk of a folder has not enough room for all downloads."""
    left, free = sum(each.left_bytes for each in downloads), free_bytes(folder)
    if left > free:
        raise DownloadError(
            f"{folder} has {megabytes(free)} free, and {megabytes(left)} are to be fetched. Make "
            "space, or name a folder on another disk"
        )


def free_bytes(folder: Path) -> int:
    """Free bytes of the disk that a folder is, or will be, on."""
    place = folder.absolute()
    return shutil.disk_usage(next(p for p in (place, *place.parents) if p.exists())).free


def megabytes(count: int) -> str:
    """A number of bytes as text: "3.1 GB", "28 MB"."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{max(1, round(count / 1e6))} MB"


# --- What is published ---------------------------------------------------------------------------


def _on_hub(model: PublishedModel) -> list[RemoteFile]:
    """The files of a model in the newest revision of its repository."""
    hub = hub_address()
    address = f"{hub}/api/models/{model.hub_name}/revision/main?blobs=true"
    try:
        facts = json.loads(_text(address))
        revision, known = facts["sha"], {each["rfilename"]: each for each in facts["siblings"]}
    except (ValueError, KeyError, TypeError) as error:
        raise DownloadError(f"{address} answered with no list of files") from error
    names = [model.inside] if model.inside in known else model.wanted(known)
    if missing := _unpublished(model, names):
        raise DownloadError(f"{hub}/{model.hub_name} has no {missing}")
    files = []
    for name in names:
        stated = known[name].get("lfs") or {}
        sha256 = _agreed_sha256(model, name, stated.get("sha256", ""), hub)
        git_sha1 = "" if sha256 else known[name].get("blobId", "")
        url = f"{hub}/{model.hub_name}/resolve/{revision}/{quote(name)}"
        size = stated.get("size") or known[name].get("size") or 0
        path = Path(name).name if model.inside else name
        files.append(RemoteFile(path, url, size, sha256, git_sha1))
    return files


def _mirrored(model: PublishedModel, mirror: str) -> list[RemoteFile]:
    """The files of a model on a mirror, which records their hashes as a folder of models does."""
    last = Path(model.name).name
    record = f"{model.name}/SHA256SUMS" if model.files else f"{model.name}.sha256"
    sums = {} if model.files else dict(model.sha256)
    if not sums:
        sums = read_sums(_text(_mirror_url(mirror, record)))
    names = model.wanted(sums) if model.files else [name for name in sums if name == last]
    if missing := _unpublished(model, names):
        raise DownloadError(f"{record} of the mirror names no {missing}")
    files = []
    for name in names:
        path = f"{model.name}/{name}" if model.files else model.name
        sha256 = _agreed_sha256(model, name, sums[name], "the mirror")
        files.append(_with_size(RemoteFile(name, _mirror_url(mirror, path), sha256=sha256)))
    return files


def _agreed_sha256(model: PublishedModel, name: str, stated: str, where: str) -> str:
    """The SHA-256 (hex) of a file as declared or stated; DownloadError when both differ."""
    declared = model.sha256.get(Path(name).name, "")
    if stated and declared and stated != declared:
        raise DownloadError(
            f"{model.name}: of {name}, {where} states the SHA-256 {stated}, not {declared}; the "
            "file is not used"
        )
    return declared or stated


def _unpublished(model: PublishedModel, names: Sequence[str]) -> str:
    """What a list of names lacks of a model; empty when nothing."""
    if not model.files:
        return "" if names else model.inside or Path(model.name).name
    lists = [PublishedModel(model.name, (pattern,)) for pattern in model.files]
    return next((each.files[0] for each in lists if not each.wanted(names)), "")


def _mirror_url(mirror: str, path: str) -> str:
    pattern = mirror if "{path}" in mirror else f"{mirror.rstrip('/')}/{{path}}"
    return pattern.replace("{path}", quote(path))


def _with_size(file: RemoteFile) -> RemoteFile:
    with opened(file.url) as reply:  # not all servers answer HEAD
        return replace(file, size=int(reply.headers.get("Content-Length") or 0))


def _text(url: str) -> str:
    with opened(url) as reply:
        return str(reply.read().decode("utf-8", errors="replace"))


# --- One file ------------------------------------------------------------------------------------


def _fetch_file(file: RemoteFile, place: Path, report: Report, in_folder: bool) -> str:
    """Fetch a file to a place, going on where it stopped; return its SHA-256 (hex)."""
    if in_folder and place.is_file():
        with contextlib.suppress(_WrongFileError):
            return file.sha256_when_right(place)
        place.unlink()  # of another revision
    part = place.with_name(f"{place.name}.part") if in_folder else place
    is_first_try = not _size(part)
    while True:
        _fill(file, part, report)
        try:
            sha256 = file.sha256_when_right(part)
            break
        except _WrongFileError:
            _forget(part)
            if is_first_try:
                raise
            is_first_try = True  # the start was of another file: once more, from nothing
    _etag_file(part).unlink(missing_ok=True)
    if in_folder:
        os.replace(part, place)
    return sha256


def _fill(file: RemoteFile, part: Path, report: Report) -> None:
    """Add to a file what it lacks; several tries, as long as bytes come."""
    failures = 0
    while True:
        before = _size(part)
        if file.size and before == file.size:
            return
        try:
            _read_on(file, part, before, report)
            return
        except BrokenOffError as error:
            failures = 1 if _size(part) > before else failures + 1
            if failures >= TRIES:
                kept = f"{megabytes(_size(part))} are kept, run it again to go on"
                raise DownloadError(f"{without_secrets(file.url)}: {error}; {kept}") from error
            pause(failures, error.pause_s)


def _read_on(file: RemoteFile, part: Path, have: int, report: Report) -> None:
    """Ask for the rest of a file once; BrokenOffError when the connection ends early."""
    headers = {"Range": f"bytes={have}-"} if have else {}
    known = _etag_file(part)
    if have and not (file.sha256 or file.git_sha1):  # nothing else says that it is the same file
        etag = known.read_text(encoding="utf-8") if known.is_file() else ""
        headers = {**headers, "If-Range": etag} if etag else {}
    try:
        reply = opened(file.url, headers)
    except RangeError:
        _forget(part)
        raise BrokenOffError("the file there is shorter than what is here") from None
    with reply:
        start = reply.headers.get("Content-Range", "").removeprefix("bytes ").partition("-")[0]
        goes_on = reply.status == 206 and start == str(have)
        if etag := reply.headers.get("ETag", ""):
            known.write_text(etag, encoding="utf-8")
        _append(reply, part, have if goes_on else 0, report)


def _append(reply: Any, part: Path, start: int, report: Report) -> None:
    """Write a reply behind the first bytes of a file; BrokenOffError when it ends early."""
    announced = reply.headers.get("Content-Length")
    came = 0
    with part.open("ab") as file:
        file.truncate(start)
        while piece := _read(reply):
            file.write(piece)
            came += len(piece)
            report(len(piece))
        file.flush()
        os.fsync(file.fileno())
    if announced is not None and came < int(announced):
        raise BrokenOffError(f"the connection broke off after {came:,} of {int(announced):,} bytes")


def _read(reply: Any) -> bytes:
    try:
        return bytes(reply.read(PIECE_BYTES))
    except (http.client.HTTPException, OSError) as error:  # TLS and time limits, too
        raise BrokenOffError(f"the connection broke off ({error})") from error


def _size(path: Path) -> int:
    """A file's bytes; 0 when it is not there."""
    return path.stat().st_size if path.is_file() else 0


def _etag_file(part: Path) -> Path:
    return part.with_name(f"{part.name}.etag")


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    _etag_file(part).unlink(missing_ok=True)


# --- The folder ----------------------------------------------------------------------------------


def _staging(target: Path, mark: str = "") -> Path:
    return target.with_name(f"{target.name}{mark}.part")


def _staged_bytes(download: Download, staging: Path, file: RemoteFile) -> int:
    if not download.model.files:
        return _size(staging)
    place = staging / file.path
    return _size(place) or _size(place.with_name(f"{place.name}.part"))


@contextlib.contextmanager
def _lock(target: Path, say: Callable[[str], object]) -> Iterator[Path]:
    """Hold a model's lock, and yield the place where its files are gathered.

    Where a file system has no locks, each process gathers them in a place of its own.
    """
    path = target.with_name(f".{target.name}.lock")
    while True:
        with path.open("a") as file:
            has_lock = _wait_for(file, f"Another process is fetching {target}; waiting.", say)
            if has_lock and not _is_still(path, file):  # its last holder removed it
                continue
            own = "" if has_lock else f".{socket.gethostname()}-{os.getpid()}"
            try:
                yield _staging(target, own)
            finally:
                path.unlink(missing_ok=True)
            return


def _wait_for(file: IO[str], waiting: str, say: Callable[[str], object]) -> bool:
    """Lock a file, once others have let go of it; False where the file system has no locks."""
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(waiting)
            fcntl.flock(file, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno in NO_LOCKS:
            return False
        raise
    return True


def _is_still(path: Path, file: IO[str]) -> bool:
    """Whether an open file is the one at a path."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _unwritable(error: OSError, target: Path) -> str:
    """What to do about a folder that takes no files."""
    place = error.filename or target
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        remedy = "What came is kept: make space, then run it again"
    else:
        remedy = "Name another folder (--to, or the setting EARNEST_MODELS)"
    return f"{place} cannot be written: {error.strerror}. {remedy}"
