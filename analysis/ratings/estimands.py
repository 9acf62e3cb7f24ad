"""The estimands by key and by method, titles of what was rated, and the ends of scales."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from analysis.formatting import Ends
from analysis.ratings.problems import nearest
from listening.methods import Estimand, Method

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Estimand",
    "answered",
    "estimand_of",
    "estimand_of_method",
    "estimands",
    "keys_where",
    "methods_of",
    "name_of",
]


def estimands() -> dict[str, Estimand]:
    """Every estimand by its key, as the methods of the registry declare them."""
    return {each.key: each for each in _all()}


def estimand_of(key: str) -> Estimand:
    """The estimand with this key; KeyError lists those there are."""
    for each in _all():
        if each.key == key:
            return each
    raise KeyError(_unknown("estimand", key, estimands()))


def estimand_of_method(key: str, estimand: str = "") -> Estimand:
    """The estimand of a method; KeyError lists the methods there are.

    With other options some methods have another: the one with the key ``estimand``, if there is.
    """
    if key not in Method.registry:
        raise KeyError(_unknown("method", key, Method.registry))
    known = Method.registry[key].estimands()
    return next((each for each in known if each.key == estimand), known[0])


def methods_of(estimand: str) -> list[str]:
    """The methods whose scores have an estimand, by their keys; none if there is no such one."""
    return [
        key
        for key, method in Method.registry.items()
        if any(each.key == estimand for each in method.estimands())
    ]


def name_of(key: str) -> str:
    """An estimand's name in words; of what a report counts besides (shares), its key."""
    return next((each.name for each in _all() if each.key == key), key)


def keys_where(trait: str) -> frozenset[str]:
    """The keys of the estimands with a trait, such as ``lowest_is_best`` or ``in_pairs``."""
    return frozenset(each.key for each in _all() if getattr(each, trait))


def answered(table: pd.DataFrame) -> pd.Series[bool]:
    """Which rows (n,) have a score, or a label where the method has answers without a score."""
    free = table["estimand"].isin(keys_where("maybe_without_score")) & (table["label"] != "")
    return table["score"].notna() | free


def _all() -> Iterable[Estimand]:
    return (each for method in Method.registry.values() for each in method.estimands())


def _unknown(what: str, key: str, known: Iterable[str]) -> str:
    """That there is no such method or estimand, which one may be meant, and those there are."""
    known, plain = sorted(known), key.strip().casefold()
    called = [
        each.key if what == "estimand" else method.key
        for method in Method.registry.values()
        for each in method.estimands()
        if plain in (method.key, each.key, each.name.casefold())
    ]
    meant = called[0] if called else nearest(key, known)
    question = f"; did you mean {meant}? Known" if meant else "; known"
    return f"no {what} {key!r}{question} are {', '.join(known)}"


def family_title(row: Mapping[str, Any]) -> str:
    """What a row is about, for headings: estimand, task, criterion and what it is compared with."""
    title = bare_title(row)
    versus = row.get("versus_condition", "")
    return f"{title} · versus {versus}" if versus else title


def bare_title(row: Mapping[str, Any]) -> str:
    """The same without what it is compared with."""
    return _joined(row["estimand"], row.get("study", ""), row["task"], row["criterion"])


@lru_cache(maxsize=1024)
def _joined(estimand: str, *rest: str) -> str:
    """Kept: a report asks for the titles of its thousands of rows again and again."""
    return " · ".join(part for part in (name_of(estimand), *rest) if part)


def ends_of(report: Mapping[str, Any], row: Mapping[str, Any]) -> Ends:
    """The lowest and highest score of the scale that the row's ratings were given on, if known."""
    ends: Ends = report.get("scales", {}).get(bare_title(row))  # a scale is that of all its pairs
    return ends
