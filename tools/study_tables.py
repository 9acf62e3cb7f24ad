"""Writes the tables of fields into docs/study-folder.md: python -m tools.study_tables.

They are made from `listening.design.studyfile.schema`, by which study.toml is read, too; a test
compares both.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from listening.design.studyfile.schema import TABLES, own
from tools.locks import ROOT

PAGE = "docs/study-folder.md"
MARK = re.compile(r"<!-- fields: (\S+) -->\n\n(?:\|.*\n)*\n?")


def rewrite_page(page: str) -> str:
    """The page with every table as it should be."""
    return MARK.sub(lambda match: f"<!-- fields: {match[1]} -->\n\n{_table(match[1])}\n", page)


def _table(path: str) -> str:
    """The fields of a table of study.toml that have a sentence of help."""
    rows = [
        f"| `{key}` | {_default(field)} | {field.description} |\n"
        for key, field in TABLES[path].model_fields.items()
        if field.description
    ]
    return "".join(["| field | default | meaning |\n", "| --- | --- | --- |\n", *rows])


def _default(field: Any) -> str:
    if usual := own(field)["usual"]:
        return str(usual)
    if field.is_required():
        return "required"
    if field.default is None:
        return "none"
    return f"`{json.dumps(field.default)}`" if field.default != "" else "empty"


def main(root: Path = ROOT) -> None:
    path = root / PAGE
    path.write_text(rewrite_page(path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
