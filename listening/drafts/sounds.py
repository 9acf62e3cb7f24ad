"""The sounds of a draft: received in pieces, known by what is in them, put into the table."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from listening import audio
from listening.design.draft_toml import TRAP, Table, roles
from listening.design.scanning import EXTENSIONS, Scan, natural, scan, stimuli_of
from listening.design.studyfile import CSV, TOML, study_folder, unpack
from listening.design.studyfile.files import check_relative
from listening.design.studyfile.problems import Problem
from listening.design.studyfile.shapes import Wrong
from listening.drafts.folder import Rows, change, folder_of, place_of, rows_of, table_of
from listening.models import Draft

MOST_FILES = 20_000
LARGEST_BYTES = 500 * 1024**2  # of a sound; a zip may have more
LARGEST_ZIP_BYTES = 20 * 1024**3
SOUNDS = "audio"
Facts = dict[str, Any]


class WrongPiece(Exception):
    """The piece does not continue what was received: `received` bytes are there."""

    def __init__(self, received: int) -> None:
        self.received = received
        super().__init__(received)


def receive(draft: Draft, path: str, size: int, offset: int, piece: bytes) -> bool:
    """Adds a piece of a file; whether it is whole now. Wrong says why the name is refused.

    A file comes to its place when it is whole, so that no page ever sees a part of one.
    """
    check_relative(path)
    part = _part(draft, path, size)
    received = part.stat().st_size if part.exists() else 0
    if offset != received or received + len(piece) > size:
        raise WrongPiece(received)
    with part.open("ab") as file:
        file.write(piece)
    if received + len(piece) < size:
        return False
    target = _target(draft, path)
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(part, target)
    return True


def received_of(draft: Draft, path: str, size: int) -> int:
    part = _part(draft, path, size)
    return part.stat().st_size if part.exists() else 0


def _part(draft: Draft, path: str, size: int) -> Path:
    folder = place_of(draft) / "parts"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / hashlib.sha256(f"{size}/{path}".encode()).hexdigest()


def _target(draft: Draft, path: str) -> Path:
    return folder_of(draft) / SOUNDS / path


def is_zip(path: str) -> bool:
    return path.casefold().endswith(".zip")


def unzip(draft: Draft, path: str) -> list[Problem]:
    """Unpacks an archive that was received among the sounds, and takes it away."""
    archive = _target(draft, path)
    with tempfile.TemporaryDirectory(dir=place_of(draft)) as space:
        problems = unpack(archive, Path(space))
        archive.unlink()
        if problems:
            return problems
        _move_all(Path(space), folder_of(draft) / SOUNDS)
    return []


def adopt(draft: Draft) -> bool:
    """A whole study folder among what was uploaded becomes the draft; whether there was one."""
    sounds = folder_of(draft) / SOUNDS
    inside = study_folder(sounds)
    if not (inside / TOML).exists():
        return False
    if inside == sounds:
        inside = sounds.rename(place_of(draft) / "adopted")
    _move_all(inside, folder_of(draft))
    shutil.rmtree(place_of(draft) / "adopted", ignore_errors=True)
    sounds.mkdir(exist_ok=True)
    return True


def _move_all(source: Path, target: Path) -> None:
    for path in sorted(p for p in source.rglob("*") if p.is_file() and not p.is_symlink()):
        to = target / path.relative_to(source)
        to.parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, to)


# --- What is known of them ------------------------------------------------------------------------


def names_of(draft: Draft) -> dict[str, int]:
    """Every file of the folder but its tables, relative to it, with its bytes."""
    folder = folder_of(draft)
    below = (Path(parent, file) for parent, _, files in os.walk(folder) for file in files)
    sizes = {path.relative_to(folder).as_posix(): path.stat().st_size for path in below}
    return {name: size for name, size in sizes.items() if name not in (TOML, CSV)}


def facts_of(draft: Draft, names: Sequence[str]) -> dict[str, Facts]:
    """What each file holds, or {"problem": …}; measured once for each content."""
    known = {name: _kept(draft, name) for name in names}
    new = [name for name, facts in known.items() if facts is None]
    paths = [folder_of(draft) / name for name in new]
    there = [(name, path) for name, path in zip(new, paths, strict=True) if path.is_file()]
    for (name, path), each in zip(there, audio.probed_all([p for _, p in there]), strict=True):
        wrong = isinstance(each, audio.AudioError)
        facts = {"problem": str(each)} if isinstance(each, audio.AudioError) else asdict(each)
        known[name] = facts | ({"sha256": audio.sha256_of(path)} if wrong else {})
        _facts_file(draft, name).write_text(json.dumps([_mark(path), known[name]]))
    return {name: facts or {"problem": "The file is not there."} for name, facts in known.items()}


def sha256_at(draft: Draft, path: str) -> str:
    """Of the content that an uploaded name has by now; empty where there is none."""
    try:
        check_relative(path)
    except Wrong:
        return ""
    name = f"{SOUNDS}/{path}"
    return str(facts_of(draft, [name])[name].get("sha256", ""))


def is_full(draft: Draft) -> bool:
    """Whether it holds so many sounds that no more are taken; cheap, as it is asked for each."""
    facts = place_of(draft) / "facts"
    return facts.is_dir() and len(os.listdir(facts)) >= MOST_FILES


def _kept(draft: Draft, name: str) -> Facts | None:
    file, path = _facts_file(draft, name), folder_of(draft) / name
    if not file.exists() or not path.is_file():
        return None
    mark, facts = json.loads(file.read_text())
    return facts if mark == _mark(path) else None


def _mark(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]


def _facts_file(draft: Draft, name: str) -> Path:
    folder = place_of(draft) / "facts"
    folder.mkdir(exist_ok=True)
    return folder / f"{hashlib.sha256(name.encode()).hexdigest()}.json"


# --- The table ------------------------------------------------------------------------------------


def arrange(draft: Draft, pattern: str = "") -> Scan | None:
    """Puts new files into the table and takes gone ones out; UnclearNames where it must be asked.

    What was renamed, marked or written stays: a new file of a known system joins it. None where a
    whole study folder brought its own table.
    """
    if adopt(draft):
        Draft.objects.filter(pk=draft.pk).update(wishes=None)
        draft.wishes = None
        if not rows_of(draft):
            return arrange(draft, pattern)
        change(draft, lambda top, rows: None, draft.revision, anyway=True)
        return None
    names = list(names_of(draft))
    draft.pattern = pattern
    found = scan(names, pattern)

    def put(top: Table, rows: Rows) -> None:
        rows[:] = merged(rows, stimuli_of(found), set(names))
        _mark_traps(top, rows)
        if draft.wishes is not None:
            _one_rate(draft, top, rows)

    change(draft, put, draft.revision, anyway=True)
    return found


def merged(rows: Rows, scanned: Rows, names: set[str]) -> Rows:
    """The table's own rows whose file is there, and those of new files, sentence by sentence."""
    kept = [row for row in rows if row["file"] in names]
    by_file = {row["file"]: row for row in kept}
    called: dict[str, Counter[str]] = defaultdict(Counter)
    for row in scanned:
        if own := by_file.get(row["file"]):
            called[row["condition"]][own["condition"]] += 1
    texts = {row["item"]: row.get("text", "") for row in kept}
    taken = {row["stimulus"] for row in kept} | {""}
    for row in scanned:
        if row["file"] in by_file:
            continue
        ours = called[row["condition"]].most_common(1)
        system = ours[0][0] if ours else row["condition"]
        key = row["stimulus"]
        while key in taken:
            key = f"{key[:110]}-{len(taken)}"
        taken.add(key)
        new = {**row, "stimulus": key, "condition": system, "text": texts.get(row["item"], "")}
        kept.append({**new, "trap": ""})
    return sorted(kept, key=lambda row: (natural(row["item"]), natural(row["condition"])))


