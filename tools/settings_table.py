"""Writes the tables of settings into docs/running.md: python -m tools.settings_table.

They are made from `config/variables.py`, which the server reads, too; a test compares both.
"""

from __future__ import annotations

from pathlib import Path

from config.variables import CLIENT, CONTAINERS, DEVELOPERS, SERVER, as_table
from tools.locks import ROOT

PAGE = "docs/running.md"


def rewrite_page(page: str) -> str:
    """The page with every table as it should be."""
    for reader in (SERVER, CLIENT, CONTAINERS, DEVELOPERS):
        begin = f"<!-- settings: {reader} -->\n\n"
        before, marker, after = page.partition(begin)
        if not marker:
            raise SystemExit(f"{PAGE} has no line “{begin.strip()}” before its table of settings.")
        page = before + begin + as_table(reader) + "\n\n" + after.partition("\n\n")[2]
    return page


def main(root: Path = ROOT) -> None:
    path = root / PAGE
    path.write_text(rewrite_page(path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
