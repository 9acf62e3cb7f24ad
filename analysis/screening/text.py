"""A rule as text, such as answer_time:minimum_ms=800, and back."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from analysis.screening.rule import Rule, rules
from analysis.screening.single import SessionStatus
from analysis.screening.traps import AttTraps, TaskTraps, needed_of, task_traps


def rule_from(text: str) -> Rule:
    """A rule from text such as ``answer_time:minimum_ms=800`` or ``att_traps:flawed=1/1``.

    For att_traps the parameters are kinds with passes/of, for task_traps task/kind with passes/of;
    another rule without parameters has its defaults.
    """
    key, _, rest = text.partition(":")
    if key not in rules():
        raise ValueError(f"no rule {key!r}; known are {', '.join(rules())}")
    pairs = [part.partition("=")[::2] for part in rest.split(",") if part]
    rule = rules()[key]
    if rule is AttTraps:
        return AttTraps(needed=tuple(needed_of(*pair) for pair in pairs)) if pairs else AttTraps()
    if rule is TaskTraps:
        return task_traps(pairs)
    if rule is SessionStatus and pairs:
        return SessionStatus(leave_out=tuple(pairs[0][1].split("+")))
    known: dict[str, Any] = {field.name: type(field.default) for field in fields(rule)}
    try:
        return rule(**{name: known[name](value) for name, value in pairs})
    except (KeyError, ValueError):
        names = ", ".join(f"{name}=..." for name in known) or "no parameters"
        raise ValueError(f"rule {key!r} takes {names}, not {rest!r}") from None


def rule_text(rule: Rule) -> str:
    """The text from which `rule_from` makes the rule again."""
    if isinstance(rule, AttTraps):
        return f"{rule.key}:" + ",".join(f"{kind}={p}/{of}" for kind, p, of in rule.needed)
    if isinstance(rule, TaskTraps):
        return f"{rule.key}:{rule.text()}"
    if isinstance(rule, SessionStatus):
        return f"{rule.key}:leave_out=" + "+".join(rule.leave_out)
    told = ",".join(f"{name}={value}" for name, value in rule.parameters().items())
    return f"{rule.key}:{told}" if told else rule.key