def mark(top: Table, rows: Rows, condition: str, role: str) -> None:
    """A system is compared, or the reference, an anchor, or for traps only."""
    entry = next((c for c in top.get("conditions", []) if c.get("key") == condition), None)
    if entry is None and any(row["condition"] == condition for row in rows):
        entry = {"key": condition}
        top.setdefault("conditions", []).append(entry)
    if entry is None or role not in ("test", "reference", "anchor", "trap"):
        return
    entry["role"] = role
    _mark_traps(top, rows)


def rename(top: Table, rows: Rows, condition: str, name: str) -> bool:
    """Gives a system another name; False where another one has it."""
    name = name.strip()[:80]
    known = {row["condition"] for row in rows}
    if not name or " ~ " in name or (name != condition and name in known):
        return False
    for row in rows:
        if row["condition"] == condition:
            row["condition"] = name
    for entry in top.get("conditions", []):
        if entry.get("key") == condition:
            entry["key"] = name
    for task in top.get("tasks", []):
        for option in ("versus", "reference"):
            if task.get("options", {}).get(option) == condition:
                task["options"][option] = name
    return True


def _mark_traps(top: Table, rows: Rows) -> None:
    role = roles(top)
    for row in rows:
        if role.get(row["condition"]) == "trap":
            row["trap"] = row.get("trap") or TRAP
        elif row.get("trap") == TRAP:
            row["trap"] = ""


