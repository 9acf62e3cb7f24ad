"""A study made in the browser: what it is begun as, its sounds, questions, raters, and opening.

The sidebar of every page says what the study amounts to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from listening.access.rights import (
    EDIT,
    LOOK,
    draft_for,
    projects_of,
    study_for,
    visible_studies,
)
from listening.audio.degradations import FLAWS
from listening.common.interface_languages import INTERFACE_LANGUAGES
from listening.common.languages import name_of, unchecked_translations
from listening.common.sound_files import EXTENSIONS
from listening.common.views import logged_in_page
from listening.design import draft_context
from listening.design.draft_fields import field_value
from listening.design.draft_toml import LOUDNESS_LUFS, Kind, Table, all_kinds
from listening.design.scanning import UnclearNames, describe_ignored, scan
from listening.design.studyfile import Reading, StimulusEntry, mistakes
from listening.drafts import anchors_and_traps, folder, levels, making, sounds
from listening.drafts.figures import Cost, figures_of, length_of, reading_of, whole
from listening.drafts.files import Facts, facts_of, names_of, problems_of
from listening.drafts.journal import last_by
from listening.models import Draft
from listening.recruitment.plan import money
from listening.studies import StudyError, count_pilots
from listening.studies.design_findings import address_findings, design_findings
from listening.studies.sound_findings import sound_findings
from listening.web.researcher.checks_and_traps import EASY, chance_text
from listening.web.researcher.draft_fields import (
    languages_of,
    question_fields,
    rater_fields,
)
from listening.web.researcher.draft_forms import questionnaire_fields
from listening.web.researcher.draft_mistakes import (
    ShownMistake,
    placeholder_findings,
    shown_at_fields,
    shown_mistakes,
)
from listening.web.researcher.draft_places import (
    PAGES,
    QUESTIONNAIRES,
    QUESTIONS,
    RATERS,
    REVIEW,
    SOUNDS,
)
from listening.web.researcher.preview_studies import GALLERY, example, what_it_is
from listening.web.researcher.shown_findings import findings_of_draft
from listening.web.researcher.study_list import draft_list

SENTENCES_PER_PAGE = 40
NAMED = 20  # groups of files that are not used
MOST_BROKEN = 50  # files that cannot be used
MOST_DRAFTS = 100
ROLES = {
    "test": "Compared",
    "reference": "Reference",
    "anchor": "Anchor",
    "prompt": "Prompt (heard before clips)",
    "trap": "Trap (must get a low score)",
}


def sidebar(draft: Draft, reading: Reading | None = None) -> dict[str, Any]:
    reading = reading or reading_of(draft)
    figures = figures_of(draft, reading)
    return {
        "draft": draft,
        "reading": reading,
        "figures": figures,
        "mistakes": _mistakes(draft, reading),
        "unwritten": _unwritten(draft),
        "cost": _cost(figures.cost) if figures.cost else None,
        "minutes": figures.length.minutes if figures.length else None,
        "parts": figures.length.parts if figures.length else [],
        "checks_passed": "" if figures.checks is None else chance_text(figures.checks),
        "traps_passed": chance_text(figures.traps.guessing) if figures.traps else "",
        "traps_easy": figures.traps is not None and figures.traps.guessing > EASY,
        "traps_same": figures.traps is not None and figures.traps.same == 1,
    }


def _mistakes(draft: Draft, reading: Reading) -> list[ShownMistake]:
    """What is wrong, by page and field; the files are read again only where something is."""
    found = mistakes(reading.problems)
    return shown_mistakes(found, folder.table_of(draft), folder.rows_of(draft)) if found else []


def _unwritten(draft: Draft) -> list[ShownMistake]:
    """Questions that were added and not written yet."""
    top = folder.table_of(draft)
    return shown_at_fields(placeholder_findings(top), top)


def _cost(cost: Cost) -> dict[str, str]:
    return {
        "hourly": money(cost.hourly, cost.currency),
        "each": money(cost.each, cost.currency),
        "pay": money(cost.pay, cost.currency),
        "fees": money(cost.fees, cost.currency),
        "total": money(cost.total, cost.currency),
        "fee_words": cost.fee_words,
    }


def own_draft(request: HttpRequest, code: str, wants: str = "") -> Draft:
    """The draft, for who may do that with it; without a word, look at it or change it."""
    return draft_for(request.user, code, wants or (LOOK if request.method == "GET" else EDIT))


@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def new_study(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        return _begin(request)
    cards = [
        {"key": key, "kind": kind, "url": _try_it(key, kind)} for key, kind in all_kinds().items()
    ]
    context = {
        "cards": cards,
        **draft_list(request.user, MOST_DRAFTS),
        "projects": projects_of(request.user, EDIT),
        "studies": visible_studies(request.user).order_by("-created_at")[:50],
    }
    return render(request, "researcher/new_study.html", context)


def _try_it(key: str, kind: Kind) -> str:
    """One trial of the gallery where it has the method, else the preset from its first page.

    Empty for a plug-in's method that needs an option, of which there is nothing to show.
    """
    gallery = example(GALLERY)
    if gallery and key in [task.key for task in gallery.file.tasks]:
        return f"{reverse('example-preview', args=[GALLERY])}?{urlencode({'task': key})}"
    return "" if kind.method else reverse("example-preview", args=[kind.preset])


def _begin(request: HttpRequest) -> HttpResponse:
    assert request.user.is_authenticated
    kind, chosen = request.POST.get("kind", ""), request.POST.get("project", "")
    number = int(chosen) if chosen.isdecimal() and len(chosen) < 10 else 0
    project = projects_of(request.user, EDIT).filter(pk=number).first()
    if kind in all_kinds():
        draft = folder.begin(request.user, kind, project)
    elif kind == "folder":
        draft = folder.begin_empty(request.user, project)
    elif kind == "copy":
        study = study_for(request.user, request.POST.get("study", ""), EDIT)
        try:
            draft = folder.begin_copy(request.user, study, project)
        except StudyError as error:
            messages.error(request, f"The study was not copied. {error}")
            return redirect("new-study")
        messages.success(request, f"This is a copy of “{study.title}”; the study itself stays.")
    else:
        messages.error(request, "Choose what kind of study it is.")
        return redirect("new-study")
    return redirect("draft", code=draft.code)


# --- The steps ------------------------------------------------------------------------------------


@logged_in_page
def step(request: HttpRequest, code: str) -> HttpResponse:
    """One of `PAGES`; a draft that cannot be read shows why."""
    draft = own_draft(request, code, LOOK)
    reading = reading_of(draft)
    here = request.resolver_match.view_name if request.resolver_match else ""
    context = {"draft": draft, "reading": reading, "steps": PAGES.items(), "here": here}
    context["last_by"] = last_by(draft.changes)
    try:
        top = folder.table_of(draft)
        context |= {**sidebar(draft, reading), "table": top}
        template, facts_for = STEPS[here]
        context |= facts_for(request, draft, top, reading)
    except folder.Unreadable as problem:
        context["unreadable"] = str(problem)
        return render(request, "researcher/draft_review.html", context)
    return render(request, f"researcher/{template}", context)


def _sounds(request: HttpRequest, draft: Draft, top: Table, reading: Reading) -> dict[str, Any]:
    rows = folder.rows_of(draft)
    pages = Paginator(range(len({row["item"] for row in rows})), SENTENCES_PER_PAGE)
    page = pages.get_page(request.GET.get("page"))
    left, broken = sounds.not_used(draft), problems_of(draft)
    facts = facts_of(draft, [row["file"] for row in rows])
    return {
        "matrix": sounds.matrix(draft, page.number, SENTENCES_PER_PAGE, facts),
        "page": page,
        "left": describe_ignored(left, NAMED),
        "left_files": len(left),
        "unusable": levels.unusable(facts),
        "unclear": _unclear(draft),
        "broken": list(broken.items())[:MOST_BROKEN],
        "broken_more": len(broken) - MOST_BROKEN,
        "endings": " ".join(EXTENSIONS),
        "piece": settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
        **_buttons(draft, top, rows, facts),
    }


def _buttons(
    draft: Draft, top: Table, rows: folder.Rows, facts: dict[str, Facts]
) -> dict[str, Any]:
    """What the buttons of the page of sounds offer, and what they would do."""
    study = top.get("study", {})
    known = [each["sample_rate_hz"] for each in facts.values() if "sample_rate_hz" in each]
    return {
        "change": levels.change_to(study.get("loudness_lufs"), facts),
        "resampled": levels.resampled(study.get("sample_rate_hz"), facts),
        "lowest_rate": max(min(known), 8000) if known else None,
        "rates": sorted(set(known)),
        "usual_loudness": LOUDNESS_LUFS,
        "made": list(anchors_and_traps.count_made_clips(rows)),
        "flaws": FLAWS,
        "can_trap": anchors_and_traps.can_trap(draft, top),
        "compares": sounds.compares(top),
        "context": draft_context.form_of(top),
        "forms": draft_context.FORMS,
        "roles": [(role, ROLES[role]) for role in sounds.offered_roles(top, rows)],
    }


def _unclear(draft: Draft) -> UnclearNames | None:
    """Why files that came are in no table yet: their names can be read in several ways."""
    names = names_of(draft)
    if not names or folder.rows_of(draft):
        return None
    try:
        scan(names, draft.pattern)
    except UnclearNames as unclear:
        return unclear
    return None


def _questions(request: HttpRequest, draft: Draft, top: Table, reading: Reading) -> dict[str, Any]:
    return {
        "tasks": question_fields(top, folder.rows_of(draft)),
        "hypotheses": field_value(top, "study.hypotheses"),
        "language_name": name_of(top.get("study", {}).get("language", "en")),
        "offered": [(tag, name_of(tag)) for tag in languages_of(top)],
        "interface_languages": INTERFACE_LANGUAGES,
        "unchecked": unchecked_translations(),
    }


def _questionnaires(
    request: HttpRequest, draft: Draft, top: Table, reading: Reading
) -> dict[str, Any]:
    name = name_of(top.get("study", {}).get("language", "en"))
    return questionnaire_fields(top) | {"language_name": name}


def _raters(request: HttpRequest, draft: Draft, top: Table, reading: Reading) -> dict[str, Any]:
    return rater_fields(top)


def _review(request: HttpRequest, draft: Draft, top: Table, reading: Reading) -> dict[str, Any]:
    is_made = making.is_made(draft)
    study = whole(reading)
    length = length_of(draft, reading)
    findings = making.findings_of(draft) if is_made else []
    if study is not None and length is not None and not is_made:
        rows = folder.rows_of(draft)
        facts = facts_of(draft, [row["file"] for row in rows])
        clips = levels.measured(rows, facts, study.loudness_lufs)
        findings = [*sound_findings(clips), *design_findings(study, length)]
        findings.sort(key=lambda finding: finding.level)
    findings = [*address_findings(), *placeholder_findings(top), *findings]
    return {
        "made_of": what_it_is(study, lambda entry: _clip_address(draft, entry)) if study else None,
        "projects": projects_of(request.user, EDIT),
        "made": is_made,
        "tries": count_pilots(draft.study) if is_made and draft.study else 0,
        "findings": findings_of_draft(findings, draft),
        "serious": any(each.level == "problem" for each in findings),
    }


StepFacts = Callable[[HttpRequest, Draft, Table, Reading], dict[str, Any]]
STEPS: dict[str, tuple[str, StepFacts]] = {  # route -> its template, and what this shows
    SOUNDS: ("draft_sounds.html", _sounds),
    QUESTIONS: ("draft_questions.html", _questions),
    QUESTIONNAIRES: ("draft_questionnaires.html", _questionnaires),
    RATERS: ("draft_raters.html", _raters),
    REVIEW: ("draft_review.html", _review),
}


def _clip_address(draft: Draft, entry: StimulusEntry) -> str:
    """What settings made of lines is heard as it was joined, a clip as it was uploaded."""
    if entry.file:
        return reverse("draft-clip", args=[draft.code, entry.file])
    return reverse("draft-preview-clip", args=[draft.code, entry.key])
