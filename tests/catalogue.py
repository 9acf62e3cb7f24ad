"""Every sentence that raters can see, found in templates and modules, and its translations.

`python -m tests.catalogue` brings locale/ up to date: new sentences come into each .po without a
translation, lost ones leave it, and the .mo files are made again.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation import to_locale
from django.utils.translation.template import templatize

from listening.common.interface_languages import INTERFACE_LANGUAGES

ROOT = Path(__file__).resolve().parent.parent
LOCALES = [to_locale(each.code) for each in INTERFACE_LANGUAGES if each.code != "en"]
KEYWORDS = dict.fromkeys(("_", "gettext", "gettext_noop", "gettext_lazy"), None) | {
    "ngettext": (1, 2),
    "pgettext": ((1, "c"), 2),
}
PLACE = re.compile(r"%\(\w+\)[sd]|\{\w+\}")
Sentence = str | tuple[str, ...]  # as it is, or for one and for several


@cache
def sentences() -> dict[Sentence, list[str]]:
    """Each msgid, with the files that say it, in the order in which they are found."""
    found: dict[Sentence, list[str]] = {}
    for path, text in _texts():
        name = str(path.relative_to(ROOT))
        for _line, message, _comments, _context in extract(
            "python", io.BytesIO(text.encode()), keywords=KEYWORDS
        ):
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


def forms(words: Sentence | list[str] | None) -> list[str]:
    """The texts of a sentence or of its translation: one, or one for each plural form."""
    return [words] if isinstance(words, str) else list(words or ())


def file(locale: str, ending: str) -> Path:
    return ROOT / "locale" / locale / "LC_MESSAGES" / f"django.{ending}"


def translations(locale: str) -> Catalog:
    with file(locale, "po").open("rb") as stored:
        return read_po(stored, locale=locale, charset="utf-8")


def untranslated(locale: str) -> list[Sentence]:
    """The sentences of which a form has no translation."""
    known = translations(locale)
    return [
        said for said in sentences() if not (each := known.get(said)) or not all(forms(each.string))
    ]


def messages(locale: str) -> list[Message]:
    return [each for each in translations(locale) if each.id]


def compiled(catalogue: Catalog) -> bytes:
    catalogue.creation_date = catalogue.revision_date = datetime(2026, 1, 1, tzinfo=UTC)
    buffer = io.BytesIO()
    write_mo(buffer, catalogue)
    return buffer.getvalue()


def update(locale: str) -> Catalog:
    """The catalogue of all sentences, with the translations that there are."""
    known = translations(locale) if file(locale, "po").exists() else Catalog(locale=locale)
    fresh = Catalog(locale=locale, charset="utf-8", fuzzy=False)
    for message, files in sentences().items():
        old = known.get(message)
        kept = old.string if old and len(forms(old.id)) == len(forms(message)) else ""
        flags = ["python-format"] if "%(" in forms(message)[0] else []
        fresh.add(message, kept, [(f, None) for f in files], flags)
    return fresh


def write(catalogue: Catalog) -> None:
    """Write both files of a language."""
    locale = str(catalogue.locale)
    file(locale, "po").parent.mkdir(parents=True, exist_ok=True)
    headers = [
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Content-Transfer-Encoding", "8bit"),
        ("Language", locale),
        ("Plural-Forms", catalogue.plural_forms),
    ]
    buffer = io.BytesIO()
    write_po(buffer, catalogue, width=100, omit_header=True)
    lines = "\n".join(f'"{name}: {value}\\n"' for name, value in headers)
    file(locale, "po").write_text(
        f'msgid ""\nmsgstr ""\n{lines}\n\n{buffer.getvalue().decode().strip()}\n'
    )
    file(locale, "mo").write_bytes(compiled(translations(locale)))


if __name__ == "__main__":
    for each in LOCALES:
        write(update(each))
        for missing in untranslated(each):
            print(f"{each}: {missing}")
