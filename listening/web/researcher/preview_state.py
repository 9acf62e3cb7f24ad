"""What a rater's page is told of a study that nobody takes: every stage, with nothing stored."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, Protocol

from django.templatetags.static import static
from django.utils.translation import gettext as _

from listening.common.languages import CODES, study_words
from listening.design.occasions import AFTER_TASK, Occasion, occasions_of
from listening.design.preview_trials import ShownTrial, scales_of, trials_of
from listening.design.questionnaires import has_screening, in_words, next_part
from listening.design.questionnaires import page as questionnaire_page
from listening.design.studyfile import StudyFile, TaskEntry
from listening.design.studyfile.entries import ItemEntry
from listening.design.studyfile.questionnaire_tables import plans_of
from listening.design.studyfile.stimuli_csv import CAPTION
from listening.design.traps import TRAINING, TrapPlan
from listening.methods import Part, method_named
from listening.methods.error_spans import shifted_label
from listening.methods.marking import spans_in_words
from listening.methods.method import ALTERNATIVES, QUESTION
from listening.methods.transcript_scores import SpokenText
from listening.sessions.answers import feedback_on
from listening.sessions.stages import check_and_settings
from listening.sessions.task_rules import InWords, parts_of
from listening.web.rater import page_facts
from listening.web.rater.endings import end_facts
from listening.web.researcher.preview_studies import Source

CODE = "PREVIEW"  # in the place of the completion code


def in_language(file: StudyFile, language: str) -> StudyFile:
    """The study with its own words of that language; what has no translation stays.

    A language that the study does not offer is shown with Earnest's texts alone. The words of
    the criteria are put in where the scale is known: see `criteria_words`.
    """
    if language not in file.translations:
        return replace(file, language=language) if language.lower() in CODES else file
    words = study_words(file.title, file.texts, file.translations, language)
    return replace(
        file,
        language=language,
        title=words["title"],
        texts=words["texts"],
        checks=tuple({**each, **words["checks"].get(each["key"], {})} for each in file.checks),
        questionnaires=tuple(
            in_words(each, words["questionnaires"].get(each["key"], {}))
            for each in file.questionnaires
        ),
        tasks=tuple(
            _task_in_language(task, task.translations.get(language, {})) for task in file.tasks
        ),
    )


def _task_in_language(task: TaskEntry, words: Mapping[str, Any]) -> TaskEntry:
    feedback = words.get("training", {})
    captions = words.get("captions", {})
    reason = {**task.justification, **words.get("justification", {})}
    return replace(
        task,
        title=words.get("title") or task.title,
        instructions=words.get("instructions") or task.instructions,
        justification=reason if task.justification else {},
        training=tuple({**each, **feedback.get(each["stimulus"], {})} for each in task.training),
        examples=tuple(
            {**e, "caption": captions.get(e["stimulus"], e.get("caption", ""))}
            for e in task.examples
        ),
    )


def criteria_words(task: TaskEntry, language: str) -> Mapping[str, Mapping[str, Any]]:
    """Criterion -> its words in that language."""
    words: Mapping[str, Mapping[str, Any]] = task.translations.get(language, {}).get("criteria", {})
    return words


class Addresses(Protocol):
    """Where the sounds of a preview are."""

    def clip(self, stimulus: str) -> str: ...

    def sound(self, check: str, seed: str, place: int) -> str: ...


def preview_state(
    file: StudyFile, source: Source, addresses: Addresses, rng: Random
) -> dict[str, Any]:
    """The State of a session that has not begun, with everything that comes later."""
    trials = trials_of(file, rng)
    stages = [
        *_questionnaires(file, "before"),
        *(_check(file, entry["key"], addresses) for entry in file.checks),
        *_trial_stages(file, trials),
        *_questionnaires(file, "after"),
    ]
    return {
        "stage": stages[0]["stage"] if stages else "end",
        "preview": True,
        "study": {
            "title": file.title,
            "language": file.language,
            "contact": file.texts.get("contact", ""),
            "break_every": file.break_every,
        },
        "progress": {"done": 0, "total": len(trials)},
        "questionnaire": None,
        "check": None,
        "tasks": [_task(file, index, addresses) for index in range(len(file.tasks))],
        "trials": [],
        "end": None,
        "preview_stages": stages,
        "preview_trials": _trials(file, source, addresses, trials),
        "preview_end": _end(file.texts),
    }


def _questionnaires(file: StudyFile, when: str) -> Iterator[dict[str, Any]]:
    forms = [
        questionnaire for questionnaire in file.questionnaires if questionnaire["when"] == when
    ]
    split = [each for each in forms if when == "before" and has_screening(each)]
    parts = [next_part(each, None) for each in split]
    parts += [next_part(each, {"answers": {}}) if each in split else each for each in forms]
    for part in parts:
        yield {"stage": "questionnaire", "questionnaire": questionnaire_page(part, _, static)}


def _trial_stages(file: StudyFile, trials: Sequence[ShownTrial]) -> Iterator[dict[str, Any]]:
    """The trials, and after those of each task what is asked between its blocks and after it.

    A preview has a few clips of one block, so each questionnaire comes once in a task.
    """
    done = 0
    for place in dict.fromkeys(trial.task for trial in trials):
        done += sum(trial.task == place for trial in trials)
        forms = _forms_of_task(file, place)
        if forms or done == len(trials):
            yield {"stage": "trial", "until": done}
        for form, occasion in forms:
            shown = questionnaire_page(form, _, static)
            shown |= page_facts.occasion_facts(occasion.key, done, len(trials))
            yield {"stage": "questionnaire", "questionnaire": shown}


def _forms_of_task(file: StudyFile, place: int) -> list[tuple[Mapping[str, Any], Occasion]]:
    """What is asked between the blocks of a task, then what is asked after it."""
    plans = plans_of(file.tasks)
    first = [
        (form, next((o for o in occasions_of(form, plans) if o.task == place + 1), None))
        for form in file.questionnaires
    ]
    forms = [(form, occasion) for form, occasion in first if occasion]
    return sorted(forms, key=lambda each: each[0]["when"] == AFTER_TASK)


def _check(file: StudyFile, key: str, addresses: Addresses) -> dict[str, Any]:
    """A first attempt with a seed thrown for it; here the page may know what is right."""
    check, settings = check_and_settings(file.checks, key, file.language)
    seed = secrets.token_hex(16)
    first = page_facts.check_facts(check, settings, seed, 1, partial(addresses.sound, key, seed))
    return {
        "stage": "check",
        "check": first,
        "truths": [trial.truth for trial in check.plan(settings, seed)],
        "pass_at_least": settings.pass_at_least,
    }


def _task(file: StudyFile, index: int, addresses: Addresses) -> dict[str, Any]:
    task = file.tasks[index]
    criteria = zip(task.criteria, scales_of(task), strict=True)
    words = criteria_words(task, file.language)
    method = method_named(task.method)
    own = page_facts.task_facts(
        index,
        title=task.title,
        instructions=task.instructions,
        method=method,
        playback=method.playback(task.options),
        autoplay=task.autoplay,
        criteria=[
            page_facts.criterion_words(c.question, c.help_text, scale, words.get(c.key, {}))
            for c, scale in criteria
        ],
        justification=task.justification,
    )
    examples = [(addresses.clip(e["stimulus"]), e.get("caption", "")) for e in task.examples]
    return {**own, "examples": page_facts.example_facts(examples)}


def _trials(
    file: StudyFile, source: Source, addresses: Addresses, trials: Sequence[ShownTrial]
) -> list[dict[str, Any]]:
    parts = [parts_of(method_named(file.tasks[t.task].method), t, t.code) for t in trials]
    keys = {file.stimuli[part.stimulus].key for each in parts for part in each}
    lines = source.lines(keys)

    def address(place: int, part: Part) -> str:
        return addresses.clip(file.stimuli[part.stimulus].key)

    tasks = [_task(file, index, addresses) for index in range(len(file.tasks))]
    return [
        {
            "id": trial.code,
            "position": position,
            "task": trial.task,
            **page_facts.clip_facts(own, address, partial(_lines, file, lines)),
            **_kind(file.items[trial.item_id], tasks[trial.task]),
            "text": _text(file, trial),
            "caption": _caption(file, trial),
            **_alternatives(file, trial),
            **_words(file, trial),
            "training": _training(trial, trials),
            "judged": _judged(file, source, trial),
        }
        for position, (trial, own) in enumerate(zip(trials, parts, strict=True), start=1)
    ]


def _kind(item: ItemEntry, task: Mapping[str, Any]) -> dict[str, str]:
    return page_facts.kind_facts(item.dimension, item.text, task)


def _lines(
    file: StudyFile, lines: Mapping[str, Sequence[Mapping[str, Any]]], stimulus: int
) -> Sequence[Mapping[str, Any]]:
    return lines.get(file.stimuli[stimulus].key, ())


def _text(file: StudyFile, trial: ShownTrial) -> str | None:
    task = file.tasks[trial.task]
    shown = page_facts.shows_text(task.show_text, TrapPlan.from_dict(task.traps), trial.trap)
    return file.items[trial.item_id].text if shown else None


def _caption(file: StudyFile, trial: ShownTrial) -> str | None:
    shown = file.tasks[trial.task].show_caption
    return file.stimuli[trial.stimulus_id].attributes.get(CAPTION) if shown else None


def _alternatives(file: StudyFile, trial: ShownTrial) -> dict[str, Any]:
    """Those that the trial's clip brings, in an order drawn for it."""
    task, clip = file.tasks[trial.task], file.stimuli[trial.stimulus_id].attributes
    scale = next((each for each in scales_of(task) if each.widget == ALTERNATIVES), None)
    if scale is None:
        return {}
    method, rng = method_named(task.method), Random(trial.code)
    steps = method.ordered_alternatives(scale.of_clip(clip), task.options, rng)
    question = str(clip.get(QUESTION, "")).strip()
    asked = {"question": question} if question else {}
    return {"alternatives": page_facts.alternatives_facts(steps), **asked}


