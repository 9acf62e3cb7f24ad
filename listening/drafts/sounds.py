"""The table of a draft: which file is which system saying which sentence, and what that is for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from listening.common.condition_names import is_anchor_name, is_reference_name
from listening.common.sound_files import EXTENSIONS
from listening.design import draft_context
from listening.design.draft_toml import FAILED, TRAP, Table, roles
from listening.design.scanning import OF_THE_SYSTEM, Scan, natural, scan, stimuli_of
from listening.drafts.files import SOUNDS, Facts, adopt, facts_of, ignored_of, names_of
from listening.drafts.folder import Rows, change, rows_of, table_of
from listening.drafts.levels import by_system, gain_of, is_number
from listening.methods.after_reference import plays_prompts
from listening.methods.method import PROMPT
from listening.models import Draft

COMPARISONS = ("cmos", "preference", "ab", "abx")  # methods with the option versus
BY = "made_by"  # the column that says how a clip was made, where these pages made it


def arrange(draft: Draft, pattern: str = "") -> Scan | None:
    """Puts new files into the table and takes gone ones out; UnclearNames where it must be asked.

    What was renamed, marked or written stays: a new file of a known system joins it. None where a
    whole study folder brought its own table.
    """
    if adopt(draft):
        draft.wishes = None
        if not rows_of(draft):
            return arrange(draft, pattern)
        change(draft, lambda top, rows: None, draft.revision, anyway=True)
        return None
    names = list(names_of(draft))
    draft.pattern = pattern
    own = {row["file"] for row in rows_of(draft) if row.get(BY)}
    scanned = scan([name for name in names if name not in own], pattern)

    def put(top: Table, rows: Rows) -> None:
        rows[:] = merged(rows, stimuli_of(scanned), set(names))
        _mark_traps(top, rows)
        if draft.wishes is not None:
            _one_rate(draft, top, rows)

    change(draft, put, draft.revision, anyway=True)
    return scanned


def merged(rows: Rows, scanned: Rows, names: set[str]) -> Rows:
    """The table's own rows whose file is there, and those of new files, sentence by sentence."""
    merged_rows = [row for row in rows if row["file"] in names]
    by_file = {row["file"]: row for row in merged_rows}
    called: dict[str, Counter[str]] = defaultdict(Counter)
    for row in scanned:
        if own := by_file.get(row["file"]):
            called[row["condition"]][own["condition"]] += 1
    texts = {row["item"]: row.get("text", "") for row in merged_rows}
    taken = {row["stimulus"] for row in merged_rows} | {""}
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
        merged_rows.append({**new, "trap": ""})
    return sorted(merged_rows, key=lambda row: (natural(row["item"]), natural(row["condition"])))


def mark(top: Table, rows: Rows, condition: str, role: str) -> None:
    """A system is compared, or the reference, an anchor, or for traps only."""
    entry = next((c for c in top.get("conditions", []) if c.get("key") == condition), None)
    if entry is None and any(row["condition"] == condition for row in rows):
        entry = {"key": condition}
        top.setdefault("conditions", []).append(entry)
    if entry is None or role not in offered_roles(top, rows):
        return
    entry["role"] = role
    _mark_traps(top, rows)


def offered_roles(top: Table, rows: Rows) -> tuple[str, ...]:
    """Traps that are marked here must get a low score: of pairs and whole screens none can."""
    methods = {task.get("method") for task in top.get("tasks", [])}
    marked = "trap" in roles(top).values()
    marked_prompt = PROMPT in roles(top).values()
    traps = ("trap",) if marked or methods & FAILED.keys() else ()
    prompts = (PROMPT,) if marked_prompt or any(map(plays_prompts, methods)) else ()
    return ("test", "reference", "anchor", *prompts, *traps)


def suggested_role(role: Mapping[str, str], key: str) -> str:
    """The role that the name of a system under test suggests; empty: none, or it is taken.

    ``role`` has the roles that were given, by system.
    """
    if role.get(key, "test") != "test":
        return ""
    if is_reference_name(key):
        return "" if "reference" in role.values() else "reference"
    return "anchor" if is_anchor_name(key, low_pass=True) else ""


def compare_with(top: Table, rows: Rows, condition: str) -> None:
    """Comparisons set all systems against this one; pressed again, every system against each."""
    if not any(row["condition"] == condition for row in rows):
        return
    wanted = condition not in versus(top)
    for options in _comparison_options(top):
        options.pop("pairs", None)
        if wanted:
            options["versus"] = condition
        else:
            options.pop("versus", None)


