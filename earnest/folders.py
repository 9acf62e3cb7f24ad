"""A study folder as a zip, and the zip in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile, is_zipfile

from earnest.errors import EarnestError
from earnest.sending import Sender, plain

AT_ONCE = 8 * 1024**2
LEAST = 512 * 1024  # every server takes pieces of this size
TOML = "study.toml"
VALIDATIONS = "validations"


@contextmanager
def zip_of(source: Path) -> Iterator[IO[bytes]]:
    """The zip of a folder, or the zip that it is; on the disk, not in memory."""
    if source.is_file():
        if not is_zipfile(source):
            raise EarnestError(f"{source} is no zip. Name a study folder, or a zip of one.")
        with source.open("rb") as file:
            yield file
        return
    if not source.exists():
        raise EarnestError(f"{source} is not there. Check the path.")
    if not (source / TOML).is_file():
        raise EarnestError(f"{source} is no study folder: there is no {TOML} in it.")
    with TemporaryFile() as file:
        try:
            with ZipFile(file, "w", ZIP_STORED) as opened:  # sounds hardly pack
                for path in sorted(p for p in source.rglob("*") if p.is_file()):
                    name = path.relative_to(source)
                    if not any(part.startswith(".") for part in name.parts):
                        opened.write(path, name.as_posix())
        except (OSError, BadZipFile, ValueError) as error:
            raise EarnestError(f"{source} cannot be read ({error}).") from None
        file.seek(0)
        yield file


def send_zip(
    sender: Sender, file: IO[bytes], method: str, path: str, **query: Any
) -> dict[str, Any]:
    """In one request where it is small, else in pieces, each of which may be sent again."""
    size = file.seek(0, 2)
    file.seek(0)
    params = {name: value for name, value in query.items() if value is not None}
    if size <= LEAST:
        kind = {"Content-Type": "application/zip"}
        answer = sender.ask(method, path, content=file.read(), headers=kind, params=params)
    else:
        code = str(plain(sender.ask("POST", "uploads"))["upload"])
        try:
            upload_in_pieces(sender, file, size, code)
            answer = sender.ask(method, path, json={"upload": code}, params=params)
        except BaseException:
            with suppress(EarnestError):
                sender.ask("DELETE", f"uploads/{code}")
            raise
        if path == VALIDATIONS:  # which leaves it there; what makes a study does not
            sender.ask("DELETE", f"uploads/{code}")
    told: dict[str, Any] = plain(answer)
    return told


def upload_in_pieces(sender: Sender, file: IO[bytes], size: int, code: str) -> None:
    """Sends all of a zip, and goes on where a piece was lost."""
    at, piece = 0, AT_ONCE
    while at < size:
        file.seek(at)
        content = file.read(piece)
        try:
            told = sender.ask(
                "PUT",
                f"uploads/{code}",
                content=content,
                headers={"Content-Type": "application/octet-stream"},
                params={"size": size, "offset": at},
            ).json()
        except EarnestError as error:
            if error.status != 413 or piece <= LEAST:
                raise
            piece //= 2
            continue
        if told["received"] <= at and not told["whole"]:
            raise EarnestError("The server takes no more of the upload. Begin again.")
        at = told["received"]
