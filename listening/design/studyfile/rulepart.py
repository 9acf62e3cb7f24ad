"""[[analysis_rules]] of study.toml read: which ratings an analysis leaves out, declared before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from listening.design.analysis_rules import rule_read
from listening.design.studyfile.problems import Notebook
from listening.design.studyfile.reader import read_table

MOST = 30


def read_rules(tables: Iterable[Any], notes: Notebook) -> tuple[dict[str, str], ...]:
    """Each rule as its text with its version, and why it is there."""
    rules: list[dict[str, str]] = []
    for n, table in enumerate(tables, start=1):
        where = f"analysis_rules[{n}]"
        if n > MOST:
            notes.toml(where, f"There are more than {MOST} rules.", "Keep those that you need.")
            break
        fields = read_table(table, "analysis_rules", where, notes)
        if not fields["rule"]:
            continue
        try:
            text = rule_read(fields["rule"])
        except ValueError as error:
            notes.toml(f"{where}.rule", f"{error}.", "docs/estimators.md lists the rules.")
            continue
        if text in [rule["rule"] for rule in rules]:
            notes.toml(f"{where}.rule", f"The rule “{text}” stands here twice.", "Remove one.")
            continue
        rules.append({"rule": text, **({"why": fields["why"]} if fields["why"] else {})})
    return tuple(rules)
