"""study.toml of a draft as a table: begun from a preset, changed field by field, fitted to sounds.

A field that holds something wrong keeps it: what is wrong is said by the same reading as at import.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from listening.common.plain_toml import read_toml
from listening.common.plugins import plugin_keys
from listening.design.studyfile.drawing import trials_if_any
from listening.methods import Method, PlannedTrial, StimulusRef

CLIPS = 20  # that a rater hears of a task, unless its researcher says otherwise
LOUDNESS_LUFS = -23
TRAP = "flawed"  # the kind of trap that a draft marks by clicking
FAILED = {"mos": ["1", "2"], "att": ["Machine"]}  # method -> what a flawed clip must be called
WELCOME = """Thank you for lending us your ears.

You will hear short recordings and say how they sound to you. It takes about {minutes} minutes.

You need headphones and a quiet room."""
OF_THE_DEMO = ("conditions", "dimensions", "allow_missing", "examples", "training", "traps")
Table = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """What a study can be begun as: tasks of a preset, or one with a plug-in's method."""

    title: str
    what: str
    preset: str
    tasks: tuple[str, ...]
    method: str = ""


KINDS = {
    "mos": Kind("MOS", "One clip at a time, from 1 to 5: how natural is it?", "mos", ("mos",)),
    "cmos": Kind(
        "CMOS / preference",
        "Two clips of one sentence: is the second better or worse, and how much?",
        "cmos",
        ("cmos",),
    ),
    "ab": Kind(
        "AB / ABX",
        "Two clips: which is better; and, as a second task, do they sound different at all?",
        "ab",
        ("ab", "abx"),
    ),
    "mushra": Kind(
        "MUSHRA",
        "All systems on one screen, from 0 to 100, against a reference that you mark.",
        "mushra",
        ("mushra",),
    ),
    "mushra_nmr": Kind(
        "MUSHRA without a reference",
        "All systems on one screen, on three scales from 0 to 100. No reference is needed.",
        "mushra_nmr",
        ("mushra",),
    ),
    "codec": Kind(
        "Codec, MUSHRA and BS.1116",
        "All rates on one screen against a reference; and, as a second task, small impairments.",
        "codec",
        ("mushra", "impairment"),
    ),
    "att": Kind(
        "Audio Turing Test",
        "One clip at a time: human, unclear or machine, with a reason.",
        "att",
        ("att",),
    ),
    "long_form": Kind(
        "Long form",
        "Whole passages, one file each, in half steps. The paper's ten conditions take a folder.",
        "long_form",
        ("paragraphs",),
    ),
    "long_form_preference": Kind(
        "Long form, two systems",
        "Whole passages in pairs: which one sounds more natural, and how clearly?",
        "long_form_preference",
        ("paragraphs",),
    ),
    "long_form_mushra": Kind(
        "Long form, MUSHRA",
        "Whole passages of all systems on one screen, from 0 to 100, with the reference.",
        "long_form_mushra",
        ("paragraphs",),
    ),
    "nvv": Kind(
        "Nonverbal sounds",
        "Laughter, breaths, sighs: five questions about a clip whose text shows where they belong.",
        "nvv",
        ("tags",),
    ),
    "p808": Kind(
        "P.808 ACR",
        "Speech quality from 1 to 5, with hearing and place checked first.",
        "p808",
        ("acr",),
    ),
    "dcr": Kind(
        "P.808 DCR",
        "The reference, then a clip: how much worse is it? Hearing and place are checked first.",
        "p808",
        ("dcr",),
    ),
    "ccr": Kind(
        "P.808 CCR",
        "The reference and a clip, in either order: which is better, and how much?",
        "p808",
        ("ccr",),
    ),
    "smos": Kind(
        "SMOS",
        "A prompt of the speaker, then a clip: how similar is the speaker, from 1 to 5?",
        "voice_cloning",
        ("similarity",),
    ),
    "speaker_similarity": Kind(
        "Same speaker",
        "A prompt, then a clip: is it the same speaker, and how sure are raters?",
        "voice_conversion",
        ("target-similarity",),
    ),
    "p835": Kind(
        "P.835",
        "Noisy speech: the speech, the background and all of it, each from 1 to 5.",
        "p808",
        ("p835",),
    ),
}


def all_kinds() -> dict[str, Kind]:
    """The kinds of studies to begin with: those of presets, and one for each plug-in's method."""
    of_plugins = {
        key: Kind(method.title, method.default_question, "mos", ("mos",), key)
        for key in plugin_keys(Method.registry)
        if key not in KINDS and (method := Method.registry[key])
    }
    return {**KINDS, **of_plugins}


