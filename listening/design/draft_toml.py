"""study.toml of a draft as a table: begun from a preset, changed field by field, fitted to sounds.

A field that holds something wrong keeps it: what is wrong is said by the same reading as at import.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from listening.methods import method_named
from listening.methods.paired import Paired

CLIPS = 20  # that a rater hears of a task, unless its researcher says otherwise
LOUDNESS_LUFS = -23
TRAP = "flawed"  # the kind of trap that a draft marks by clicking
FAILED = {"mos": ["1", "2"], "att": ["Machine"]}  # method -> what a flawed clip must be called
WELCOME = """Thank you for lending us your ears.

You will hear short recordings and say how they sound to you. It takes about {minutes} minutes.

You need headphones and a quiet room."""
OF_THE_DEMO = ("conditions", "dimensions", "allow_missing", "examples", "training", "traps")
Table = dict[str, Any]


class UnknownField(ValueError):
    """No page asks for this change."""


@dataclass(frozen=True)
class Kind:
    """What a study can be begun as: tasks of a preset."""

    title: str
    what: str
    preset: str
    tasks: tuple[str, ...]


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
        "Two clips: which is better; and, as a second task, can they be told apart at all?",
        "ab",
        ("ab", "abx"),
    ),
    "mushra": Kind(
        "MUSHRA",
        "All systems on one screen, from 0 to 100, against a reference that you mark.",
        "mushra",
        ("mushra",),
    ),
    "att": Kind(
        "Audio Turing Test",
        "One clip at a time: human, unclear or machine, with a reason.",
        "att",
        ("att",),
    ),
    "long_form": Kind(
        "Long form",
        "Whole passages, one file each, in half steps. Sentences heard in context take a folder.",
        "long_form",
        ("paragraphs",),
    ),
    "nvv": Kind(
        "Nonverbal sounds",
        "Laughter, breaths, sighs: five questions about a clip whose text shows where they belong.",
        "nvv",
        ("tags",),
    ),
    "p808": Kind(
        "P.808",
        "Speech quality from 1 to 5, with hearing and place checked first. Other tasks take a "
        "folder.",
        "p808",
        ("acr",),
    ),
}


def begun(preset: str, kind: Kind, key: str) -> Table:
    """study.toml of a preset without what speaks of the demo's sounds."""
    top = tomllib.loads(preset)
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
    return top


# --- Fields ---------------------------------------------------------------------------------------


def _text(value: Any) -> str:
    return str(value).replace("\r\n", "\n")


def _whole(value: Any) -> int | str:
    """A number where it is one; else the words as they are, which the reading then names."""
    words = str(value).strip()
    return int(words) if re.fullmatch(r"-?\d{1,9}", words) else words


def _number(value: Any) -> float | str:
    words = str(value).strip().replace(",", ".")
    return float(words) if re.fullmatch(r"-?\d{1,9}(\.\d{1,6})?", words) else words


def _numeral(value: Any) -> float | str:
    number = _number(value)
    return int(number) if isinstance(number, float) and number.is_integer() else number


FIELDS: Mapping[str, Callable[[Any], Any]] = {
    r"study\.(key|title|language)": _text,
    r"study\.(sample_rate_hz|break_every|erase_after_days)": _whole,
    r"study\.erase_on": _text,
    r"study\.erase_reasons": bool,
    r"study\.loudness_lufs": _numeral,
    r"study\.texts\.(welcome|consent|consent_version|contact|end|debrief|comment_prompt)": _text,
    r"study\.completion_codes\.(complete|screened_out)": _text,
    r"tasks\.\d+\.(title|instructions)": _text,
    r"tasks\.\d+\.(ratings_per_stimulus|block_size)": _whole,
    r"tasks\.\d+\.(repeat_items|show_text|allow_missing)": bool,
    r"tasks\.\d+\.criteria\.\d+\.(question|help_text)": _text,
    r"tasks\.\d+\.options\.(points|reach)": _whole,
    r"tasks\.\d+\.options\.step": _numeral,
    r"tasks\.\d+\.options\.tie": bool,
    r"tasks\.\d+\.options\.(versus|reference)": _text,
    r"tasks\.\d+\.options\.names\.-?[A-Za-z0-9.]{1,8}": _text,
}


