"""JSON as it is meant: no key twice, no endless numbers, no depth that only an attack has."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from listening.common.input_limits import JSON_BRACKETS, JSON_DEPTH, PAGE_JSON_BYTES

_as_json = json.JSONEncoder(allow_nan=False, ensure_ascii=False).encode


class JsonError(ValueError):
    """Why a text is not taken as JSON: a sentence with the place and the remedy."""


def read_json(
    text: str | bytes,
    *,
    most: int = PAGE_JSON_BYTES,
    most_brackets: int = JSON_BRACKETS,
    finite: bool = True,
) -> Any:
    """The content of a JSON text of up to ``most`` bytes or characters; else JsonError.

    ``most_brackets`` bounds the number of lists and objects.
    Where it need not be ``finite``, NaN, Infinity and 1e999 are numbers, as Python writes them.
    """
    if len(text) > most:
        raise JsonError(f"the text has {len(text):,} characters; {most:,} are allowed. Split it.")
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8-sig")
        brackets = decoded.count("[") + decoded.count("{")
        if brackets > most_brackets:
            raise JsonError(
                f"the text has {brackets:,} lists and objects; {most_brackets:,} are allowed. "
                "Split it."
            )
        if brackets > JSON_DEPTH and _nesting_depth(decoded) > JSON_DEPTH:
            raise JsonError(_TOO_DEEP)
        value = (_STRICT if finite else _LENIENT).decode(decoded.removeprefix("\ufeff"))
    except UnicodeDecodeError as error:
        raise JsonError(f"byte {error.start + 1} is not UTF-8. Save the text as UTF-8.") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise JsonError(f"{place}: {error.msg}. Correct it, or write it by a program.") from None
    except JsonError:
        raise
    except ValueError:  # Python reads no whole number of more than 4,300 digits
        raise JsonError("a number has thousands of digits. Write it shorter.") from None
    return value


_TOO_DEEP = f"lists and objects are nested more than {JSON_DEPTH} deep. Flatten them."


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for n, name in enumerate(names) if name in names[:n])
        raise JsonError(f"the key “{twice[:80]}” stands twice in one object. Keep one.")
    return table


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise JsonError(f"{text[:40]} is no number of JSON. Write a finite number, or null.")
    return number


_STRICT = json.JSONDecoder(
    object_pairs_hook=_each_once, parse_float=_finite, parse_constant=_finite
)
_LENIENT = json.JSONDecoder(object_pairs_hook=_each_once)


# A text that never closes runs to the end: no bracket behind its opening quote opens a list.
_TEXTS = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)', re.DOTALL)
_BRACKETS = re.compile(r"[\[\]{}]")


def _nesting_depth(text: str) -> int:
    """How deep lists and objects lie in each other.

    Counted before parsing: the parser recurses as deep as sys.getrecursionlimit(), which a library
    may raise for the whole process (PyMC does).
    """
    depth = deepest = 0
    for bracket in _BRACKETS.finditer(_TEXTS.sub("", text)):
        depth += 1 if bracket[0] in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def is_storable(value: Any) -> bool:
    """Whether PostgreSQL can keep it as JSON: no NUL, no half of a surrogate pair, no infinity."""
    try:
        text = _as_json(value)
        text.encode()
    except ValueError:
        return False
    return "\\u0000" not in text.replace("\\\\", "")  # an escaped backslash begins no escape
