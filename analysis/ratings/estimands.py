"""The estimands by key and by method: the one place where statistics ask what a mean is."""

from __future__ import annotations

from collections.abc import Iterable

from analysis.ratings.problems import nearest
from listening.methods import Estimand, Method

__all__ = [
    "Estimand",
    "estimand_of",
    "estimand_of_method",
    "estimands",
    "keys_where",
    "methods_of",
    "name_of",
]


def estimands() -> dict[str, Estimand]:
    """Every estimand by its key, as the methods of the registry declare them."""
    return {method.estimand.key: method.estimand for method in Method.registry.values()}


def estimand_of(key: str) -> Estimand:
    """The estimand with this key; KeyError lists those there are."""
    for method in Method.registry.values():
        if method.estimand.key == key:
            return method.estimand
    raise KeyError(_unknown("estimand", key, estimands()))


def estimand_of_method(key: str) -> Estimand:
    """The estimand of a method; KeyError lists the methods there are."""
    if key not in Method.registry:
        raise KeyError(_unknown("method", key, Method.registry))
    return Method.registry[key].estimand


def methods_of(estimand: str) -> list[str]:
    """The methods whose scores have an estimand, by their keys; none if there is no such one."""
    return [key for key, method in Method.registry.items() if method.estimand.key == estimand]


def name_of(key: str) -> str:
    """An estimand's name in words; of what a report counts besides (shares), its key."""
    return next((each.name for each in _all() if each.key == key), key)


def keys_where(trait: str) -> frozenset[str]:
    """The keys of the estimands with a trait, such as ``lowest_is_best`` or ``in_pairs``."""
    return frozenset(each.key for each in _all() if getattr(each, trait))


def _all() -> Iterable[Estimand]:
    return (method.estimand for method in Method.registry.values())


def _unknown(what: str, key: str, known: Iterable[str]) -> str:
    """That there is no such method or estimand, which one may be meant, and those there are."""
    known, plain = sorted(known), key.strip().casefold()
    called = [
        method.estimand.key if what == "estimand" else method.key
        for method in Method.registry.values()
        if plain in (method.key, method.estimand.key, method.estimand.name.casefold())
    ]
    meant = called[0] if called else nearest(key, known)
    question = f"; did you mean {meant}? Known" if meant else "; known"
    return f"no {what} {key!r}{question} are {', '.join(known)}"
