"""Writes tables into docs/, from the code that they describe: python -m tools.doc_tables.

A table stands below a mark: `<!-- fields: PATH -->` of a table of study.toml, `<!-- settings:
READER -->` of Earnest's settings, `<!-- table: NAME -->` of `TABLES`. A test compares pages and
code.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django
from django.utils.translation import gettext, override

from config.variables import TABLE
from listening.checks import Check
from listening.common.interface_languages import INTERFACE_LANGUAGES
from listening.design.studyfile.schema import TABLES as FIELDS
from listening.design.studyfile.schema import own
from listening.methods.mos import P800_NAMES
from tools.locks import ROOT

PAGES = ("docs/study-folder.md", "docs/methods.md", "docs/languages.md", "docs/running.md")
MARK = re.compile(r"<!-- (fields|settings|table): (\S+) -->\n\n(?:\|.*\n)*\n?")
Row = tuple[str, ...]


def rewrite_page(page: str) -> str:
    """The page with every table as it should be."""
    return MARK.sub(_marked_table, page)


def _marked_table(match: re.Match[str]) -> str:
    kind, name = match.groups()
    of_one = {"fields": _fields, "settings": _settings}
    rows = of_one[kind](name) if kind in of_one else TABLES[name]()
    head, *body = (f"| {' | '.join(row)} |\n" for row in rows)
    rule = f"|{' --- |' * (head.count('|') - 1)}\n"
    return f"<!-- {kind}: {name} -->\n\n{''.join([head, rule, *body])}\n"


def _fields(path: str) -> Iterator[Row]:
    """The fields of a table of study.toml that have a sentence of help."""
    yield "field", "default", "meaning"
    for key, field in FIELDS[path].model_fields.items():
        if field.description:
            yield f"`{key}`", _default(field), field.description


def _default(field: Any) -> str:
    if usual := own(field)["usual"]:
        return str(usual)
    if field.is_required():
        return "required"
    if field.default is None:
        return "none"
    return f"`{json.dumps(field.default)}`" if field.default != "" else "empty"


def _settings(reader: str) -> Iterator[Row]:
    """The settings that the server, the client, containers or developers read."""
    yield "variable", "default", "meaning"
    for each in TABLE:
        if each.of == reader:
            yield f"`{each.name}`", each.default, each.meaning


def _checks() -> Iterator[Row]:
    """The defaults of each check, and how often guessing passes it."""
    yield (
        *("check", "right answers to pass", "attempts", "on failure", "settings of its own"),
        *("passed by guessing: once", "in all attempts"),
    )
    for key, kind in Check.registry.items():
        check = kind()
        if check.trials:
            usual = check.settings({})
            names = ["`language`"] * bool(check.languages)
            names += [f"`{name}` ({number.default:g})" for name, number in check.numbers.items()]
            yield (
                *(f"`{key}`", f"{check.pass_at_least} of {check.trials}", str(check.attempts)),
                *(check.on_fail.replace("_", " "), ", ".join(names) or "none"),
                *map(_percent, (check.odds_once(usual), check.odds(usual))),
            )


def _percent(share: float) -> str:
    return "below 0.0001 %" if share < 1e-6 else f"{100 * share:.2g} %"


def _languages() -> Iterator[Row]:
    yield "tag", "language", "checked by a native speaker"
    for each in INTERFACE_LANGUAGES:
        yield f"`{each.tag}`", each.english_name, "yes" if each.checked else "not yet"


def _qualities() -> Iterator[Row]:
    """The words of the five qualities of P.800 in each language."""
    yield ("", *reversed(P800_NAMES))
    for each in INTERFACE_LANGUAGES:
        with override(each.code):
            yield each.english_name, *map(gettext, reversed(P800_NAMES.values()))


TABLES = {"checks": _checks, "languages": _languages, "qualities": _qualities}


def main(root: Path = ROOT) -> None:
    for page in PAGES:
        path = root / page
        path.write_text(rewrite_page(path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    main()
