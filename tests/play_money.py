"""Control of the play-money double of Prolific, started as a program of its own, for tests."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
START_S = 30
TOKEN = "play-money"


class ControlError(Exception):
    """The double refused: status and body."""


class Double:
    """`with Double.running() as double:` starts one; `Double(url)` speaks to one that runs."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    @classmethod
    @contextmanager
    def running(cls, data: Path | None = None, *options: str) -> Iterator[Double]:
        """On a free port, until the end of the block; `options` are the program's own."""
        command = [
            sys.executable,
            "-m",
            "tests.prolific_double",
            "--port",
            "0",
            *options,
        ]
        command += ["--data", str(data)] if data else []
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            line = process.stdout.readline().strip()
            if not line.startswith("listening on "):
                raise ControlError(f"The double has not started: {line!r}")
            yield cls(line.removeprefix("listening on "))
        finally:
            process.terminate()
            process.wait(START_S)
            process.stdout.close()

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None and method != "POST" else json.dumps(body or {}).encode()
        request = urllib.request.Request(f"{self.url}/control{path}", data, method=method)
        try:
            with self.opener.open(request, timeout=60) as response:
                return json.loads(response.read() or b"null")
        except urllib.error.HTTPError as error:
            with error:
                raise ControlError(f"{error.code}: {error.read().decode()}") from None

    # --- Participants ----------------------------------------------------------------------------

    def participants(self, n: int = 1, **attributes: Any) -> list[str]:
        made = self.ask("POST", "/participants", {"n": n, "attributes": attributes})
        return [str(name) for name in made["participants"]]

    def reserve(self, study: str, participant: str) -> str:
        body = {"study": study, "participant": participant}
        return str(self.ask("POST", "/reserve", body)["id"])

    def start(self, submission: str, at: Any = None) -> str:
        """The address that the participant's browser is sent to."""
        return str(self.ask("POST", f"/submissions/{submission}/start", {"at": at})["url"])

    def enter(self, study: str, participant: str) -> str:
        """Reserves and starts; the id of the submission."""
        submission = self.reserve(study, participant)
        self.start(submission)
        return submission

    def submit(self, submission: str, code: str | None, **times: Any) -> str:
        """With a code, any words, or None for NOCODE; the status that follows."""
        body = {"code": code, **times}
        return str(self.ask("POST", f"/submissions/{submission}/submit", body)["status"])

    def give_back(self, submission: str) -> None:
        self.ask("POST", f"/submissions/{submission}/return")

    # --- The researcher, on Prolific's own pages ------------------------------------------------

    def edit(self, study: str, **changes: Any) -> None:
        self.ask("POST", f"/studies/{study}/edit", changes)

    def move(self, study: str, action: str) -> None:
        """PUBLISH, PAUSE, START, STOP …"""
        self.ask("POST", f"/studies/{study}/move", {"action": action})

    def study(self, study: str) -> dict[str, Any]:
        return dict(self.state()["studies"][study])

    def locked(self, study: str) -> Decimal:
        """What is locked for a study, with fees, in minor units."""
        return Decimal(str(self.ask("GET", f"/studies/{study}/locked")["locked"]))

    # --- Clock, settings, faults -----------------------------------------------------------------

    def forward(self, **units: float) -> None:
        """By `seconds`, `minutes`, `hours` or `days`."""
        self.ask("POST", "/clock", units)

    def settle(self, *, retries: bool = False) -> None:
        """Everything that is delayed is done now."""
        self.ask("POST", "/settle", {"retries": retries})

    def set(self, **settings: Any) -> None:
        """Settings by name; `balance`, `features`, `tokens` too."""
        self.ask("POST", "/settings", settings)

    def fault(self, name: str, **how: Any) -> None:
        """Once, unless `count` (None: for ever) or `probability` says otherwise."""
        self.ask("POST", "/faults", {"name": name, **how})

    def heal(self, name: str = "") -> None:
        self.ask("DELETE", f"/faults/{name}" if name else "/faults")

    def faults(self) -> list[dict[str, Any]]:
        return list(self.ask("GET", "/faults")["faults"])

    # --- Reading ---------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        return dict(self.ask("GET", "/state"))

    def ledger(self) -> dict[str, Any]:
        return dict(self.ask("GET", "/ledger"))
