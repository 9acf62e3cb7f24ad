"""TOML read within bounds: its worst case is looked for before it is parsed.

Python's parser takes time that grows with the square of the parts of a dotted key, so a line of
80 kB keeps it busy for a minute.
"""

from __future__ import annotations

import math
import re
import tomllib
from typing import Any

from listening.common.input_limits import TOML_BYTES, TOML_DEPTH, TOML_VALUES

# What holds no key: strings of all four kinds, and comments.
_TEXTS = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*",
    re.DOTALL,
)
_NOT_STRUCTURE = re.compile(r"[^.=,\[\]{}\n]+")
_DEEP_KEY = "." * TOML_DEPTH
_PLACE = re.compile(r" \(at (.*)\)$")
_LONGEST_NUMBER_BITS = 1024


class TomlError(ValueError):
    """Why a text is not taken as TOML: where, what, and the remedy."""

    def __init__(self, place: str, what: str, remedy: str) -> None:
        super().__init__(f"{place}: {what} {remedy}" if place else f"{what} {remedy}")
        self.place, self.what, self.remedy = place, what, remedy


def read_toml(data: bytes | str) -> dict[str, Any]:
    """The tables of a TOML text; TomlError where it is none, or larger or deeper than any study."""
    if len(data) > TOML_BYTES:
        what = f"The file has {len(data):,} bytes; {TOML_BYTES:,} are allowed."
        raise TomlError("", what, "A study needs a few thousand: keep sentences in stimuli.csv.")
    text = (_decoded(data) if isinstance(data, bytes) else data).removeprefix("\ufeff")
    _check_structure(text)
    try:
        top = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        what = str(error)[: place.start()] if place else str(error)
        remedy = "Correct it; toml.io shows how TOML is written."
        if "Invalid value" in what:
            remedy = 'Texts stand in straight quotes: "…", lists in [ ]. ' + remedy
        raise TomlError(place[1] if place else "", f"This is not TOML: {what}.", remedy) from None
    except RecursionError:
        raise TomlError("", "The tables are nested too deeply.", _FLATTEN) from None
    except ValueError:  # Python reads no whole number of more than 4,300 digits
        raise TomlError("", "A number has thousands of digits.", "Write it shorter.") from None
    _check_values(top, "", 1)
    return top


_FLATTEN = "Keep to the fields of the guide."
_NO_NUL = "Delete it (\\u0000): no database keeps it."


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"Byte {error.start} ({data[error.start]:#04x}) is not UTF-8."
        remedy = "Save the file with the encoding UTF-8."
        raise TomlError(f"line {line}", what, remedy) from None


def _check_structure(text: str) -> None:
    """TomlError where keys have very many parts, or values are very many; in linear time."""
    structure = _NOT_STRUCTURE.sub("", _TEXTS.sub("", text))
    values = structure.count("=") + structure.count(",") + structure.count("[")
    if values > TOML_VALUES:
        what = f"The file has {values:,} values; {TOML_VALUES:,} are allowed."
        raise TomlError("", what, "Keep sentences in stimuli.csv.")
    if _DEEP_KEY in structure:
        line = structure.count("\n", 0, structure.index(_DEEP_KEY)) + 1
        what = f"A key has more than {TOML_DEPTH} parts, joined by dots."
        raise TomlError(f"near line {line}", what, _FLATTEN)


def _check_values(value: Any, place: str, depth: int) -> None:
    """TomlError where a value lies too deep, or is a number that nothing here can hold."""
    if isinstance(value, dict | list):
        if depth > TOML_DEPTH:
            raise TomlError(place, f"Tables lie more than {TOML_DEPTH} deep.", _FLATTEN)
        inside = value.items() if isinstance(value, dict) else enumerate(value, start=1)
        for name, each in inside:
            if "\0" in str(name):
                raise TomlError(place, "A key holds the character NUL.", _NO_NUL)
            if isinstance(each, dict | list | int | float | str):
                own = f"{place}[{name}]" if isinstance(value, list) else f"{place}.{name}"
                _check_values(each, own.lstrip("."), depth + 1)
    elif isinstance(value, str):
        if "\0" in value:
            raise TomlError(place, "The text holds the character NUL.", _NO_NUL)
    elif isinstance(value, float) and not math.isfinite(value):
        raise TomlError(place, f"“{value}” is no number that can be used.", "Write a number.")
    elif isinstance(value, int) and value.bit_length() > _LONGEST_NUMBER_BITS:
        raise TomlError(place, "The number has hundreds of digits.", "Write it shorter.")
