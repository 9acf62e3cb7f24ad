"""Clean values of study.toml and stimuli.csv, or say what is wrong with them."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection
from contextlib import suppress
from datetime import date, datetime
from typing import Any
from urllib.parse import urlsplit

from listening.design.questionnaires import PREFER_NOT, READY_MADE
from listening.design.sources import HOLES, INVITATION, PARAMETER
from listening.design.studyfile.problems import did_you_mean, quoted

LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")
INVISIBLE = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
HOLE = re.compile(r"\{([^{}]*)\}")
NAME = re.compile(r"[A-Za-z0-9_.-]+")
TAKEN = (  # parameters of addresses that Earnest uses itself
    *(PARAMETER, INVITATION, "lang", "simulate", "consent", "proof", "memory"),
    "csrfmiddlewaretoken",
)
LONGEST_TEXT = 20_000
MOST_OPTIONS = 100


class Wrong(ValueError):
    """A value that does not fit its field: what is wrong, and the remedy."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what, remedy)
        self.what, self.remedy = what, remedy


def text(value: Any, longest: int = LONGEST_TEXT, required: bool = False) -> str:
    """Words for people: no control characters, trimmed, in Unicode's composed form (NFC)."""
    if not isinstance(value, str):
        raise Wrong(f"This is {kind_of(value)} and no text.", 'Put it in quotes: "…".')
    clean = composed(value)
    check_characters(clean)
    if len(clean) > longest:
        raise Wrong(f"The text has {len(clean):,} characters; {longest:,} are allowed.",
                    "Shorten it.")  # fmt: skip
    if required and not clean:
        raise Wrong("The text is empty.", "Fill it in.")
    return clean


def identifier(value: Any, longest: int = LONGEST_TEXT, required: bool = False) -> str:
    """A name in any script, on one line, with nothing invisible in it."""
    clean = text(value, longest, required)
    if not clean:
        raise Wrong("The name is empty.", "Fill it in.")
    if "\n" in clean or "\t" in clean or INVISIBLE.search(clean):
        raise Wrong(
            f"The name {clean!a} holds a line break, a tab or an invisible character.",
            "Type the name anew.",
        )
    return clean


def language(value: Any, longest: int = LONGEST_TEXT) -> str:
    clean = text(value, longest)
    if clean and not LANGUAGE.fullmatch(clean):
        raise Wrong(f"“{clean}” is no language tag.", 'Write one like "en", "de" or "zh-Hans".')
    return clean


def day(value: Any) -> date:
    """A date, with or without quotes."""
    with suppress(ValueError):
        value = date.fromisoformat(value) if isinstance(value, str) else value
    if isinstance(value, datetime) or not isinstance(value, date):
        raise Wrong(f"This is {kind_of(value)} and no date.", "Write it as 2027-06-30.")
    return value


def texts(value: Any, longest: int = LONGEST_TEXT, required: bool = False) -> tuple[str, ...]:
    """A list of texts, none empty, none twice."""
    if not isinstance(value, list):
        raise Wrong(f"This is {kind_of(value)} and no list.", 'Write it as ["…", "…"].')
    clean = tuple(text(entry, longest, required=True) for entry in value)
    if twice := [word for word in clean if clean.count(word) > 1]:
        raise Wrong(
            f"{quoted(dict.fromkeys(twice))} stands in the list twice.", "Keep one of them."
        )
    if required and not clean:
        raise Wrong("The list is empty.", "Name at least one.")
    return clean


def looks(value: Any, fewest: int, most: int) -> int | list[float]:
    """A number of looks, or the shares of the sessions at which they are made, the last 1."""
    remedy = f"Write a whole number from {fewest} to {most}, or shares such as [0.4, 0.7, 1.0]."
    if isinstance(value, int) and not isinstance(value, bool):
        if not fewest <= value <= most:
            raise Wrong(f"{value:,} is outside {fewest} to {most}.", remedy)
        return value
    if not isinstance(value, list):
        raise Wrong(f"This is {kind_of(value)} and neither a number nor a list.", remedy)
    if not all(isinstance(share, (int, float)) and 0 < share <= 1 for share in value):
        raise Wrong("Not all of these are shares above 0 and up to 1.", remedy)
    if value != sorted(set(value)) or not value or value[-1] != 1:
        raise Wrong("The shares must ascend, each once, to 1.", remedy)
    if not fewest <= len(value) <= most:
        raise Wrong(f"There are {len(value)} looks.", remedy)
    return [float(share) for share in value]


def table(value: Any) -> dict[str, Any]:
    """A table of any values, as it may be kept as JSON."""
    return {composed(key): plain(inner) for key, inner in raw_table(value).items()}


def words(value: Any, longest: int = LONGEST_TEXT) -> dict[str, str]:
    """A table of texts; numbers and true/false are taken as written."""
    return {
        identifier(key, longest): text(_as_written(inner), longest)
        for key, inner in raw_table(value).items()
    }


def raw_table(value: Any) -> dict[str, Any]:
    """A table whose values are read later."""
    if not isinstance(value, dict):
        raise Wrong(f"This is {kind_of(value)} and no table.", "Write it as a [table].")
    return value


def raw_tables(value: Any, required: bool = False) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise Wrong(f"This is {kind_of(value)} and no list of tables.", "Write it as [[tables]].")
    if required and not value:
        raise Wrong("The list is empty.", "Write at least one.")
    return value


def composed(value: str) -> str:
    """Trimmed, with \\n as the only line end, in Unicode's composed form."""
    return unicodedata.normalize("NFC", value.replace("\r\n", "\n").replace("\r", "\n").strip())