def _one_rate(draft: Draft, top: Table, rows: Rows) -> None:
    """Systems of different rates are brought to the lowest, so that no file tells its system."""
    facts = facts_of(draft, [row["file"] for row in rows])
    rates = {f["sample_rate_hz"] for f in facts.values() if "sample_rate_hz" in f}
    if len(rates) > 1 and "sample_rate_hz" not in top.get("study", {}):
        top.setdefault("study", {})["sample_rate_hz"] = max(min(rates), 8000)


def matrix(draft: Draft, page: int, per_page: int) -> Mapping[str, Any]:
    """Sentences of one page with the clip of each system, and the systems with what they lack."""
    rows, role = rows_of(draft), roles(table_of(draft))
    systems = list(dict.fromkeys(row["condition"] for row in rows))
    sentences = list(dict.fromkeys(row["item"] for row in rows))
    cells = {(row["item"], row["condition"]): row for row in rows}
    shown = sentences[(page - 1) * per_page : page * per_page]
    facts = facts_of(draft, [row["file"] for row in rows if row["item"] in set(shown)])
    texts = {row["item"]: row.get("text", "") for row in rows if row.get("text")}

    def clip(item: str, system: str) -> Mapping[str, Any] | None:
        row = cells.get((item, system))
        return row and {"row": row, **facts[row["file"]]}

    return {
        "systems": [
            {
                "key": key,
                "role": role.get(key, "test"),
                "clips": sum((item, key) in cells for item in sentences),
            }
            for key in systems
        ],
        "sentences": [
            {"key": item, "text": texts.get(item, ""), "clips": [clip(item, s) for s in systems]}
            for item in shown
        ],
        "total": len(sentences),
        "clips": len(rows),
        "holes": holes(rows),
        "texts": len(texts),
    }


def holes(rows: Rows) -> int:
    """Clips that are missing of what is compared; traps need not be there for every sentence."""
    rated = {(row["item"], row["condition"]) for row in rows if not row.get("trap")}
    return len({i for i, _ in rated}) * len({c for _, c in rated}) - len(rated)


def not_used(draft: Draft) -> list[tuple[str, str]]:
    """Files that no row names, each with why."""
    used = {row["file"] for row in rows_of(draft)}
    left = [name for name in names_of(draft) if name not in used]
    endings = tuple(f".{each}" for each in EXTENSIONS)
    return [
        (
            name,
            "does not fit the names of the others, or is there twice"
            if name.casefold().endswith(endings)
            else "is no sound file by its ending",
        )
        for name in sorted(left, key=natural)
    ]
