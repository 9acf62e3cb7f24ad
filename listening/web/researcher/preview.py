"""A study as its raters see it, for researchers: real pages and clips, and nothing is stored."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, Protocol

from csp.constants import SELF
from csp.decorators import csp_replace
from django.contrib.auth import get_user_model
from django.contrib.auth.decorators import login_required
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_GET

from listening.access.rights import LOOK, draft_for, study_for
from listening.audio import AudioError
from listening.audio.links import flac_response
from listening.common.addresses import public_route
from listening.common.languages import CODES, page_words, speaking, study_words
from listening.design.draft_questionnaires import forms_of
from listening.design.occasions import AFTER_TASK, Occasion, occasions_of
from listening.design.preview_trials import ShownTrial, scales_of, trials_of
from listening.design.questionnaires import has_screening, in_words, next_part
from listening.design.questionnaires import page as questionnaire_page
from listening.design.studyfile import StudyFile, StudyProblems, TaskEntry, mistakes
from listening.design.studyfile.entries import ItemEntry
from listening.design.studyfile.questionnaire_tables import plans_of
from listening.design.studyfile.stimuli_csv import CAPTION
from listening.design.traps import TRAINING, TrapPlan
from listening.drafts.folder import folder_of, rows_of, table_of
from listening.methods import Part, method_named
from listening.methods.error_spans import shifted_label
from listening.methods.marking import spans_in_words
from listening.methods.method import ALTERNATIVES, QUESTION
from listening.methods.transcript_scores import SpokenText
from listening.models import Draft, Study
from listening.sessions.answers import feedback_on
from listening.sessions.stages import NotAsked, check_and_settings
from listening.sessions.task_rules import InWords, parts_of
from listening.web.posted_values import whole_number
from listening.web.rater import page_facts
from listening.web.rater.endings import end_facts
from listening.web.rater.pages import as_wav, languages_of
from listening.web.researcher.draft_mistakes import shown_mistakes
from listening.web.researcher.preview_studies import (
    Source,
    StoredSource,
    example,
    folder_source,
    only,
    questionnaire_alone,
)

CODE = "PREVIEW"  # in the place of the completion code
PARTS = ("task", "check", "questionnaire")
LINKED, LINK_S = "preview", 15 * 60
SEED = re.compile(r"[0-9a-f]{32}")
CACHE_S = 3600


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


@never_cache
@login_required
@require_GET
def study_preview(request: HttpRequest, key: str) -> HttpResponse:
    back = (reverse("study", args=[key]), "To the study")
    return _page(request, _stored(request, key), _Addresses("study", key), back)


@never_cache
@login_required
@require_GET
def example_preview(request: HttpRequest, name: str) -> HttpResponse:
    back = (reverse("gallery"), "To the gallery")
    return _page(request, _example(name), _Addresses("example", name), back)


@never_cache
@login_required
@require_GET
@xframe_options_sameorigin  # beside the questions, on the page that changes them
@csp_replace({"frame-ancestors": [SELF]})  # type: ignore[arg-type]  # knows no arguments of views
def draft_preview(request: HttpRequest, code: str) -> HttpResponse:
    draft = draft_for(request.user, code, LOOK)
    try:
        return _draft_page(request, draft)
    except Http404:  # a part that was just removed: the frame may show this page alone
        return render(request, "researcher/draft_no_preview.html", status=404)


def _draft_page(request: HttpRequest, draft: Draft) -> HttpResponse:
    back = (reverse("draft-questions", args=[draft.code]), "To the questions")
    if "form" in request.GET:
        return _by_its_key(request, draft)
    addresses = _Addresses("draft", draft.code)
    try:
        return _page(request, folder_source(folder_of(draft)), addresses, back)
    except StudyProblems as problems:
        top, rows = table_of(draft), rows_of(draft)
        if source := questionnaire_alone(top, request.GET.get("questionnaire", "")):
            return _page(request, source, addresses, back)
        grouped = shown_mistakes(mistakes(problems.problems), top, rows)
        context = {"draft": draft, "mistakes": grouped}
        return render(request, "researcher/draft_no_preview.html", context)


def _by_its_key(request: HttpRequest, draft: Draft) -> HttpResponse:
    """To a questionnaire by its place, which stays while its key is changed on the page."""
    forms = forms_of(table_of(draft))
    place, query = whole_number(request.GET["form"], len(forms)), request.GET.copy()
    if place >= len(forms):
        raise Http404
    del query["form"]
    query["questionnaire"] = str(forms[place].get("key", ""))
    return redirect(f"{request.path}?{query.urlencode()}")


@login_required
@require_GET
def draft_clip(request: HttpRequest, code: str, stimulus: str) -> HttpResponseBase:
    return _clip(request, _draft(request, code), stimulus)


@login_required
@require_GET
def draft_sound(
    request: HttpRequest, code: str, check: str, seed: str, place: int
) -> HttpResponseBase:
    return _sound(_draft(request, code), check, seed, place)


def _draft(request: HttpRequest, code: str) -> Source:
    return folder_source(folder_of(draft_for(request.user, code, LOOK)))


def preview_link(study: Study, user: Any) -> str:
    """An address that shows the preview of a study for `LINK_S` without a login."""
    return public_route("linked-preview", signing.dumps([study.pk, user.pk], salt=LINKED))


@never_cache
@require_GET
def linked_preview(request: HttpRequest, signed: str) -> HttpResponse:
    source = _linked(signed)
    back = (reverse("study", args=[source.study.key]), "To the study")
    return _page(request, source, _Addresses("linked", signed), back)


@require_GET
def linked_clip(request: HttpRequest, signed: str, stimulus: str) -> HttpResponseBase:
    return _clip(request, _linked(signed), stimulus)


@require_GET
def linked_sound(
    request: HttpRequest, signed: str, check: str, seed: str, place: int
) -> HttpResponseBase:
    return _sound(_linked(signed), check, seed, place)


def _linked(signed: str) -> StoredSource:
    """The study of a link; Http404 where it is over, or its maker may see the study no more."""
    try:
        study_pk, user_pk = signing.loads(signed, salt=LINKED, max_age=LINK_S)
    except signing.BadSignature:
        raise Http404("This link has expired.") from None
    user = get_user_model().objects.filter(pk=user_pk, is_active=True).first()
    study = Study.objects.filter(pk=study_pk).first()
    if user is None or study is None:
        raise Http404("This link has expired.")
    return StoredSource(study_for(user, study.key, LOOK))


@login_required
@require_GET
def study_clip(request: HttpRequest, key: str, stimulus: str) -> HttpResponseBase:
    return _clip(request, _stored(request, key), stimulus)


@login_required
@require_GET
def example_clip(request: HttpRequest, name: str, stimulus: str) -> HttpResponseBase:
    return _clip(request, _example(name), stimulus)


@login_required
@require_GET
def study_sound(
    request: HttpRequest, key: str, check: str, seed: str, place: int
) -> HttpResponseBase:
    return _sound(_stored(request, key), check, seed, place)


@login_required
@require_GET
def example_sound(
    request: HttpRequest, name: str, check: str, seed: str, place: int
) -> HttpResponseBase:
    return _sound(_example(name), check, seed, place)


def _stored(request: HttpRequest, key: str) -> StoredSource:
    return StoredSource(study_for(request.user, key, LOOK))


def _example(name: str) -> Source:
    preset = example(name)
    if preset is None:
        raise Http404
    return preset


class _Addresses(Addresses):
    """Where the clips of a preview are: below its own name, for who may see it."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, name

    def clip(self, stimulus: str) -> str:
        return reverse(f"{self.kind}-preview-clip", args=[self.name, stimulus])

    def sound(self, check: str, seed: str, place: int) -> str:
        return reverse(f"{self.kind}-preview-sound", args=[self.name, check, seed, place])


