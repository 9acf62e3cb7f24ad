"""The fonts of figures for papers: DejaVu Sans, and one from a wheel for scripts that it lacks.

Which letters there are, and how wide words are once they are shaped (ligatures, marks above and
below, right to left). Matplotlib is imported inside functions only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from importlib.resources import files
from typing import Any

LATIN = "DejaVu Sans"  # Matplotlib's own; it has Greek, Cyrillic, Hebrew and Arabic too
CJK = "Noto Sans CJK SC"
_FILES = {  # package and file of each family, in the order in which they are asked
    CJK: ("noto_cjk_sans_otc", "NotoSansCJK-Regular.ttc"),
    "Noto Sans Thai": ("fontpkg_noto_sans_thai", "files/NotoSansThai[wdth,wght].ttf"),
    "Noto Sans Devanagari": (
        "fontpkg_noto_sans_devanagari",
        "files/NotoSansDevanagari[wdth,wght].ttf",
    ),
}
_UNSEEN = {"\n", "\t", " ", "\u2066", "\u2067", "\u2068", "\u2069", "\u200d", "\u200e", "\u200f"}


def families_for(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the families that the texts need: the first, and each that adds a letter."""
    needed, missing = [LATIN], _missing(LATIN, set().union(*texts) - _UNSEEN)
    for family in _FILES if missing else ():
        still = _missing(family, missing)
        if still != missing:
            needed.append(family)
        missing = still
    return tuple(needed)


def missing_letters(texts: Iterable[str]) -> str:
    """Return the letters that no family has, in order: they are drawn as boxes."""
    missing = set().union(*texts) - _UNSEEN
    for family in (LATIN, *_FILES):
        missing = _missing(family, missing) if missing else missing
    return "".join(sorted(missing))


@cache
def measure_in(families: tuple[str, ...]) -> Callable[[str], float]:
    """Return what measures shaped words in these families, in columns of half an em."""
    from matplotlib.font_manager import get_font
    from matplotlib.ft2font import LoadFlags

    font = get_font([_path(family) for family in families])

    @cache
    def columns(words: str) -> float:
        font.set_size(100, 72)
        font.set_text(words, 0.0, flags=LoadFlags.NO_HINTING)
        return float(font.get_width_height()[0]) / 64 / 50

    return columns


def _missing(family: str, letters: set[str]) -> set[str]:
    """Return the letters that the family lacks."""
    from matplotlib.font_manager import get_font

    font = get_font(_path(family))
    return {letter for letter in letters if not font.get_char_index(ord(letter))}


@cache
def _path(family: str) -> Any:
    """Return the file of a family, and make Matplotlib know the family."""
    from matplotlib.font_manager import FontProperties, findfont, fontManager

    if family in _FILES:
        package, name = _FILES[family]
        fontManager.addfont(str(files(package) / name))
    return findfont(FontProperties(family=[family]), fallback_to_default=False)
