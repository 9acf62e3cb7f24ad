"""The fonts of figures for papers: DejaVu Sans, and one for each script that it lacks.

Those are of wheels; for other scripts the machine may have a Noto Sans. This module says which
letters there are, and how wide words are once they are shaped (ligatures, marks above and below,
right to left). Matplotlib is imported inside functions only.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import Any

LATIN = "DejaVu Sans"  # Matplotlib's own; it has Greek, Cyrillic, Hebrew and Arabic too
_FILES = {  # package and file of each family, in the order in which they are asked
    "Noto Sans CJK SC": ("noto_cjk_sans_otc", "NotoSansCJK-Regular.ttc"),
    "Noto Sans Thai": ("fontpkg_noto_sans_thai", "files/NotoSansThai[wdth,wght].ttf"),
    "Noto Sans Devanagari": (
        "fontpkg_noto_sans_devanagari",
        "files/NotoSansDevanagari[wdth,wght].ttf",
    ),
}
TRUETYPE = {LATIN, "Noto Sans Thai", "Noto Sans Devanagari"}  # others may have other outlines
LAYOUT_TABLES = ("GDEF", "GPOS", "GSUB")
_UNSEEN = {"\n", "\t", " ", "\u2066", "\u2067", "\u2068", "\u2069", "\u200d", "\u200e", "\u200f"}


def families_for(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the families that the texts need: the first, and each that adds a letter."""
    return _choose_families(_letters(texts))[0]


def missing_letters(texts: Iterable[str]) -> str:
    """Return the letters that no family has, in order: they are drawn as boxes."""
    return "".join(sorted(_choose_families(_letters(texts))[1]))


@contextmanager
def no_warning_of_missing_letters() -> Iterator[None]:
    """Letters that no font has are drawn as boxes; `missing_letters` names them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph \d+")
        yield


@contextmanager
def without_layout_tables() -> Iterator[None]:
    """Fonts are embedded without their tables for shaping words, which are shaped already.

    Reading these tables is most of the work of writing a PDF.
    """
    from fontTools.subset import Options  # type: ignore[import-untyped]

    before = Options._drop_tables_default
    Options._drop_tables_default = [*before, *LAYOUT_TABLES]
    try:
        yield
    finally:
        Options._drop_tables_default = before


@cache
def measure_in(families: tuple[str, ...]) -> Callable[[str], float]:
    """Return what measures shaped words in these families, in columns of half an em."""
    from matplotlib.font_manager import get_font
    from matplotlib.ft2font import LoadFlags

    font = get_font([_path(family) for family in families])

    @cache
    def columns(words: str) -> float:
        font.set_size(100, 72)
        with no_warning_of_missing_letters():
            font.set_text(words, 0.0, flags=LoadFlags.NO_HINTING)
        return float(font.get_width_height()[0]) / 64 / 50

    return columns


def _letters(texts: Iterable[str]) -> frozenset[str]:
    return frozenset().union(*texts) - _UNSEEN


@cache
def _choose_families(letters: frozenset[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the families for the letters, and the letters that none of them has."""
    from matplotlib.font_manager import fontManager

    chosen, missing = [LATIN], _missing(LATIN, letters)
    if missing:
        here = {entry.name for entry in fontManager.ttflist if entry.name.startswith("Noto Sans")}
        for family in (*_FILES, *sorted(here - _FILES.keys())):
            still = _missing(family, missing)
            if still != missing:
                chosen.append(family)
            missing = still
    return tuple(chosen), missing


def _missing(family: str, letters: frozenset[str]) -> frozenset[str]:
    """Return the letters that the family lacks."""
    from matplotlib.font_manager import get_font

    if not letters:
        return letters
    font = get_font(_path(family))
    return frozenset(letter for letter in letters if not font.get_char_index(ord(letter)))


@cache
def _path(family: str) -> Any:
    """Return the file of a family, and make Matplotlib know the family."""
    from matplotlib.font_manager import FontProperties, findfont, fontManager

    if family in _FILES:
        package, name = _FILES[family]
        fontManager.addfont(str(files(package) / name))
    return findfont(FontProperties(family=[family]), fallback_to_default=False)
