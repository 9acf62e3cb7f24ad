"""A rule as text, such as answer_time:minimum_ms=800, and back."""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import fields
from typing import Any
from urllib.parse import quote, unquote

from analysis.statistics.screening.rule import Rule
from analysis.statistics.screening.trap_rules import AttTraps, TaskTraps, needed_of, task_traps

_UNSAFE = re.compile(r"[%,=+\s]")


def rule_from(text: str) -> Rule:
    """A rule from text such as ``answer_time:minimum_ms=800`` or ``att_traps:flawed=1/1``.

    Several values of a parameter stand with a plus between (``leave_out=withdrawn+rejected``). For
    att_traps the parameters are kinds with passes/of, for task_traps task/kind with passes/of;
    another rule without parameters has its defaults. A version (``answer_time@1:minimum_ms=800``)
    must be that of this installation. Raises ValueError with what would be right.
    """
    named, _, rest = unicodedata.normalize("NFC", text).partition(":")
    key, _, version = named.partition("@")
    if key not in Rule.registry:
        raise ValueError(f"no rule {key!r}; known are {', '.join(Rule.registry)}")
    rule = Rule.registry[key]
    if version not in ("", rule.version):
        mismatch = f"rule {key} is at version {rule.version} here, not {version!r}"
        raise ValueError(f"{mismatch}; it may leave out other ratings: take the version away")
    pairs = [part.partition("=")[::2] for part in rest.split(",") if part]
    if rule is AttTraps:
        return AttTraps(needed=tuple(needed_of(*pair) for pair in pairs)) if pairs else AttTraps()
    if rule is TaskTraps:
        return task_traps(pairs)
    known: dict[str, Any] = {field.name: field.default for field in fields(rule)}
    try:
        values = {name: _value(value, type(known[name])) for name, value in pairs}
    except (KeyError, ValueError):
        names = ", ".join(f"{name}=..." for name in known) or "no parameters"
        raise ValueError(f"rule {key!r} takes {names}, not {rest!r}") from None
    return rule(**values)


def rule_text(rule: Rule) -> str:
    """The text from which `rule_from` makes the rule again."""
    if isinstance(rule, AttTraps):
        return f"{rule.key}:" + ",".join(
            f"{kind}={p}/{set_size}" for kind, p, set_size in rule.needed
        )
    if isinstance(rule, TaskTraps):
        return f"{rule.key}:{rule.text()}"
    parameters = [(field.name, field.default, getattr(rule, field.name)) for field in fields(rule)]
    text = ",".join(
        f"{name}={_text(value)}"
        for name, default, value in parameters
        if value not in ("", ()) or value != default
    )
    return f"{rule.key}:{text}" if text else rule.key


def versioned_text(rule: Rule) -> str:
    """The rule's text with its version, to be written down before the data come in."""
    return rule_text(rule).replace(rule.key, f"{rule.key}@{rule.version}", 1)


def declared_text(text: str) -> str:
    """A rule as a study keeps it, with its version; raises ValueError with what would be right."""
    return versioned_text(rule_from(text))


def as_it_is_here(text: str) -> Rule:
    """The rule of a text, whatever version it names: see `other_version`."""
    named, colon, rest = text.partition(":")
    return rule_from(named.partition("@")[0] + colon + rest)


def other_version(text: str) -> str:
    """The version that the text names, where this installation has another; else empty."""
    named = text.partition(":")[0]
    version = named.partition("@")[2]
    return version if version not in ("", as_it_is_here(text).version) else ""


def _value(text: str, kind: type[Any]) -> Any:
    if kind is tuple:
        return tuple(unquote(part) for part in text.split("+") if part)
    if kind is str:
        return unquote(text)
    value = kind(text)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(text)
    return value


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return "+".join(map(_quoted, value))
    return _quoted(value) if isinstance(value, str) else str(value)


def _quoted(text: str) -> str:
    return _UNSAFE.sub(lambda match: quote(match[0], safe=""), text)
