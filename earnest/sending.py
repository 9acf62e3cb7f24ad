"""Send requests and repeat those that do no harm twice; send study folders as zips."""

from __future__ import annotations

import random
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any
from urllib.parse import quote
from zipfile import ZIP_STORED, BadZipFile, ZipFile, is_zipfile

import httpx

from earnest.errors import EarnestError

REPEATABLE = ("GET", "PUT", "DELETE")  # twice is as once
NOT_NOW = (429, 502, 503, 504)
LONGEST_WAIT_S = 60.0
LONGEST_SENTENCE = 300


class Sender:
    """One connection to one server. What may be repeated is, `tries` times, when it is told to."""

    def __init__(
        self, http: httpx.Client, tries: int, sleep: Callable[[float], object] = time.sleep
    ) -> None:
        self.http, self.tries, self.sleep = http, tries, sleep

    def ask(self, method: str, path: str, **sent: Any) -> httpx.Response:
        """The answer; EarnestError for what the server refuses, and where none answers."""
        try:
            request = self.http.build_request(method, path, **sent)
        except ValueError as error:  # such as NaN in JSON, or half a character in a query
            raise EarnestError(f"This cannot be sent: {error}.") from None
        for left in reversed(range(self.tries)):
            try:
                answer = self.http.send(request)
            except httpx.TransportError as error:
                unsent = isinstance(error, httpx.ConnectError | httpx.PoolTimeout)
                if not left or not (unsent or method in REPEATABLE):
                    raise EarnestError(_unreachable_message(error, request)) from None
                self.sleep(self._pause(left))
                continue
            again = answer.status_code == 429 or method in REPEATABLE
            if answer.status_code in NOT_NOW and left and again:
                self.sleep(_wait_s(answer) or self._pause(left))
                continue
            return check_response(answer)
        raise AssertionError("there is at least one try")

    def _pause(self, left: int) -> float:
        return min(2.0 ** (self.tries - left - 1), LONGEST_WAIT_S) * random.uniform(0.5, 1.0)


def _wait_s(answer: httpx.Response) -> float:
    """Seconds that the server asks to wait; 0 where it does not say."""
    text = answer.headers.get("Retry-After", "")
    return min(float(text), LONGEST_WAIT_S) if text.isdecimal() else 0.0


def _unreachable_message(error: httpx.TransportError, request: httpx.Request) -> str:
    unsure = (
        "" if request.method in REPEATABLE else " Look whether it was done before you ask again."
    )
    server = f"{request.url.scheme}://{request.url.netloc.decode()}"
    return f"{server} did not answer ({error or type(error).__name__}).{unsure}"


def path_of(*names: object) -> str:
    """Return a path with each name as one part; EarnestError where a name cannot be one.

    Servers undo the quotation of “/” and proxies that of “..”, so both are refused.
    """
    for name in map(str, names):
        if name in ("", ".", "..") or "/" in name or not name.isprintable():
            raise EarnestError(
                f"{name!r} is not a valid name. Give a key or a name as the lists of studies, "
                "presets and pages show it, without “/” or control characters."
            )
    return "/".join(quote(str(name), safe="") for name in names)


def plain(answer: httpx.Response) -> Any:
    """The JSON of an answer; what answers in another form is no Earnest."""
    try:
        return answer.json()
    except ValueError:
        raise EarnestError(_no_earnest(answer), answer.status_code) from None


def _no_earnest(answer: httpx.Response) -> str:
    if answer.status_code >= 500:
        return (
            f"{answer.url} answered {answer.status_code}: the server, or a proxy before it, "
            "failed. Try again later, or tell your administrator."
        )
    return (
        f"{answer.url} answered {answer.status_code}, and not as Earnest does. EARNEST_URL is the "
        "address of the server alone, such as https://listen.example.org"
    )


def check_response(answer: httpx.Response) -> httpx.Response:
    """Return an answer that is one; EarnestError for refusals, and for what leads elsewhere."""
    if answer.is_success:
        return answer
    try:
        body = answer.json()
    except ValueError:
        body = {}
    if not isinstance(body, dict):
        body = {}
    detail = body.get("detail") or body.get("message") or _sentence(answer) or _no_earnest(answer)
    raise EarnestError(detail, answer.status_code, body.get("mistakes", ()))


def _sentence(answer: httpx.Response) -> str:
    """Return why a request was refused before the API saw it, as a NUL in a query is."""
    refused = answer.status_code in (400, 415)
    plain_text = answer.headers.get("Content-Type", "").startswith("text/plain")
    return answer.text.strip()[:LONGEST_SENTENCE] if refused and plain_text else ""


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
            names = _file_names(source)
            with ZipFile(file, "w", ZIP_STORED) as opened:  # sounds hardly pack
                for name in names:
                    opened.write(source / name, name)
        except (OSError, BadZipFile, ValueError) as error:
            raise EarnestError(f"{source} cannot be read ({error}).") from None
        file.seek(0)
        yield file


def _file_names(source: Path) -> list[str]:
    """Return the files of a folder without hidden ones; EarnestError lists links and devices.

    A link may lead out of the folder, to a file that nobody means to send.
    """
    names, refused = [], []
    for path in sorted(source.rglob("*")):
        name = path.relative_to(source)
        if any(part.startswith(".") for part in name.parts):
            continue
        kind = path.lstat().st_mode
        if stat.S_ISREG(kind):
            names.append(name.as_posix())
        elif not stat.S_ISDIR(kind):
            what, remedy = "This is a link or a device.", "Copy the file itself."
            refused.append({"file": name.as_posix(), "what": what, "remedy": remedy})
    if refused:
        detail = f"{source} holds links or devices, so nothing was sent."
        raise EarnestError(detail, mistakes=refused)
    return names


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
                sender.ask("DELETE", path_of("uploads", code))
            raise
        if path == VALIDATIONS:  # which leaves it there; what makes a study does not
            sender.ask("DELETE", path_of("uploads", code))
    body: dict[str, Any] = plain(answer)
    return body


def upload_in_pieces(sender: Sender, file: IO[bytes], size: int, code: str) -> None:
    """Sends all of a zip, and goes on where a piece was lost."""
    at, piece = 0, AT_ONCE
    while at < size:
        file.seek(at)
        content = file.read(piece)
        try:
            progress = sender.ask(
                "PUT",
                path_of("uploads", code),
                content=content,
                headers={"Content-Type": "application/octet-stream"},
                params={"size": size, "offset": at},
            ).json()
        except EarnestError as error:
            if error.status != 413 or piece <= LEAST:
                raise
            piece //= 2
            continue
        if progress["received"] <= at and not progress["whole"]:
            raise EarnestError("The server takes no more of the upload. Begin again.")
        at = progress["received"]
