"""Text as LaTeX: every character stands for itself."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

from analysis.formatting import PAST_HIGH, PAST_LOW

SHORT_WORD = 12  # letters of a word that is never broken after its signs
LONGEST_PIECE = 20  # letters that are never broken by us: TeX hyphenates words
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "≈": r"$\approx$",
    "∞": r"$\infty$",
    "√": r"$\surd$",
    "−": "$-$",
    "–": "--",
    "—": "---",
    "·": r"\textperiodcentered{}",
    "…": r"\ldots{}",
    "°": r"$^\circ$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "≠": r"$\neq$",
    "∈": r"$\in$",
    "→": r"$\rightarrow$",
    "←": r"$\leftarrow$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "½": "$1/2$",
    "µ": r"$\mu$",
    "\u202f": r"\,",
    "\u00a0": "~",
    PAST_LOW: r"$\triangleleft$",
    PAST_HIGH: r"$\triangleright$",
}
_CAPITALS = frozenset("ΓΔΘΛΞΠΣΥΦΨΩ")  # the other capital letters of Greek look like Latin ones
_SCRIPTS = {"<super>": "^", "<sub>": "_"}
_ACCENTS = frozenset("\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327")
_PLAIN = frozenset("ßæœøłÆŒØŁıÅå“”‘’„¡¿£§¶†‡")  # that LaTeX sets from any font
_BREAKS = re.compile(r"(?<=[_/.:=,;+\u2e80-\uffef-])")  # behind signs and Chinese letters


def escape_latex(text: str) -> str:
    """Text in which every character that LaTeX takes for a command stands for itself."""
    return "".join(map(_command, text))


def breakable(text: str) -> str:
    """The same, where long words may be broken after their signs or after so many letters."""
    words = (r"\allowbreak{}".join(map(escape_latex, pieces(word))) for word in text.split(" "))
    return " ".join(words)


def pieces(word: str) -> list[str]:
    """The word cut where a line may end: not at all if it is short."""
    if len(word) <= SHORT_WORD and max(word, default="") < "\u2e80":
        return [word]
    cut = [part for part in _BREAKS.split(word) if part]
    most = LONGEST_PIECE
    return [part[n : n + most] for part in cut for n in range(0, len(part), most)]


def letters_not_set(texts: Iterable[str]) -> str:
    """The letters that pdfLaTeX does not know, in order, such as those of Chinese names."""
    return "".join(sorted({letter for text in texts for letter in text if not _is_set(letter)}))


@cache
def _command(letter: str) -> str:
    if letter in _SPECIAL:
        return _SPECIAL[letter]
    if unicodedata.category(letter)[0] == "C":
        return " "
    kind, _, code = unicodedata.decomposition(letter).partition(" ")
    if kind in _SCRIPTS and code.isalnum():
        return f"${_SCRIPTS[kind]}{{{_command(chr(int(code, 16))).strip('$')}}}$"
    return _greek(letter) or letter


def _greek(letter: str) -> str:
    """A letter of Greek as a command of mathematics; empty for others."""
    words = unicodedata.name(letter, "").split(" ")
    if words[0] != "GREEK" or len(words) != 4 or words[2] != "LETTER":
        return ""
    name = words[3].lower().replace("lamda", "lambda")
    if words[1] == "SMALL":
        return "o" if name == "omicron" else rf"$\{name}$"
    return rf"$\{name.capitalize()}$" if letter in _CAPITALS else ""


@cache
def _is_set(letter: str) -> bool:
    if letter.isascii() or letter in _PLAIN or _command(letter) != letter:
        return True
    base, *marks = list(unicodedata.normalize("NFD", letter))
    return ord(letter) < 0x180 and base.isascii() and _ACCENTS.issuperset(marks) and len(marks) == 1
