"""The pages Versions and Wording: what was frozen when, its corrections, and how to make one."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from listening.access.rights import ANALYSE, EDIT, LOOK, study_for, visible_studies
from listening.common.views import attachment, logged_in_get
from listening.design.kinds import Kind
from listening.design.studyfile import TOML
from listening.design.studyfile.problems import Problem
from listening.models import Study, StudyDefinition
from listening.models.study import all_versions
from listening.models.study_log import note
from listening.studies import (
    CorrectableText,
    StudyError,
    StudyProblems,
    correct_wording,
    correctable_texts,
)
from listening.web.researcher.draft_places import field_at
from listening.web.researcher.study_page import who

FIELD = "words:"  # what the name of a field of words begins with
LONG = 90  # characters, from which words get several lines
CLIPS = "clips.csv"
WORDS = re.compile(r"\w+|\s+|[^\w\s]")
GROUPS = {"title": "The study", "texts": "The study", "checks": "Checks before the trials"}
GROUPS |= {"questionnaires": "Questionnaires", "translations": "Other languages"}


Piece = tuple[str, bool]  # words, and whether they changed


def pieces(before: str, after: str) -> tuple[list[Piece], list[Piece]]:
    """Both texts in pieces of words that stayed and words that changed."""
    old, new = (WORDS.findall(text) for text in (before, after))
    left: list[Piece] = []
    right: list[Piece] = []
    for what, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        left.append(("".join(old[a:b]), what != "equal"))
        right.append(("".join(new[c:d]), what != "equal"))
    return left, right


@logged_in_get
def page(request: HttpRequest, key: str) -> HttpResponse:
    study = study_for(request.user, key, LOOK)
    seen = set(visible_studies(request.user).values_list("pk", flat=True))
    definitions = list(study.definitions.defer("toml", "clips").order_by("revision"))
    context = {
        "study": study,
        "chain": [(each, each.pk in seen) for each in all_versions(study)],
        "definitions": definitions,
        "corrections": [(each, _rows_of(each)) for each in definitions if each.changes],
    }
    return render(request, "researcher/versions.html", context)


def _rows_of(frozen: StudyDefinition) -> list[tuple[str, list[Piece], list[Piece]]]:
    return [
        (change["place"], *pieces(change["before"], change["after"])) for change in frozen.changes
    ]


@logged_in_get
def definition_zip(request: HttpRequest, key: str, revision: int) -> HttpResponse:
    """A frozen definition as a zip: study.toml and the list of clips, with their SHA-256."""
    study = study_for(request.user, key, ANALYSE)
    frozen = get_object_or_404(study.definitions, revision=revision)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in ((TOML, frozen.toml), (CLIPS, frozen.clips)):
            archive.writestr(name, text)
        archive.writestr("sha256.txt", f"{frozen.sha256}  {TOML}, byte 0x1e, {CLIPS}\n")
    name = f"{key}-definition-{revision}.zip"
    note(study, "exported", who(request), file=name)
    return attachment(out.getvalue(), name, "application/zip")


# --- Corrections ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """A field of the page: the words that may be corrected, and what somebody typed."""

    text: CorrectableText
    typed: str

    @property
    def name(self) -> str:
        return FIELD + self.text.name

    @property
    def label(self) -> str:
        path = self.text.path
        return " › ".join(part.replace("_", " ") for part in (path[2:] or path[-1:]))

    @property
    def long(self) -> bool:
        return len(self.text.words) > LONG or "\n" in self.text.words

    @property
    def is_question(self) -> bool:
        return self.text.kind == Kind.ASKED

    @property
    def group(self) -> str:
        first, *rest = self.text.path
        return f"Task {rest[0]}" if first == "tasks" else GROUPS[first]


@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def wording(request: HttpRequest, key: str) -> HttpResponse:
    study = study_for(request.user, key, EDIT)
    if request.method == "GET":
        return _wording_page(request, study)
    form = request.POST
    words = {k.removeprefix(FIELD): str(v) for k, v in form.items() if k.startswith(FIELD)}
    seen = form.get("seen", "")
    try:
        correct_wording(
            study,
            words,
            by=who(request),
            reason=form.get("reason", "")[:300],
            same_meaning="same_meaning" in form,
            seen=int(seen) if seen.isdecimal() and len(seen) < 9 else None,
        )
    except StudyProblems as error:
        return _wording_page(request, study, [_problem_text(each) for each in error.problems])
    except StudyError as error:
        return _wording_page(request, study, [str(error)])
    messages.success(request, "Corrected: raters read these words from now on.")
    return redirect("versions", key=key)


def _problem_text(problem: Problem) -> str:
    """The field by its label, and what is wrong with it."""
    field = field_at(problem.place)[1]
    return f"{field}: {problem.page_words}".removeprefix(": ")


def _wording_page(
    request: HttpRequest, study: Study, problems: list[str] | None = None
) -> HttpResponse:
    typed: Mapping[str, Any] = request.POST
    groups: dict[str, list[Row]] = {}
    for place in correctable_texts(study):
        row = Row(place, typed.get(FIELD + place.name, place.words))
        groups.setdefault(row.group, []).append(row)
    context = {
        "study": study,
        "groups": groups,
        "problems": problems,
        "reason": typed.get("reason", ""),
        "same_meaning": "same_meaning" in typed,
        "can": study.state in Study.RUNNING,
    }
    return render(request, "researcher/wording.html", context, status=422 if problems else 200)