def _words(file: StudyFile, trial: ShownTrial) -> dict[str, Any]:
    """Those of the trial's clip that raters mark."""
    method = method_named(file.tasks[trial.task].method)
    spoken = _spoken(file, trial)
    shown = method.needs_text(file.tasks[trial.task].options)
    words = method.words_to_mark(spoken) if shown else None
    return {} if words is None else {"words": words}


def _spoken(file: StudyFile, trial: ShownTrial) -> SpokenText:
    item = file.items[trial.item_id]
    return SpokenText(item.transcript or item.text, item.language or file.language)


def _training(trial: ShownTrial, trials: Sequence[ShownTrial]) -> dict[str, int] | None:
    if trial.trap != TRAINING:
        return None
    own = [t.code for t in trials if t.task == trial.task and t.trap == TRAINING]
    return {"n": own.index(trial.code) + 1, "total": len(own)}


def _judged(file: StudyFile, source: Source, trial: ShownTrial) -> dict[str, Any] | None:
    """After practice: which answers are right, and what is said after right and wrong ones."""
    if trial.trap != TRAINING:
        return None
    task = file.tasks[trial.task]
    key = file.stimuli[trial.stimulus_id].key
    entry = next(e for e in task.training if e["stimulus"] == key)
    scale = scales_of(task)[0].of_clip(file.stimuli[trial.stimulus_id].attributes)
    method, expected = method_named(task.method), list(trial.expected)
    in_words: InWords | None = None
    if method.marks_time(task.options):  # clips of previews have no silence before their sound
        expected = [shifted_label(label, -source.trimmed_s(key)) for label in expected]
        in_words = partial(spans_in_words, scale=scale, later_s=0.0)
    elif method.needs_text(task.options) and not method.compares_text:
        in_words = partial(method.in_words, scale=scale, spoken=_spoken(file, trial))
    feedback = partial(feedback_on, entry, expected, scale, in_words=in_words)
    return {"labels": expected, "right": feedback(True), "wrong": feedback(False)}


def _end(texts: Mapping[str, str]) -> dict[str, Any]:
    """The end after the last trial; only words of the study's own stand there."""
    end = end_facts("complete", texts, code=CODE, from_prolific=False, commented=False)
    return {**end, "text": texts.get("end", "")}