def put(top: Table, path: str, value: Any) -> None:
    """Sets one field; an empty value takes it away. UnknownField where no page asks for it."""
    clean = next((kind for known, kind in FIELDS.items() if re.fullmatch(known, path)), None)
    if clean is None:
        raise UnknownField(path)
    *way, last = path.split(".", 4) if ".names." in path else path.split(".")
    table: Any = top
    for name in way:
        if isinstance(table, list):
            if int(name) >= len(table):
                raise UnknownField(path)
            table = table[int(name)]
        else:
            table = table.setdefault(name, {})
    written = clean(value)
    if written == "" or written is False:
        table.pop(last, None)
    else:
        table[last] = written
    if path == "study.texts.consent":  # who agreed to what is told apart by it
        table["consent_version"] = _next_version(str(table.get("consent_version", "0")))


def _next_version(version: str) -> str:
    return str(int(version) + 1) if version.isdecimal() else f"{version}+"


def toggle_headphones(top: Table, wanted: bool) -> None:
    checks = [c for c in top["study"].get("checks", []) if c.get("key") != "huggins"]
    top["study"]["checks"] = checks + ([{"key": "huggins"}] if wanted else [])


def remove_task(top: Table, place: int) -> None:
    """The last one stays: a study asks something."""
    if 0 <= place < len(top.get("tasks", [])) and len(top["tasks"]) > 1:
        del top["tasks"][place]


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
    given = {c.get("key"): c for c in top.get("conditions", [])}
    names = dict.fromkeys(row["condition"] for row in rows)
    top["conditions"] = [given.get(name, {"key": name}) for name in names]
    if not rows:
        top.pop("conditions")
    trapped = any(row.get("trap") == TRAP for row in rows)
    if rated is None:
        rated = [row for row in rows if not row.get("trap")]
    for task in top.get("tasks", []):
        _fit_task(task, rated, trapped, (wishes or {}).get(task.get("key", ""), CLIPS))


def _fit_task(task: Table, rated: Sequence[Mapping[str, str]], trapped: bool, wish: int) -> None:
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
    places = trials_of(task, rated) if task.get("repeat_items") else len(items)
    if places and isinstance(task.get("block_size"), int) and wish > 0:
        task["block_size"] = ceil(places / ceil(places / wish))
    _fit_traps(task, trapped)


def _fit_traps(task: Table, trapped: bool) -> None:
    """One flawed clip beside each ten, or fewer where a rater hears fewer."""
    labels = FAILED.get(task.get("method", ""))
    if not (trapped and labels and isinstance(task.get("block_size"), int)):
        task.pop("traps", None)
        return
    size = task["block_size"]
    per = next(n for n in range(min(10, size), 0, -1) if size % n == 0)
    per = size if per < 5 else per
    kind = {"kind": TRAP, "count": 1, "expected": labels, "pass_at_least": 1}
    task["traps"] = {"per": per, "placement": "outside", "kinds": [kind]}


def trials_of(task: Table, rated: Sequence[Mapping[str, str]]) -> int:
    """Screens that a task makes of the table, each to be rated so often as the task wants."""
    items = {row["item"] for row in rated}
    conditions = len({row["condition"] for row in rated})
    try:
        method = method_named(task.get("method", ""))
    except KeyError:
        return 0
    if method.screen == "parallel":
        return len(items)
    if isinstance(method, Paired):
        against = task.get("options", {}).get("versus")
        return len(items) * (conditions - 1 if against else conditions * (conditions - 1) // 2)
    return len(rated)