def versus(top: Table) -> set[str]:
    """The systems that comparisons set all others against."""
    return {options["versus"] for options in _comparison_options(top) if "versus" in options}


def compares(top: Table) -> bool:
    return bool(_comparison_options(top))


def _comparison_options(top: Table) -> list[Table]:
    """The options of tasks that compare two systems."""
    tasks = top.get("tasks", [])
    return [t.setdefault("options", {}) for t in tasks if t.get("method") in COMPARISONS]


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


def matrix(draft: Draft, page: int, per_page: int, facts: Mapping[str, Facts]) -> dict[str, Any]:
    """Sentences of one page with the clip of each system, and the systems with what they lack."""
    top, rows = table_of(draft), rows_of(draft)
    role, against, measured = roles(top), versus(top), by_system(rows, facts)
    systems = list(dict.fromkeys(row["condition"] for row in rows))
    sentences = list(dict.fromkeys(row["item"] for row in rows))
    cells = {  # of several runs the first, which raters get
        (row["item"], row["condition"]): row for row in rows if row.get("run", "") in ("", "1")
    }
    shown = sentences[(page - 1) * per_page : page * per_page]
    texts = {row["item"]: row.get("text", "") for row in rows if row.get("text")}
    counts = Counter(row["condition"] for row in rows)
    target = top.get("study", {}).get("loudness_lufs")

    def clip(item: str, system: str) -> Mapping[str, Any] | None:
        row = cells.get((item, system))
        known = facts[row["file"]] if row else {}
        gain = gain_of(target, known) if "sample_rate_hz" in known and is_number(target) else None
        return row and {"row": row, "gain_db": gain, **known}

    placed = draft_context.places(rows)
    return {
        "systems": [
            {
                "key": key,
                "role": role.get(key, "test"),
                "suggested": suggested_role(role, key),
                "clips": counts[key],
                "versus": key in against,
                "made": any(row.get(BY) for row in rows if row["condition"] == key),
                "levels": measured[key],
            }
            for key in systems
        ],
        "sentences": [
            {
                "key": item,
                "text": texts.get(item, ""),
                "place": placed.get(item),
                "clips": [clip(item, s) for s in systems],
            }
            for item in shown
        ],
        "total": len(sentences),
        "clips": len(rows),
        "holes": holes(rows),
        "texts": len(texts),
        "paragraphs": len({paragraph for paragraph, _ in placed.values()}),
    }


@dataclass(frozen=True)
class Holes:
    """What a system lacks of the sentences that are compared."""

    system: str
    sentences: tuple[str, ...]
    example: str  # how a missing file would be named; empty where no name shows it


def holes(rows: Rows) -> list[Holes]:
    """Clips that are missing of what is compared; traps need not be there for every sentence."""
    rated = [row for row in rows if not row.get("trap")]
    there = {(row["item"], row["condition"]) for row in rated}
    sentences = dict.fromkeys(row["item"] for row in rated)
    all_holes = []
    for system in dict.fromkeys(row["condition"] for row in rated):
        lacking = tuple(item for item in sentences if (item, system) not in there)
        if lacking:
            all_holes.append(Holes(system, lacking, _name_for(rated, system, lacking[0])))
    return all_holes


def _name_for(rated: Rows, system: str, item: str) -> str:
    """The name of another sentence of the system, with this sentence in its place."""
    for row in rated:
        name = row["file"].removeprefix(f"{SOUNDS}/")
        if row["condition"] == system and not row.get(BY) and row["item"] in name:
            before, _, after = name.rpartition(row["item"])
            return f"{before}{item}{after}"
    return ""


def not_used(draft: Draft) -> list[tuple[str, str]]:
    """Files that no row names, each with why."""
    used = {row["file"] for row in rows_of(draft)}
    left = [name for name in names_of(draft) if name not in used]
    endings = tuple(f".{each}" for each in EXTENSIONS)
    others = [(name, OF_THE_SYSTEM) for name in ignored_of(draft)]
    return others + [
        (
            name,
            "does not fit the names of the others, or is there twice"
            if name.casefold().endswith(endings)
            else "does not have the extension of an audio file",
        )
        for name in sorted(left, key=natural)
    ]
