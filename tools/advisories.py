"""Known weaknesses of the locked packages, by pip-audit from OSV, and what audit.toml accepts."""

import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

OSV_URL = "https://api.osv.dev/v1/query"
PROBE = {"package": {"name": "pip", "ecosystem": "PyPI"}, "version": "26.3"}
PATIENCE_S = 5
AWAY = ("ConnectionError", "Timeout", "HTTPError", "ServiceError", "Could not connect")


class AwayError(Exception):
    """The service cannot be asked from here; the message says why."""


class AuditError(Exception):
    """pip-audit failed for another reason than the network."""


@dataclass(frozen=True)
class AcceptedWeakness:
    """An entry of audit.toml: a weakness that is known and borne until a day."""

    id: str
    package: str
    reason: str
    until: date


@dataclass(frozen=True)
class Weakness:
    """One advisory of one locked package."""

    package: str
    version: str
    ids: tuple[str, ...]
    fixed_in: tuple[str, ...]

    def __str__(self) -> str:
        fixed = f"fixed in {', '.join(self.fixed_in)}" if self.fixed_in else "no version fixes it"
        return f"{self.package} {self.version}: {', '.join(self.ids)}; {fixed}"


def probe(url: str) -> None:
    """One question first: a network without the service costs a fraction of a second."""
    import httpx

    try:
        httpx.post(url, json=PROBE, timeout=PATIENCE_S).raise_for_status()
    except httpx.HTTPError as error:
        raise AwayError(f"{httpx.URL(url).host} does not answer ({error})") from None


def ask(locks: Iterable[Path], url: str, cache: Path) -> list[Weakness]:
    probe(url)
    command = [sys.executable, "-m", "pip_audit", "--no-deps", "--disable-pip", "--format", "json"]
    command += ["--progress-spinner", "off", "--timeout", str(PATIENCE_S), "--desc", "off"]
    command += ["--vulnerability-service", "osv", "--osv-url", url, "--cache-dir", str(cache)]
    for lock in locks:
        command += ["--requirement", str(lock)]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        report: dict[str, Any] = json.loads(done.stdout)
    except json.JSONDecodeError:
        last = (done.stderr.strip().splitlines() or ["no word"])[-1]
        if any(word in done.stderr for word in AWAY):
            raise AwayError(f"the service went away ({last})") from None
        raise AuditError(f"pip-audit failed: {last}") from None
    if skipped := [each["name"] for each in report["dependencies"] if "skip_reason" in each]:
        raise AuditError(f"pip-audit looked up nothing for: {', '.join(skipped)}")
    return [
        Weakness(
            each["name"],
            each["version"],
            (weakness["id"], *weakness.get("aliases", ())),
            tuple(weakness["fix_versions"]),
        )
        for each in report["dependencies"]
        for weakness in each["vulns"]
    ]


def judge_weaknesses(
    weaknesses: Iterable[Weakness], accepted: Iterable[AcceptedWeakness]
) -> tuple[list[str], list[str]]:
    """What must be mended, and what is only told: accepted, or no version fixes it yet."""
    wrong, known = [], []
    for each in weaknesses:
        entry = next(
            (e for e in accepted if e.package == each.package and e.id in each.ids),
            None,
        )
        if entry:
            known.append(f"{each} (accepted until {entry.until}: {entry.reason})")
        elif each.fixed_in:
            wrong.append(str(each))
        else:
            known.append(str(each))
    return wrong, known


def expired_entries(accepted: Iterable[AcceptedWeakness], today: date) -> list[str]:
    return [
        f"{e.package}: {e.id} was accepted until {e.until}" for e in accepted if e.until < today
    ]
