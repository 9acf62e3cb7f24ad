"""What the double knows, kept in one file: settings, clock, ids, delayed jobs, all records."""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

Json = dict[str, Any]

FEATURES = ("fixed_screen_out", "secure_links", "dynamic_payment", "test_study")
KINDS = (
    *("workspaces", "projects", "studies", "submissions", "participants", "groups", "batches"),
    *("secrets", "subscriptions", "events"),
)
SETTINGS: Json = {
    "currency": "GBP",
    "fee_percent": 42.8,  # of rewards and bonuses
    "vat_percent": 20,  # of the fee
    "publish_s": 0.2,  # how long PUBLISHING lasts
    "pay_s": 0.2,  # until bonuses are paid
    "one_at_a_time": True,  # a participant has one open submission
    "max_page_size": 200,
    "min_reward_per_hour": 600,
    "recommended_reward_per_hour": 900,
    "more_with_filters": 0,
    "lists_show_bonuses": True,  # undocumented, as seen
    "children_apart": False,  # lists and bonuses of a parent leave its children's people out
}


class ApiError(Exception):
    """A refusal: status and what stands in the body's detail."""

    def __init__(self, status: int, detail: Any, title: str = "") -> None:
        super().__init__(f"{status}: {detail}")
        self.status, self.detail = status, detail
        self.title = title or {403: "Forbidden", 404: "Not found"}.get(status, "Bad request")


class State:
    """All records, and the lock that whoever reads or changes them must hold."""

    def __init__(self, file: Path | None = None, *, balance: float = 100_000, **settings: Any):
        self.lock, self.file, self.is_dirty = threading.RLock(), file, True
        self.handlers: dict[str, Callable[[State, Json], None]] = {}
        self.links = {"api": "", "pages": ""}  # of this server, without a slash at the end
        if file is not None and file.exists():
            self.data: Json = json.loads(file.read_text())
        else:
            self.data = _fresh(balance, settings)

    # --- Clock and file --------------------------------------------------------------------------

    def now(self) -> float:
        return time.time() + float(self.data["offset_s"])

    def save(self) -> None:
        """Whole or not at all: a new file takes the old one's place."""
        if self.file is None or not self.is_dirty:
            return
        fresh = self.file.with_name(self.file.name + ".new")
        fresh.write_text(json.dumps(self.data))
        os.replace(fresh, self.file)
        self.is_dirty = False

    # --- Records ---------------------------------------------------------------------------------

    def setting(self, name: str) -> Any:
        return self.data["settings"][name]

    def add(self, kind: str, **fields: Any) -> Json:
        record = {"id": secrets.token_hex(12), "created": self.now(), **fields}
        self.data[kind][record["id"]] = record
        return record

    def get(self, kind: str, name: str) -> Json:
        record: Json | None = self.data[kind].get(name)
        if record is None:
            raise ApiError(404, f"Nothing among the {kind} has the id {name}.")
        return record

    def all(self, kind: str, **fields: Any) -> list[Json]:
        """Records with these values, the oldest first."""
        records: Iterator[Json] = iter(self.data[kind].values())
        return [r for r in records if all(r.get(name) == value for name, value in fields.items())]

    def has_feature(self, workspace: str, feature: str) -> bool:
        return bool(self.data["workspaces"][workspace]["features"].get(feature))

    # --- Delayed jobs ----------------------------------------------------------------------------

    def later(self, kind: str, delay_s: float, **args: Any) -> None:
        self.data["jobs"].append({"kind": kind, "due": self.now() + delay_s, "args": args})

    def take_due(
        self, *, deliveries: bool, all_now: bool = False, retries: bool = False
    ) -> Json | None:
        """The next due job, off the list; deliveries of hooks wait for their own thread."""
        jobs: list[Json] = self.data["jobs"]
        due = [
            job
            for job in jobs
            if (job["kind"] == "deliver") == deliveries
            and (
                job["due"] <= self.now()
                or (all_now and (retries or not job["args"].get("attempt")))
            )
        ]
        if not due:
            return None
        first = min(due, key=lambda job: float(job["due"]))
        jobs.remove(first)
        return first

    def work_off(self, *, all_now: bool = False) -> int:
        """Runs what is due (or everything) but deliveries; says how many jobs that were."""
        done = 0
        while (job := self.take_due(deliveries=False, all_now=all_now)) is not None:
            self.handlers[job["kind"]](self, job["args"])
            done += 1
        return done


def _fresh(balance: float, settings: Json) -> Json:
    data: Json = {"offset_s": 0.0, "settings": {**SETTINGS, **settings}, "jobs": []}
    data |= {"ledger": [], "messages": [], "bulk_seen": {}, "key": None, "researcher": "e" * 24}
    data |= {kind: {} for kind in KINDS}
    workspace, project = secrets.token_hex(12), secrets.token_hex(12)
    data["workspaces"][workspace] = {
        **{"id": workspace, "title": "Play workspace", "total": str(balance)},
        "features": dict.fromkeys(FEATURES, True),
    }
    data["projects"][project] = {"id": project, "title": "Project", "workspace": workspace}
    data["tokens"] = {"play-money": {"workspaces": None, "is_read_only": False}}
    return data


def number(value: Decimal | float) -> int | float:
    """For JSON: whole numbers without a fraction."""
    rounded = round(Decimal(str(value)), 4)
    return int(rounded) if rounded == rounded.to_integral_value() else float(rounded)


def stamp(at: float | None) -> str | None:
    """ISO 8601 in UTC, with milliseconds."""
    if at is None:
        return None
    written = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    return written.replace("+00:00", "Z")


def moment(text: Any) -> float:
    """Seconds from ISO 8601 text or from a number of seconds."""
    if isinstance(text, int | float) and not isinstance(text, bool):
        return float(text)
    try:
        read = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        raise ApiError(400, f"{text!r} is no moment.") from None
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
