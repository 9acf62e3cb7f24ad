"""The fields of study.toml that the pages of a draft change, one by one, by their names.

A field that holds something wrong keeps it: what is wrong is said by the same reading as at import.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from listening.design.consent import ETHICS
from listening.design.draft_ticks import TICKS
from listening.design.draft_toml import Table, entry_of, value_at
from listening.design.studyfile.entries import OUTCOMES

TAG = r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2}"
WORDS = "(title|texts\\.(welcome|consent|contact|end|debrief|comment_prompt))"
KEYED = {"checks": ("study", "checks"), "sources": ("sources",)}  # lists whose entries have keys


class UnknownField(ValueError):
    """No page asks for this change."""


# --- What was typed -------------------------------------------------------------------------------


def _text(value: Any) -> str:
    return str(value).replace("\r\n", "\n")


def _whole(value: Any) -> int | str:
    """A number where it is one; else the words as they are, which the reading then names."""
    words = str(value).strip()
    return int(words) if re.fullmatch(r"-?\d{1,9}", words) else words


def _number(value: Any) -> float | int | str:
    words = str(value).strip().replace(",", ".")
    if not re.fullmatch(r"-?\d{1,9}(\.\d{1,6})?", words):
        return words
    return int(float(words)) if float(words).is_integer() else float(words)


def _lines(value: Any) -> list[str]:
    return [line.strip() for line in str(value).splitlines() if line.strip()]


def _labels(value: Any) -> list[str]:
    return [word.strip() for word in re.split(r"[,|\n]", str(value)) if word.strip()]


FIELDS: Mapping[str, Callable[[Any], Any]] = {
    r"study\.(key|title|language|task_plan|ends)": _text,
    r"study\.(sample_rate_hz|break_every|erase_after_days|sessions_per_rater)": _whole,
    r"study\.(loudness_lufs|lease_minutes)": _number,
    r"study\.erase_on": _text,
    r"study\.hypotheses": _lines,
    r"study\.erase_reasons": bool,
    r"study\.texts\.(welcome|consent|consent_version|contact|end|debrief|comment_prompt)": _text,
    rf"study\.completion_codes\.({'|'.join(OUTCOMES)})": _text,
    rf"study\.ethics\.({'|'.join(ETHICS)})": _text,
    r"study\.payment\.per_hour": _number,
    r"study\.payment\.(currency|by)": _text,
    rf"study\.translations\.{TAG}\.{WORDS}": _text,
    r"tasks\.\d+\.(title|instructions)": _text,
    r"tasks\.\d+\.(ratings_per_stimulus|block_size|blocks_per_(session|rater)|repeats)": _whole,
    r"tasks\.\d+\.show_(text|caption)": bool,
    r"tasks\.\d+\.(repeat_items|allow_missing|autoplay|reopen_invalid)": bool,
    r"tasks\.\d+\.criteria\.\d+\.(question|help_text)": _text,
    r"tasks\.\d+\.options\.(points|reach)": _whole,
    r"tasks\.\d+\.options\.step": _number,
    r"tasks\.\d+\.options\.tie": bool,
    r"tasks\.\d+\.options\.(versus|reference)": _text,
    r"tasks\.\d+\.options\.names\.-?[^.]{1,40}(\.\d+)?": _text,
    r"tasks\.\d+\.justification\.min_chars": _whole,
    r"tasks\.\d+\.justification\.prompt": _text,
    r"tasks\.\d+\.justification\.(good|poor)": _lines,
    r"tasks\.\d+\.traps\.per": _whole,
    r"tasks\.\d+\.traps\.placement": _text,
    r"tasks\.\d+\.traps\.kinds\.\d+\.(count|pass_at_least)": _whole,
    r"tasks\.\d+\.traps\.kinds\.\d+\.expected": _labels,
    rf"tasks\.\d+\.translations\.{TAG}\.(title|instructions|justification\.prompt)": _text,
    rf"tasks\.\d+\.translations\.{TAG}\.criteria\.[-\w]+\.(question|help_text)": _text,
    rf"tasks\.\d+\.translations\.{TAG}\.criteria\.[-\w]+\.names\.-?[^.]{{1,40}}(\.\d+)?": _text,
    r"checks\.[-\w]+\.(trials|pass_at_least|attempts)": _whole,
    r"checks\.[-\w]+\.on_fail": _text,
    r"sources\.[-\w]+\.quota": _whole,
    r"sources\.[-\w]+\.title": _text,
}


# --- Fields ---------------------------------------------------------------------------------------


def put(top: Table, name: str, value: Any) -> None:
    """Sets one field; an empty value takes it away. UnknownField where no page asks for it."""
    if name in TICKS:
        TICKS[name].put(top, value)
        return
    if found := REASON.fullmatch(name):
        return _put_reasons(_inside(top, ("tasks", found[1]), name), str(value))
    clean = next((kind for known, kind in FIELDS.items() if re.fullmatch(known, name)), None)
    if clean is None:
        raise UnknownField(name)
    *way, last = _way(name)
    table = _inside(top, way, name)
    written = clean(value)
    if written in ("", False) or written == []:
        table.pop(last, None)
    else:
        table[last] = written
    if name == "study.texts.consent":  # who agreed to what is told apart by it
        table["consent_version"] = _next_version(str(table.get("consent_version", "0")))


def shown(top: Table, name: str) -> Any:
    """The value of a field as its page has it: words, or whether it is ticked."""
    if name in TICKS:
        return TICKS[name].shown(top)
    if found := REASON.fullmatch(name):
        return reasons_of(value_at(top, ("tasks", found[1])) or {})
    value = value_at(top, _way(name))
    if isinstance(value, bool):
        return value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "\n".join(value)
    return "" if value is None or isinstance(value, dict | list) else str(value)


def _way(name: str) -> list[str]:
    """The names on the way to a field; a label may hold a point."""
    before, names, label = name.partition(".names.")
    first, *rest = before.split(".")
    way = [*KEYED.get(first, (first,)), *rest]
    return [*way, "names", label] if names else way


def _inside(top: Table, way: Any, name: str) -> Table:
    table: Any = top
    for each in way:
        if isinstance(table, list):
            table = entry_of(table, each)
        elif isinstance(table, dict):
            table = table.setdefault(each, {})
        if not isinstance(table, dict | list):
            raise UnknownField(name)
    if not isinstance(table, dict):
        raise UnknownField(name)
    return table


def _next_version(version: str) -> str:
    return str(int(version) + 1) if version.isdecimal() and len(version) < 20 else f"{version}+"


# --- Reasons: a table that is there or not --------------------------------------------------------

REASON = re.compile(r"tasks\.(\d+)\.reasons")


def reasons_of(task: Mapping[str, Any]) -> str:
    """Whether a task asks for reasons: "", optional or required; "usual" where it does not say."""
    own = task.get("justification")
    if own is None:
        return "usual"
    return "required" if own.get("required", True) else "optional"


def _put_reasons(task: Table, wanted: str) -> None:
    own = task.get("justification", {})
    if wanted in ("required", "optional"):
        task["justification"] = {**own, "required": wanted == "required"}
    else:
        task.pop("justification", None)
