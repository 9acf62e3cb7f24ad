"""Licences and known weaknesses of all that is installed: python -m tools.audit [--daily FILE].

audit.toml says what is allowed. Without a network to the advisories one line says so, and the
rest is checked. With --daily, what was clean today and has not changed is not looked at again.
"""

import argparse
import hashlib
import json
import sys
import tempfile
import tomllib
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from tools.locks import DEV_LOCK, ROOT, RUN_LOCK

BOOK = ROOT / "audit.toml"


def today() -> date:
    return datetime.now(UTC).date()


def fingerprint() -> str:
    """Of all that an answer depends on: locks, audit.toml and these tools."""
    files = (RUN_LOCK, DEV_LOCK, BOOK, *sorted((ROOT / "tools").glob("*.py")))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def licences_wrong(book: dict[str, Any]) -> list[str]:
    from tools.licences import Exempt, refused_packages
    from tools.sbom import SbomError, bill_of_running

    exempt = [
        Exempt(tuple(entry["packages"]), tuple(entry["states"]), entry["reason"])
        for entry in book.get("licence", ())
    ]
    try:
        refused_licences = refused_packages(bill_of_running(), frozenset(book["allowed"]), exempt)
    except SbomError as error:
        return [str(error)]
    return [
        f"{name} states {stated} as its licence; audit.toml does not list that"
        for name, stated in refused_licences.items()
    ]


def weaknesses_wrong(book: dict[str, Any], url: str) -> tuple[list[str], bool]:
    """What must be mended, and whether the advisories were asked at all."""
    from tools.advisories import (
        AcceptedWeakness,
        AuditError,
        AwayError,
        ask,
        expired_entries,
        judge_weaknesses,
    )

    accepted = [AcceptedWeakness(**entry) for entry in book.get("weakness", ())]
    wrong = expired_entries(accepted, today())
    with tempfile.TemporaryDirectory() as cache:
        try:
            weaknesses = ask((RUN_LOCK, DEV_LOCK), url, Path(cache))
        except AwayError as error:
            print(f"not audited: {error}")
            return wrong, False
        except AuditError as error:
            return [*wrong, str(error)], False
    more, known = judge_weaknesses(weaknesses, accepted)
    for line in known:
        print(f"known: {line}")
    return wrong + more, True


def clean_days(file: Path | None) -> dict[str, str]:
    """Which of the two halves was clean on which day, if nothing has changed since."""
    try:
        stored: dict[str, Any] = json.loads(file.read_text()) if file else {}
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return stored["clean"] if stored.get("of") == fingerprint() else {}


def audit(daily: Path | None, url: str) -> list[str]:
    book = tomllib.loads(BOOK.read_text())
    day, clean = today().isoformat(), clean_days(daily)
    wrong: list[str] = []
    if clean.get("licences") != day:
        wrong += (licences := licences_wrong(book))
        clean["licences"] = "" if licences else day
    if clean.get("weaknesses") == day:
        print("audited today, and nothing has changed since")
    else:
        weaknesses, was_asked = weaknesses_wrong(book, url)
        wrong += weaknesses
        clean["weaknesses"] = day if was_asked and not weaknesses else ""
        if was_asked:
            print("the locked packages were looked up in the advisories")
    if daily:
        daily.parent.mkdir(parents=True, exist_ok=True)
        daily.write_text(json.dumps({"of": fingerprint(), "clean": clean}))
    return wrong


def main(words: list[str] | None = None) -> int:
    from tools.advisories import OSV_URL

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--daily", type=Path, metavar="FILE")
    parser.add_argument("--osv-url", default=OSV_URL)
    args = parser.parse_args(words)
    wrong = audit(args.daily, args.osv_url)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
