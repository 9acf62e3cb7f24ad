"""The questionnaires of a draft as their page shows them: ready-made sets, and a study's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from listening.design.draft_fields import SCREEN_OUTS, field_value
from listening.design.draft_questionnaires import (
    KINDS,
    WHENS,
    answers_gone,
    answers_of,
    deciders,
    forms_of,
    kind_of,
    named_question,
    options_of,
    questions_of,
    used_sets,
)
from listening.design.draft_toml import Table
from listening.design.occasions import BETWEEN
from listening.design.questionnaires import (
    PREFER_NOT,
    PREFER_NOT_TEXT,
    READY_MADE,
    TITLES,
    default_title,
)
from listening.design.questions import known_kind
from listening.web.researcher.draft_fields import language_words, languages_of, translated_word

SCREEN_OUT_WORDS = {
    "screen.loudspeaker": "raters with loudspeakers",
    "screen.loss": "raters with a hearing loss",
    "screen.not_native": "non-native listeners of the study’s language",
    "screen.not_fluent": "people who do not speak the study’s language fluently",
    "screen.under_18": "people under 18",
}


def questionnaire_fields(top: Table) -> dict[str, Any]:
    """Ready-made sets with their ticks, and each questionnaire with its questions."""
    return {
        "sets": [_ready_made(key, top) for key in READY_MADE],
        "screens": [
            {"name": name, "words": SCREEN_OUT_WORDS[name], "ticked": field_value(top, name)}
            for name in SCREEN_OUTS
        ],
        "forms": [_form(n, form, top) for n, form in enumerate(forms_of(top))],
        "kinds": list(KINDS.items()),
        "whens": list(WHENS.items()),
    }


def _ready_made(key: str, top: Table) -> dict[str, Any]:
    questions = [question["question"] for question in READY_MADE[key]]
    ticked = field_value(top, f"forms.{key}")
    return {"key": key, "title": TITLES[key], "questions": questions, "ticked": ticked}


def _form(place: int, form: Mapping[str, Any], top: Table) -> dict[str, Any]:
    used = used_sets(form)
    tasks = [each for each in top.get("tasks", []) if isinstance(each, dict)]
    when = form.get("when", "before")
    questions = questions_of(form)
    return {
        "place": place,
        "anchor": f"q{place}",
        "entry": form,
        "when": when,
        "usual_title": default_title(used),
        "used": [TITLES[name] for name in used],
        "tasks": [
            {"place": n, "title": task.get("title") or task.get("key", "")}
            | {"ticked": field_value(top, f"questionnaires.{place}.of.{n}")}
            for n, task in enumerate(tasks)
            if len(tasks) > 1
        ],
        "languages": [_language(tag, form, questions, top) for tag in languages_of(top)],
        "last": place == len(forms_of(top)) - 1,
        "questions": [_question(n, each, place, top) for n, each in enumerate(questions)],
    }


def _language(
    tag: str, form: Mapping[str, Any], questions: list[Table], top: Table
) -> dict[str, Any]:
    """The words of a questionnaire in one more language; ready-made questions bring their own."""
    key = form.get("key", "")
    at = f"study.translations.{tag}.questionnaires.{key}"
    named = [
        ("title", "Title", form.get("title", "")),
        ("text", "Introduction", form.get("text", "")),
    ]
    for n, question in enumerate(filter(kind_of, questions), start=1):
        own = f"questions.{question.get('key', '')}"
        named += [
            (f"{own}.question", f"Question {n}", question.get("question", "")),
            (f"{own}.help", f"Help text {n}", question.get("help", "")),
        ]
        named += [
            (f"{own}.options.{value}", f"Answer “{words}”", words)
            for value, words in options_of(question)
        ]
    fields = [
        translated_word(f"{at}.{name}", words, original, field_value(top, f"{at}.{name}"))
        for name, words, original in named
    ]
    return language_words(tag, fields)


def _question(place: int, question: Mapping[str, Any], form: int, top: Table) -> dict[str, Any]:
    entry, at = forms_of(top)[form], f"questionnaires.{form}.questions"
    kind, variant = known_kind(question.get("kind")), kind_of(question)
    when = entry.get("when", "before")
    questions, rule = questions_of(entry), question.get("show_if")
    rule = rule if isinstance(rule, dict) else {}
    asked = str(rule.get("question", ""))
    decider = named_question(entry, asked)
    return {
        "at": f"{form}.{place}",
        "id": f"{form}-{place}",
        "anchor": f"q{form}-{place}",
        "spoken": f"question {place + 1}",
        "name": f"{at}.{place}",
        "entry": question,
        "kind": kind,
        "variant": variant,
        "kind_words": KINDS.get(variant, ""),
        "required": question.get("required", True) is not False,
        "may_compare": bool(kind.covariate) and when not in BETWEEN,
        "options": field_value(top, f"{at}.{place}.options"),
        "rules": _rules(entry, place, asked),
        "rule": asked,
        "leads": _ticks(top, f"{at}.{place}.leads", decider, rule.get("answers")),
        "refused": _ticks(top, f"{at}.{place}.refused", question, question.get("screen_out"))
        if kind.chosen and when == "before"
        else [],
        "last": place == len(questions) - 1,
    }


def _rules(form: Mapping[str, Any], place: int, asked: str) -> list[tuple[str, str, bool]]:
    """The earlier questions that may decide whether one is asked, and the one that does."""
    earlier = {str(each.get("key", "")): each.get("question", "") for each in deciders(form, place)}
    if asked and asked not in earlier:
        earlier[asked] = named_question(form, asked).get("question", asked)
    return [(key, words, key == asked) for key, words in earlier.items()]


def _ticks(top: Table, name: str, decider: Mapping[str, Any], given: Any) -> list[dict[str, Any]]:
    """The answers of a rule to tick, also those that are gone, so that they can be unticked."""
    answers = [(str(n), words, False) for n, (_, words) in enumerate(answers_of(decider))]
    for value in answers_gone(decider, given):
        declined = value == PREFER_NOT and decider.get("prefer_not")
        answers.append((f"gone.{value}", PREFER_NOT_TEXT if declined else value, not declined))
    return [
        {"name": f"{name}.{each}", "words": words, "gone": gone}
        | {"ticked": field_value(top, f"{name}.{each}")}
        for each, words, gone in answers
    ]
