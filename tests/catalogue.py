"""Every sentence that raters can see, found in templates and modules, and its translations.

`python -m tests.catalogue` brings locale/ up to date: new sentences come into the .po without a
translation, lost ones leave it, and the .mo is made again.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "locale/zh_Hans/LC_MESSAGES"
PO, MO = FOLDER / "django.po", FOLDER / "django.mo"
KEYWORDS = dict.fromkeys(("_", "gettext", "gettext_noop", "gettext_lazy"), None) | {
    "ngettext": (1, 2),
    "pgettext": ((1, "c"), 2),
}
PLACE = re.compile(r"%\(\w+\)[sd]|\{\w+\}")
HEADERS = [
    ("Content-Type", "text/plain; charset=utf-8"),
    ("Content-Transfer-Encoding", "8bit"),
    ("Language", "zh_Hans"),
    ("Plural-Forms", "nplurals=1; plural=0;"),
]


def sentences() -> dict[str, list[str]]:
    """msgid → the files that say it, in the order in which they are found."""
    found: dict[str, list[str]] = {}
    for path, text in _texts():
        name = str(path.relative_to(ROOT))
        for _line, message, _comments, _context in extract(
            "python", io.BytesIO(text.encode()), keywords=KEYWORDS
        ):
            assert isinstance(message, str), f"{name}: plurals need work here"
            places = found.setdefault(message, [])
            if name not in places:
                places.append(name)
    return found


def _texts() -> Iterator[tuple[Path, str]]:
    """Modules as they are; templates as Django turns them into something like Python."""
    for path in sorted((ROOT / "templates").rglob("*.html")):
        code = templatize(path.read_text(), origin=str(path))
        yield path, "\n".join(line.strip() for line in code.splitlines())
    for path in sorted(p for room in ("config", "listening") for p in (ROOT / room).rglob("*.py")):
        yield path, path.read_text()


def places(text: str) -> list[str]:
    """What is filled in, such as {n} and %(answer)s."""
    return sorted(PLACE.findall(text))


def translations() -> Catalog:
    with PO.open("rb") as file:
        return read_po(file, locale="zh_Hans", charset="utf-8")


def compiled(catalogue: Catalog) -> bytes:
    catalogue.creation_date = catalogue.revision_date = datetime(2026, 1, 1, tzinfo=UTC)
    buffer = io.BytesIO()
    write_mo(buffer, catalogue)
    return buffer.getvalue()


def update() -> Catalog:
    """The catalogue of all sentences, with the translations that there are."""
    known = translations() if PO.exists() else Catalog()
    fresh = Catalog(locale="zh_Hans", charset="utf-8", fuzzy=False)
    for message, files in sentences().items():
        old = known.get(message)
        flags = ["python-format"] if "%(" in message else []
        fresh.add(message, old.string if old else "", [(f, None) for f in files], flags)
    return fresh


def write(catalogue: Catalog) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    write_po(buffer, catalogue, width=100, omit_header=True)
    lines = "\n".join(f'"{name}: {value}\\n"' for name, value in HEADERS)
    PO.write_text(f'msgid ""\nmsgstr ""\n{lines}\n\n{buffer.getvalue().decode().strip()}\n')
    MO.write_bytes(compiled(translations()))


if __name__ == "__main__":
    write(update())
    missing = [m.id for m in translations() if m.id and not m.string]
    print(*missing, sep="\n")