def _page(
    request: HttpRequest, source: Source, addresses: Addresses, back: tuple[str, str]
) -> HttpResponse:
    """The first page and then, with the rater's consent, the others; one part has no first page."""
    part = {name: request.GET.get(name, "") for name in PARTS}
    file = only(source.file, **part)
    if file is None:
        raise Http404
    language = request.GET.get("lang", "")
    file = in_language(file, language)
    if not any(part.values()) and request.GET.get("consent") != "yes":
        return _entry_page(request, file, source, back)
    with speaking(file.language):
        state = preview_state(file, source, addresses, Random(secrets.token_bytes(16)))
        context = {"study": state["study"], "state": state, "tasks": state["tasks"], "back": back}
        context |= page_words(file.language)
        return render(request, "rater/session.html", context)


def _entry_page(
    request: HttpRequest, file: StudyFile, source: Source, back: tuple[str, str]
) -> HttpResponse:
    with speaking(file.language):
        context = {
            **page_facts.entry_facts(file, source.length),
            **{"study": file, "preview": True, "back": back},
            "languages": languages_of(source.file, file.language, {}),
            "arrival": {"lang": file.language} if file.language != source.file.language else {},
            **page_words(file.language),
        }
        return render(request, "rater/landing.html", context)


def _clip(request: HttpRequest, source: Source, stimulus: str) -> HttpResponseBase:
    try:
        path = source.clip(stimulus) if "\0" not in stimulus else None  # no database looks that up
    except AudioError:
        raise Http404 from None  # the page of sounds says what is wrong with it
    if path is None or not path.is_file():
        raise Http404
    response = flac_response(path, request.headers.get("Range", ""))
    response["Cache-Control"] = f"private, max-age={CACHE_S}"
    return response


def _sound(source: Source, key: str, seed: str, place: int) -> HttpResponse:
    """The sound of a check, made of the seed that the page threw the dice for."""
    if not SEED.fullmatch(seed):
        raise Http404
    try:
        check, settings = check_and_settings(source.file.checks, key, source.file.language)
        wave = check.signal(settings, seed, place)
    except (NotAsked, IndexError):
        raise Http404 from None
    response = HttpResponse(as_wav(wave, check.sample_rate_hz), content_type="audio/wav")
    response["Cache-Control"] = f"private, max-age={CACHE_S}"
    return response
