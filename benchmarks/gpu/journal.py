"""results.jsonl, a line per figure as it comes, and the page made of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

RESULTS, SUMMARY = "results.jsonl", "summary.md"


class Journal:
    """The folder in which a run writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, step: str, name: str, **figures: Any) -> None:
        """Append one line, and print it."""
        line = json.dumps({"step": step, "name": name, **figures}, ensure_ascii=False)
        with open(self.folder / RESULTS, "a", encoding="utf-8") as file:
            file.write(line + "\n")
        print(line, flush=True)

    def lines(self) -> list[dict[str, Any]]:
        """Return what was written so far."""
        path = self.folder / RESULTS
        if not path.exists():
            return []
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    def summarise(self, titles: Mapping[str, str]) -> None:
        """Write the page: a table for each step, in order."""
        lines = self.lines()
        parts = ["# On a GPU", ""]
        for step, title in titles.items():
            own = [line for line in lines if line["step"] == step]
            if own:
                parts += [f"## {title}", "", *table(own), ""]
        (self.folder / SUMMARY).write_text("\n".join(parts), encoding="utf-8")


def table(lines: list[dict[str, Any]]) -> list[str]:
    """Return a Markdown table with a column for every key that occurs."""
    keys = list(dict.fromkeys(key for line in lines for key in line if key != "step"))
    rows = [f"| {' | '.join(keys)} |", f"|{' --- |' * len(keys)}"]
    return rows + [f"| {' | '.join(cell(line.get(key)) for key in keys)} |" for line in lines]


def cell(value: Any) -> str:
    """Return a value as one cell."""
    if value is None:
        return ""
    if isinstance(value, dict):
        return ", ".join(f"{name} {cell(each)}" for name, each in value.items())
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ", ".join(map(cell, value))
    return str(value).replace("|", "/").replace("\n", " ")
