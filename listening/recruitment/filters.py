"""Prolific's filters: which there are, and those for the languages that a study asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from django.core.cache import cache
from redis.exceptions import RedisError

from listening.design.spoken_languages import OTHER, THIS_LANGUAGE, choices_of, language_name
from listening.models import Connection, Study
from listening.recruitment.connecting import client_of
from listening.recruitment.plan import Plan
from listening.recruitment.prolific import ProlificError
from listening.recruitment.prolific.wire import Json

CACHE_S = 3600
FIRST, FLUENT = "first-language", "fluent-languages"  # looked up in the workspace before use
ASKED_BY = {  # ready-made questions -> the filter that asks the same
    "native_speaker": FIRST,
    "native_languages": FIRST,
    "fluent_languages": FLUENT,
}
SPEAKS = {FIRST: "did not grow up with {}", FLUENT: "do not speak {} fluently"}


def filters_of(connection: Connection) -> list[Json]:
    """What participants can be chosen by, kept for an hour; none while Prolific is away."""
    name = f"prolific/filters/{connection.pk}/{connection.workspace}"
    with suppress(RedisError):
        cached: list[Json] | None = cache.get(name)
        if cached is not None:
            return cached
    try:
        with client_of(connection) as prolific:
            filters: list[Json] = [dict(each) for each in prolific.filters(connection.workspace)]
    except ProlificError:
        return []
    with suppress(RedisError):
        cache.set(name, filters, timeout=CACHE_S)
    return filters


def languages_asked(study: Study) -> dict[str, list[str]]:
    """Filter -> the languages of which raters must have one, by the study's own questions."""
    own = [study.language, *study.translations]
    requested: dict[str, list[str]] = {}
    questions = [q for form in study.questionnaires for q in form["questions"]]
    for question in questions:
        name = ASKED_BY.get(question["key"])
        needed = [
            tag
            for each in question.get("screen_out_unless", ())
            for tag in (own if each == THIS_LANGUAGE else [each])
        ]
        if question["key"] == "native_speaker" and "no" in question["screen_out"]:
            needed = own
        if name and needed and OTHER not in needed:
            requested[name] = list(dict.fromkeys(needed))
    return requested


def with_language_filters(plan: Plan, study: Study, connection: Connection) -> Plan:
    """The plan with a filter for each question of the study that screens out by language.

    A filter that the workspace does not have, or has without these languages, is left to the
    researcher: `languages_unfiltered` names it.
    """
    requested = languages_asked(study)
    known = {
        str(each.get("filter_id")): each for each in (filters_of(connection) if requested else ())
    }
    for name, tags in requested.items():
        choices = _choices(known.get(name))
        values = choices_of(tags, choices)
        if not values:
            continue
        others = tuple(each for each in plan.filters if each.get("filter_id") != name)
        title = str(known[name].get("title") or name)
        words = f"{title}: {', '.join(choices[value] for value in values)}"
        chosen: Json = {"filter_id": name, "selected_values": values}
        plan = replace(plan, filters=(*others, chosen), words={**plan.words, name: words})
    return plan


def languages_unfiltered(plan: Plan, study: Study) -> list[str]:
    """For each language question of the study without a filter, whom it will screen out."""
    used = {str(each.get("filter_id")) for each in plan.filters}
    return [
        SPEAKS[name].format(_any_of(map(language_name, tags)))
        for name, tags in languages_asked(study).items()
        if name not in used
    ]


def _choices(known: Json | None) -> dict[str, str]:
    choices = known.get("choices") if known else None
    return {str(k): str(v) for k, v in choices.items()} if isinstance(choices, Mapping) else {}


def _any_of(names: Iterable[str]) -> str:
    listed: Sequence[str] = list(names)
    return " or ".join([", ".join(listed[:-1]), listed[-1]] if len(listed) > 1 else listed)
