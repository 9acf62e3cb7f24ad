"""Sounds that the pages of a draft make of others: anchors and flawed traps, and taking them back.

stimuli.csv says of each what it was made of and how (columns made_from and made_by). Files are made
first, some at a time, and the table names them when all are there: who is stopped goes on.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from listening.audio import AudioError
from listening.audio.degradations import FLAWS, TRANSITION_HZ, write_degraded
from listening.design.anchors import ANCHORS, LABELS
from listening.design.draft_toml import FAILED, TRAP, Table, roles
from listening.design.scanning import natural
from listening.drafts.files import facts_of
from listening.drafts.folder import Rows, change, folder_of, rows_of, table_of
from listening.drafts.sounds import BY, mark
from listening.models import Draft

PLACE = "made"  # the folder of what is made
FROM = "made_from"
TRAPS = "flawed"  # the condition of made traps
MOST_TRAPS = 50
MADE_AT_ONCE_S = 2.0  # before the page is told how far it is
OWN_CELLS = ("expected", "versus")  # of a trap's row: what is made has its own answer


class CannotMake(Exception):
    """The reason why no clip can be generated, and what to do."""


@dataclass(frozen=True)
class Wish:
    """One file that is to be made: of which row, for which condition, by which way."""

    source: dict[str, str]
    condition: str
    way: str  # an anchor or a flaw
    target: str


def anchors(draft: Draft) -> list[Wish]:
    """Both anchors of every clip of the reference."""
    rows, role = rows_of(draft), roles(table_of(draft))
    _check_free(rows, *ANCHORS)
    own = [row for row in rows if role.get(row["condition"]) == "reference" and not row.get(BY)]
    if not own:
        raise CannotMake("Set a reference first: anchors are filtered from its clips.")
    usable = _usable(draft, own)
    lowest = min(usable.values(), default=0)
    if lowest / 2 <= max(ANCHORS.values()) + TRANSITION_HZ / 2:
        raise CannotMake(
            f"The reference has a clip of {lowest:,} Hz, so a 7 kHz anchor would equal the "
            "reference. Use a reference of 16 kHz or more."
        )
    wanted = [row for row in own if row["file"] in usable]
    return [_wish(draft, row, key, key) for row in wanted for key in ANCHORS]


def traps(draft: Draft, kind: str, condition: str, count: int, file: str = "") -> list[Wish]:
    """Flawed clips of a system, of sentences spread evenly; or of one file."""
    if kind not in FLAWS:
        raise CannotMake("Choose a defect.")
    top, rows = table_of(draft), rows_of(draft)
    if not can_trap(draft, top):
        raise CannotMake("Traps that must get a low score need a task of MOS or Audio Turing Test.")
    _check_free(rows, TRAPS)
    there = [row for row in rows if not row.get("trap") and not row.get(BY)]
    own = [
        row for row in there if row["file"] == file or (not file and row["condition"] == condition)
    ]
    own.sort(key=lambda row: natural(row["item"]))
    usable = _usable(draft, own)
    own = [row for row in own if row["file"] in usable]
    if not own:
        raise CannotMake("There is no clip to make a trap from.")
    count = 1 if file else max(1, min(count, MOST_TRAPS, len(own)))
    chosen = [own[(2 * n + 1) * len(own) // (2 * count)] for n in range(count)]
    return [_wish(draft, row, TRAPS, kind) for row in chosen]


def can_trap(draft: Draft, top: Table) -> bool:
    """Whether a task of the draft has traps that must get a low score."""
    methods = {task.get("method") for task in top.get("tasks", [])}
    return draft.wishes is not None and bool(methods & FAILED.keys())


def _check_free(rows: Rows, *conditions: str) -> None:
    taken = {row["condition"] for row in rows if not row.get(BY)} & set(conditions)
    if taken:
        raise CannotMake(f"Another system is already called “{min(taken)}”. Rename it first.")


def _usable(draft: Draft, rows: Rows) -> dict[str, int]:
    """The files that hold sound, with their sampling rates."""
    facts = facts_of(draft, [row["file"] for row in rows])
    return {n: f["sample_rate_hz"] for n, f in facts.items() if "sample_rate_hz" in f}


def _wish(draft: Draft, row: dict[str, str], condition: str, way: str) -> Wish:
    content = facts_of(draft, [row["file"]])[row["file"]]["sha256"][:12]
    name = re.sub(r"[^\w.-]+", "_", row["item"]).strip("._")[:60] or "clip"
    return Wish(row, condition, way, f"{PLACE}/{condition}/{name}-{way}-{content}.flac")


def make_some(draft: Draft, wishes: Sequence[Wish], seconds: float = MADE_AT_ONCE_S) -> int:
    """Makes files for a while; how many are left. CannotMake names the clip that cannot be."""
    folder = folder_of(draft)
    waiting = [wish for wish in wishes if not (folder / wish.target).exists()]
    until = time.monotonic() + seconds
    while waiting and time.monotonic() < until:
        wish = waiting.pop()
        try:
            write_degraded(folder / wish.source["file"], folder / wish.target, wish.way)
        except AudioError as error:
            raise CannotMake(f"{wish.source['file']}: {error}") from None
    return len(waiting)


def how(wish: Wish) -> str:
    if wish.way in FLAWS:
        return f"{FLAWS[wish.way].title}: {FLAWS[wish.way].how}; length, loudness, spectrum kept"
    return (
        f"Low-pass {ANCHORS[wish.way] / 1000:g} kHz: within 0.1 dB below, 79 dB down from "
        f"{TRANSITION_HZ} Hz above; in step with its source"
    )


def put(draft: Draft, wishes: Sequence[Wish], seen: int) -> None:
    """Names what was made in the table; what was made of the same sentence before gives way."""

    def write(top: Table, rows: Rows) -> None:
        new = {(wish.condition, wish.source["item"]) for wish in wishes}
        rows[:] = [r for r in rows if not (r.get(BY) and (r["condition"], r["item"]) in new)]
        taken = {row["stimulus"] for row in rows}
        rows.extend(_row(wish, taken) for wish in wishes)
        for condition in {wish.condition for wish in wishes}:
            mark(top, rows, condition, "trap" if condition == TRAPS else "anchor")
            entry = next(c for c in top["conditions"] if c["key"] == condition)
            if condition in LABELS:
                entry.setdefault("label", LABELS[condition])
        rows.sort(key=lambda row: (natural(row["item"]), natural(row["condition"])))

    change(draft, write, seen)
    _sweep(draft)


def _row(wish: Wish, taken: set[str]) -> dict[str, str]:
    key = re.sub(r"\s+", "_", f"{wish.condition}-{wish.source['item']}")[-110:]
    while key in taken:
        key = f"{len(taken)}-{key}"
    taken.add(key)
    cells = {name: cell for name, cell in wish.source.items() if name not in OWN_CELLS}
    trap = TRAP if wish.condition == TRAPS else ""
    own = {"stimulus": key, "condition": wish.condition, "file": wish.target, "trap": trap}
    return {**cells, **own, FROM: wish.source["file"], BY: how(wish)}


def take_back(draft: Draft, condition: str, seen: int) -> int:
    """Takes what was made for a condition out of the table and the folder; how many clips."""
    removed_files: list[str] = []

    def write(top: Table, rows: Rows) -> None:
        removed_files.extend(r["file"] for r in rows if r.get(BY) and r["condition"] == condition)
        rows[:] = [row for row in rows if row["file"] not in removed_files]
        if not any(row["condition"] == condition for row in rows):
            conditions = [c for c in top.get("conditions", []) if c.get("key") != condition]
            top["conditions"] = conditions

    change(draft, write, seen)
    _sweep(draft)
    return len(removed_files)


def _sweep(draft: Draft) -> None:
    """Deletes what was made and is named no longer: it can be made again."""
    used = {row["file"] for row in rows_of(draft)}
    folder = folder_of(draft)
    for path in list((folder / PLACE).rglob("*.flac")):
        if path.relative_to(folder).as_posix() not in used:
            path.unlink(missing_ok=True)


def count_made_clips(rows: Rows) -> Iterator[tuple[str, str, int]]:
    """Condition, how, and number of clips of what these pages made."""
    counts: dict[tuple[str, str], int] = {}
    for row in rows:
        if row.get(BY):
            key = (row["condition"], row[BY])
            counts[key] = counts.get(key, 0) + 1
    yield from ((condition, words, n) for (condition, words), n in counts.items())