def check_characters(value: str) -> None:
    for place, char in enumerate(value):
        if char not in "\n\t" and unicodedata.category(char) in ("Cc", "Cs"):
            name = "a NUL character" if char == "\0" else f"the control character {char!r}"
            raise Wrong(f"There is {name} at place {place + 1} of the text.", "Delete it.")


def plain(value: Any) -> Any:
    """A value that JSON keeps as it is."""
    if isinstance(value, dict):
        return {composed(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    if isinstance(value, str):
        clean = composed(value)
        check_characters(clean)
        return clean
    if isinstance(value, float) and not math.isfinite(value):
        raise Wrong(f"{value} is no number that can be kept.", "Write a finite number.")
    if isinstance(value, bool | int | float):
        return value
    raise Wrong(f"A value is {kind_of(value)}.", 'Put it in quotes: "…".')


def one_of(value: Any, choices: Collection[str]) -> str:
    if value not in choices:
        shown = value if isinstance(value, str) else repr(value)
        raise Wrong(f"“{shown}” is none of {quoted(choices)}.", "Choose one of them.")
    return str(value)


def one_of_numbers(value: Any, choices: Collection[int]) -> int:
    if isinstance(value, bool) or value not in choices:
        known = " and ".join(map(str, choices))
        raise Wrong(f"{value!r} is none of the numbers {known}.", "Choose one of them.")
    return int(value)


# --- Values of single fields ----------------------------------------------------------------------


def one_or_several(value: Any, longest: int) -> list[str]:
    """One name or a list of them, cleaned."""
    return list(texts([value] if isinstance(value, str) else value, longest))


def listed(value: Any, longest: int, required: bool = False) -> list[str]:
    return list(texts(value, longest, required))


def task_keys(value: Any, longest: int) -> list[str]:
    """One task or several; whether the study has them is for `questionnaire_tables` to say."""
    return [value] if isinstance(value, str) else list(texts(value, longest))


def ready_sets(value: Any) -> list[str]:
    """One name or several of the ready-made sets of questions."""
    names = [value] if isinstance(value, str) else list(texts(value))
    for name in names:
        if name not in READY_MADE:
            raise Wrong(f"There is no ready-made “{name}”.", did_you_mean(name, READY_MADE))
    return names


def answer(value: Any, longest: int) -> str:
    """An answer as it is stored; a number or true/false is taken as written."""
    written = str(value).lower() if isinstance(value, bool) else value
    return identifier(str(written) if isinstance(written, int) else written, longest)


def answers(value: Any, longest: int) -> list[str]:
    if not isinstance(value, list):
        raise Wrong("This is no list.", 'Write it as ["…", "…"].')
    return list(dict.fromkeys(answer(each, longest) for each in value))


def options(value: Any, longest: int) -> list[dict[str, str]]:
    """Options written as texts, or as tables with what is stored and what is shown."""
    if not isinstance(value, list):
        raise Wrong("This is no list.", 'Write it as ["…", "…"].')
    if len(value) > MOST_OPTIONS:
        raise Wrong(f"There are {len(value)} options; {MOST_OPTIONS} are allowed.", "Ask by text.")
    read = [_option(each, longest) for each in value]
    stored = [option["value"] for option in read]
    if twice := [each for each in dict.fromkeys(stored) if stored.count(each) > 1]:
        raise Wrong(f"{quoted(twice)} stands in the list twice.", "Keep one of them.")
    if PREFER_NOT in stored:
        raise Wrong(f"The value “{PREFER_NOT}” is Earnest's own.", "Write prefer_not = true.")
    return read


def _option(entry: Any, longest: int) -> dict[str, str]:
    if not isinstance(entry, dict):
        stored = answer(entry, longest)
        return {"value": stored, "text": stored}
    if set(entry) != {"value", "text"}:
        raise Wrong("An option is a text or { value = …, text = … }.", "Write one of these.")
    stored = answer(entry["value"], longest)
    return {"value": stored, "text": text(entry["text"], 300, required=True)}


def parameter(value: Any, longest: int) -> str:
    """A name in the query of an address."""
    clean = text(value, longest)
    if clean and not NAME.fullmatch(clean):
        raise Wrong(f"“{clean}” is no name of a parameter.", "Use letters, digits, . - and _.")
    if clean in TAKEN:
        raise Wrong(f"Earnest uses the parameter “{clean}” itself.", "Choose another name.")
    return clean


def return_url(value: Any, longest: int) -> str:
    clean = text(value, longest)
    if not clean:
        return clean
    wrong = Wrong(f"“{clean}” is no address.", "Write the whole of it: https://…")
    try:
        parts = urlsplit(clean)
    except ValueError:  # such as one half of [ ]
        raise wrong from None
    if parts.scheme not in ("http", "https") or not parts.netloc or HOLE.search(parts.netloc):
        raise wrong
    unknown = [hole for hole in HOLE.findall(clean) if hole not in HOLES]
    if unknown:
        known = quoted("{" + hole + "}" for hole in HOLES)
        raise Wrong(f"Nothing is known to put in “{{{unknown[0]}}}”.", f"There are: {known}.")
    return clean


def kind_of(value: Any) -> str:
    kinds = {
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "a text",
        list: "a list",
        dict: "a table",
    }
    return kinds.get(type(value), "a date or time")


def _as_written(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"{value}"
    raise Wrong(f"A value is {kind_of(value)} and no text.", 'Put it in quotes: "…".')
