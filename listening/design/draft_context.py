"""Lines heard in context, marked by clicking: what continues what, and what is heard before.

Written as the study folder has it: paragraph and position in stimuli.csv, and one [[settings]].
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from listening.design.draft_toml import Table, roles
from listening.design.scanning import natural
from listening.methods import Method, method_named
from listening.methods.paired import Paired

FORMS = {  # of a setting -> what raters get before the line that they rate
    "T1T1": "the line before, by the same system",
    "R1T1": "the line before, from the reference",
    "Text1T1": "the line before, to read",
}
WITH_REAL = ("R1R1", "Text1R1")  # the reference itself, heard and rated in the same way
OWN_FIELDS = {"real", "synthetic", "conditions", "allow_missing"}
NUMBERED = re.compile(r"(.*?\D)?(\d+)")
Row = dict[str, str]


def form_of(top: Mapping[str, Any]) -> str:
    """The form that was chosen here; empty where there is none, or settings of other kinds."""
    settings = top.get("settings", [])
    if len(settings) != 1 or not settings[0].keys() <= OWN_FIELDS:
        return ""
    names = [name for name in settings[0].get("conditions", []) if name not in WITH_REAL]
    return names[0] if len(names) == 1 and names[0] in FORMS else ""


def places(rows: Sequence[Mapping[str, str]]) -> dict[str, tuple[str, int]]:
    """Sentence -> its paragraph and its line there."""
    return {
        row["item"]: (row["paragraph"], int(row["position"]))
        for row in rows
        if row.get("paragraph") and row.get("position", "").isdecimal()
    }


def continues(rows: list[Row], item: str, wanted: bool) -> None:
    """The sentence goes on where the one above ended; or it begins anew, with those after it."""
    order = list(dict.fromkeys(row["item"] for row in rows))
    at = order.index(item) if item in order else 0
    if at == 0:
        return
    placed = places(rows)
    run = [item]
    if own := placed.get(item):
        follows = (i for i in order if placed.get(i, ("", 0))[0] == own[0])
        run = [i for i in follows if placed[i][1] >= own[1]]
    if wanted:
        paragraph, last = placed.get(order[at - 1], (order[at - 1], 0))
        if not last:
            _set_position(rows, order[at - 1], paragraph, 1)
        start = (last or 1) + 1
    else:
        paragraph, start = item, 1
    for n, each in enumerate(run):
        alone = not wanted and len(run) == 1
        _set_position(rows, each, "" if alone else paragraph, 0 if alone else start + n)
    _forget_alone(rows)


def by_names(rows: list[Row]) -> int:
    """Paragraphs of names that end in a number, like dialogue2_turn3; how many there are."""
    order = sorted({row["item"] for row in rows}, key=natural)
    groups: dict[str, list[str]] = {}
    for item in order:
        if (match := NUMBERED.fullmatch(item)) and re.search(r"\d", match[1] or ""):
            groups.setdefault(re.sub(r"[^\d]*$", "", match[1] or ""), []).append(item)
    groups = {name: items for name, items in groups.items() if len(items) > 1}
    if groups:
        forget(rows)
    for name, items in groups.items():
        for n, item in enumerate(items, start=1):
            _set_position(rows, item, name, n)
    return len(groups)


def forget(rows: list[Row]) -> None:
    for row in rows:
        if row.get("paragraph") or row.get("position"):
            row["paragraph"] = row["position"] = ""


def _set_position(rows: list[Row], item: str, paragraph: str, position: int) -> None:
    for row in rows:
        if row["item"] == item:
            row["paragraph"], row["position"] = paragraph, str(position or "")


def _forget_alone(rows: list[Row]) -> None:
    """A paragraph of one line is none."""
    sizes: dict[str, int] = {}
    for paragraph, _ in places(rows).values():
        sizes[paragraph] = sizes.get(paragraph, 0) + 1
    for item, (paragraph, _) in places(rows).items():
        if sizes[paragraph] == 1:
            _set_position(rows, item, "", 0)


def why_not(top: Mapping[str, Any], rows: Sequence[Mapping[str, str]], form: str) -> str:
    """Why lines cannot be heard so; empty where they can."""
    for task in top.get("tasks", []):
        key = task.get("method", "")
        method = method_named(key) if key in Method.registry else None
        if method is None or method.screen == "parallel" or isinstance(method, Paired):
            return "Comparisons and MUSHRA in context take a folder with [[settings]]."
    if top.get("settings") and not form_of(top):
        return "study.toml has [[settings]] of its own, which this page does not change."
    role = roles(dict(top))
    if not any(role.get(row["condition"], "test") == "test" for row in rows if not row.get("trap")):
        return "There is no system to hear: all are marked."
    if form == "R1T1" and "reference" not in role.values():
        return "Mark the reference first: it speaks the line before."
    if form == "Text1T1" and not all(row.get("text") for row in rows if row.get("paragraph")):
        return "Some lines have no text to read: put the texts in first."
    if form and not places(rows):
        return "Mark first which sentences continue the one above."
    return ""


def choose(top: Table, rows: Sequence[Mapping[str, str]], form: str) -> None:
    """Raters get a line only after the one before it; or, without a form, every line alone."""
    for task in top.get("tasks", []):
        if form_of(top):
            task.pop("conditions", None)
    if form_of(top):
        del top["settings"]
    if form not in FORMS:
        return
    role = roles(top)
    names = dict.fromkeys(row["condition"] for row in rows if not row.get("trap"))
    real = next((name for name in names if role.get(name) == "reference"), "")
    synthetic = [name for name in names if role.get(name, "test") == "test"]
    setting: Table = {"synthetic": synthetic, "conditions": [form]}
    if real:
        setting["real"] = real
        setting["conditions"] = [WITH_REAL[form == "Text1T1"], form]
    there = {(row["item"], row["condition"]) for row in rows if not row.get("trap")}
    if any(
        (item, name) not in there for item in places(rows) for name in [*synthetic, real] if name
    ):
        setting["allow_missing"] = True
    top["settings"] = [setting]
    for task in top.get("tasks", []):
        task["conditions"] = _conditions(setting)


def _conditions(setting: Mapping[str, Any]) -> list[str]:
    systems, labels = setting.get("synthetic", []), []
    for name in setting.get("conditions", []):
        several = name.rstrip("0123456789").endswith("T") and len(systems) > 1
        labels += [f"{name} ({system})" for system in systems] if several else [name]
    return labels


def rated_rows(top: Mapping[str, Any], rows: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """What is rated: rows of the table, or in context the lines that have one before them."""
    rated = [dict(row) for row in rows if not row.get("trap")]
    if not form_of(top):
        return rated
    setting = top["settings"][0]
    speakers = {setting.get("real", ""), *setting.get("synthetic", [])} - {""}
    later = {item for item, (_, line) in places(rows).items() if line > 1}
    return [row for row in rated if row["item"] in later and row["condition"] in speakers]