def begun(preset: str, kind: Kind, key: str) -> Table:
    """study.toml of a preset without what speaks of the demo's sounds."""
    top = read_toml(preset)
    top.pop("conditions", None)
    top.pop("settings", None)
    study = top["study"]
    study["key"] = key
    study["loudness_lufs"] = LOUDNESS_LUFS
    study.pop("sample_rate_hz", None)
    study["texts"]["welcome"] = WELCOME
    study["texts"].pop("debrief", None)
    top["tasks"] = [task for task in top["tasks"] if task["key"] in kind.tasks]
    for task in top["tasks"]:
        *before, last = task.get("instructions", "").strip().split("\n\n")
        if task.get("examples") and last.endswith(":"):
            task["instructions"] = "\n\n".join(before)  # the last words announce the examples
        for name in OF_THE_DEMO:
            task.pop(name, None)
        for name in ("versus", "pairs", "reference"):
            task.get("options", {}).pop(name, None)
        task["blocks_per_session"] = 1
        task["block_size"] = CLIPS
    if kind.method:
        study["title"] = kind.title
        top["tasks"] = [_task_of_plugin(kind, task) for task in top["tasks"]]
    return top


def _task_of_plugin(kind: Kind, task: Table) -> Table:
    """A task with the method's own question and scale, and the plan of a preset's task."""
    of_preset = ("options", "criteria", "justification")
    plan = {name: value for name, value in task.items() if name not in of_preset}
    words = {"title": kind.title, "instructions": kind.what}
    return {**plan, **words, "key": kind.method, "method": kind.method}


# --- Sounds ---------------------------------------------------------------------------------------


def roles(top: Table) -> dict[str, str]:
    return {c["key"]: c.get("role", "test") for c in top.get("conditions", []) if "key" in c}


def fit_to(
    top: Table,
    rows: Sequence[Mapping[str, str]],
    wishes: Mapping[str, int] | None = None,
    rated: Sequence[Mapping[str, str]] | None = None,
) -> None:
    """The conditions are those of the table; traps, gaps and sizes of blocks follow from it.

    A role that was given stays, and goes with its condition. `wishes` has by task how many screens
    a rater was to have; there may be fewer, and blocks are made even. `rated` are the rows
    that raters answer about: all but traps, unless lines are heard in context.
    """
    by_key = {c.get("key"): c for c in top.get("conditions", [])}
    names = dict.fromkeys(row["condition"] for row in rows)
    top["conditions"] = [by_key.get(name, {"key": name}) for name in names]
    if not rows:
        top.pop("conditions")
    trapped = any(row.get("trap") == TRAP for row in rows)
    if rated is None:
        rated = [row for row in rows if not row.get("trap")]
    for task in top.get("tasks", []):
        wish = (wishes or {}).get(task.get("key", ""), CLIPS)
        _fit_task(task, rated, roles(top), wish, trapped)


def _fit_task(
    task: Table,
    rated: Sequence[Mapping[str, str]],
    role: Mapping[str, str],
    wish: int,
    trapped: bool,
) -> None:
    items = {row["item"] for row in rated}
    conditions = {row["condition"] for row in rated}
    options = task.get("options", {})
    for name in ("versus", "reference"):
        if options.get(name) not in conditions:
            options.pop(name, None)
    if len({(r["item"], r["condition"]) for r in rated}) < len(items) * len(conditions):
        task["allow_missing"] = True
    else:
        task.pop("allow_missing", None)
    places = len(table_trials(task, rated, role)) if task.get("repeat_items") else len(items)
    if places and isinstance(task.get("block_size"), int) and wish > 0:
        task["block_size"] = ceil(places / ceil(places / wish))
    _fit_traps(task, trapped)


def _fit_traps(task: Table, trapped: bool) -> None:
    """One flawed clip beside each ten, or fewer where a rater hears fewer."""
    labels = FAILED.get(task.get("method", ""))
    if not (trapped and labels and isinstance(task.get("block_size"), int)):
        task.pop("traps", None)
        return
    size, own = task["block_size"], task.get("traps", {})
    if own.get("kinds") and size % (own.get("per") or 1) == 0:
        return  # as its researcher set them
    per = next(n for n in range(min(10, size), 0, -1) if size % n == 0)
    per = size if per < 5 else per
    kind = {"kind": TRAP, "count": 1, "expected": labels, "pass_at_least": 1}
    task["traps"] = {"placement": "outside", "kinds": [kind]} | own | {"per": per}


def table_trials(
    task: Table, rated: Sequence[Mapping[str, str]], role: Mapping[str, str]
) -> list[PlannedTrial]:
    """Screens that the method makes of the table; none where it cannot yet."""
    items = {item: n for n, item in enumerate(dict.fromkeys(row["item"] for row in rated))}
    refs = [
        StimulusRef(n, items[r["item"]], r["condition"], role.get(r["condition"], "test"))
        for n, r in enumerate(rated)
    ]
    return trials_if_any(task.get("method", ""), refs, task.get("options", {}))


# --- Places ---------------------------------------------------------------------------------------


def value_at(top: Any, way: Any) -> Any:
    """What stands there; None where nothing does."""
    table = top
    for name in way:
        if isinstance(table, list):
            table = entry_of(table, name)
        elif isinstance(table, dict):
            table = table.get(name)
        else:
            return None
    return table


def entry_of(entries: list[Any], name: str) -> Any:
    """By its place, or by its key."""
    if name.isdecimal():
        return entries[int(name)] if int(name) < len(entries) else None
    return next((e for e in entries if isinstance(e, dict) and e.get("key") == name), None)
