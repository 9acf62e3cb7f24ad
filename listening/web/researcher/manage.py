"""The pages Manage and Log of a study: its name, tags, copies, archive, end; and who did what."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from listening import studies
from listening.access.projects import move_study
from listening.access.rights import EDIT, LOOK, OWN, projects_of, study_for, visible_studies
from listening.common.counted import counted
from listening.common.views import attachment, logged_in_get, logged_in_post
from listening.drafts.folder import draft_of
from listening.models import Study, StudyEvent, study_log
from listening.selectors.progress import forget_progress
from listening.studies import StudyError, erasure
from listening.studies.erasure import Rule, change_rule, erasure_date, rule_of, why_not_erased
from listening.web.posted_values import number_in
from listening.web.researcher.study_page import who


def retention_facts(study: Study) -> dict[str, Any]:
    record, due = erasure.record_of(study), erasure_date(study)
    owns = OWN in study.may
    return {
        "rule": rule_of(study),
        "due": due,
        "overdue": due is not None and due <= timezone.now(),
        "record": record,
        "erased": erasure.erased_in(record) if record else None,
        "would_go": erasure.erase(study, dry_run=True) if owns and not study.erased_at else None,
        "why_not_erased": why_not_erased(study),
    }


def set_retention(request: HttpRequest, study: Study) -> tuple[str, str]:
    """When it is erased, as the form says it."""
    when = request.POST.get("when", "never")
    days = request.POST.get("days", "").strip()
    day = request.POST.get("day", "").strip()
    if when == "days" and not (days.isascii() and days.isdigit() and len(days) < 7):
        raise StudyError("Enter the number of days in digits. Nothing was changed.")
    rule = Rule(
        int(days) if when == "days" else None,
        _day(day) if when == "day" else None,
        request.POST.get("reasons") == "yes",
    )
    changed = change_rule(study, rule, by=who(request))
    return study.key, "Saved." if changed else "Nothing was changed."


def _day(written: str) -> date:
    try:
        return date.fromisoformat(written)
    except ValueError:
        raise StudyError("Enter the date as 2027-06-30. Nothing was changed.") from None


def erase_now(request: HttpRequest, study: Study) -> tuple[str, str]:
    if request.POST.get("typed", "").strip() != study.key:
        raise StudyError(f"Nothing was erased: type the key “{study.key}” to erase it.")
    erased = erasure.erase(study, by=who(request))
    return study.key, f"Erased: {erased}. Ratings stay; the log lists the erased data."


EVENTS_PER_PAGE = 50
MOST_NAMED = 20  # of a list in a line of the log; all of them are in its CSV
DELETED_SHOWN = 50
OWNERS = ("delete", "move", "retention", "erase")  # actions of theirs alone


@logged_in_get
def page(request: HttpRequest, key: str) -> HttpResponse:
    study = study_for(request.user, key, EDIT)
    context = {
        "study": study,
        "tags": ", ".join(study.tags),
        "key_of_copy": studies.free_key(study, False),
        "key_of_version": studies.free_key(study, True),
        "projects": projects_of(request.user, EDIT),
        "contents": studies.contents_of(study) if OWN in study.may else None,
        "why_not": studies.why_not(study),
        **retention_facts(study),
    }
    return render(request, "researcher/manage.html", context)


# --- What can be done ----------------------------------------------------------------------------


@logged_in_post
def do(request: HttpRequest, key: str) -> HttpResponse:
    """One action of the page; what is refused says why, and nothing is half done."""
    name = request.POST.get("action", "")
    action = ACTIONS.get(name)
    study = study_for(request.user, key, OWN if name in OWNERS else EDIT)
    if action is None:
        messages.error(request, "Unknown action.")
        return redirect("manage", key=key)
    try:
        to, words = action(request, study)
    except StudyError as error:
        messages.error(request, str(error))
        return redirect("manage", key=key)
    messages.success(request, words)
    if name == "change" or (name == "copy" and request.POST.get("as") == "version"):
        return _to_draft(request, str(to))
    return redirect("studies") if to is None else redirect("manage", key=to)


def _to_draft(request: HttpRequest, key: str) -> HttpResponse:
    """On to the pages of the draft; where its folder cannot be written, to the study's own."""
    assert isinstance(request.user, User)
    try:
        draft = draft_of(request.user, Study.objects.get(key=key))
    except StudyError as error:
        messages.warning(request, f"It cannot be changed in the browser. {error}")
        return redirect("manage", key=key)
    return redirect("draft", code=draft.code)


Done = tuple[str | None, str]  # the key of the study whose page comes next, and what was done


def _name(request: HttpRequest, study: Study) -> Done:
    by = who(request)
    renamed = studies.rename_study(study, request.POST.get("name", ""), by=by)
    tagged = studies.tag_study(study, studies.tags_in(request.POST.get("tags", "")), by=by)
    return study.key, "Saved." if renamed or tagged else "Nothing was changed."


def _archive(request: HttpRequest, study: Study) -> Done:
    studies.archive_study(study, by=who(request))
    return (
        study.key,
        "Archived. The list shows the study only under Archived.",
    )


def _unarchive(request: HttpRequest, study: Study) -> Done:
    studies.archive_study(study, archived=False, by=who(request))
    return study.key, "Restored to the list."


def _copy(request: HttpRequest, study: Study) -> Done:
    assert isinstance(request.user, User)
    as_version = request.POST.get("as") == "version"
    copy = studies.copy_study(
        study,
        request.user,
        key=request.POST.get("key", ""),
        as_version=as_version,
        keep_out=request.POST.get("earlier") != "let_in",
        by=who(request),
    )
    what = f"version {copy.version}" if as_version else "a copy"
    done = f"Made {what}: “{copy.key}”, a draft. Its completion codes are new."
    if as_version:
        done += " Its page Planning starts from the ratings of this version."
    return copy.key, done


def _change(request: HttpRequest, study: Study) -> Done:
    """The pages that change a study which nobody has opened; see `do`."""
    assert isinstance(request.user, User)
    draft_of(request.user, study)
    return study.key, "You can change everything. Raters see nothing until the study opens."


def _move(request: HttpRequest, study: Study) -> Done:
    number = number_in(request, "project")
    project = projects_of(request.user, EDIT).filter(pk=number).first()
    if request.POST.get("project") and project is None:
        raise StudyError("You are not an editor or owner of this project.")
    moved = move_study(study, project, by=who(request))
    forget_progress(study.key)
    if not moved:
        return study.key, "Nothing was changed."
    where = f"It is in the project {project} now." if project else "Only its owner has access."
    seen = visible_studies(request.user).filter(pk=study.pk).exists()
    return study.key if seen else None, where


def _delete(request: HttpRequest, study: Study) -> Done:
    went = studies.delete_study(study, request.POST.get("typed", ""), by=who(request))
    forget_progress(study.key)
    words = f"{counted(went.sessions, 'session')} and {counted(went.ratings, 'rating')}"
    return None, f"Deleted “{study.key}” with {words}. The deletion is recorded in the log."


ACTIONS: dict[str, Callable[[HttpRequest, Study], Done]] = {
    "name": _name,
    "archive": _archive,
    "unarchive": _unarchive,
    "copy": _copy,
    "change": _change,
    "move": _move,
    "delete": _delete,
    "retention": set_retention,
    "erase": erase_now,
}


# --- Who did what --------------------------------------------------------------------------------


@logged_in_get
def log(request: HttpRequest, key: str) -> HttpResponse:
    study = study_for(request.user, key, LOOK)
    rows = StudyEvent.objects.filter(study_id=study.pk)
    page = Paginator(rows, EVENTS_PER_PAGE).get_page(request.GET.get("page"))
    return render(
        request, "researcher/log.html", {"study": study, "page": page, **_deleted_facts(page)}
    )


@logged_in_get
def log_csv(request: HttpRequest, key: str) -> HttpResponse:
    study = study_for(request.user, key, LOOK)
    stamp = timezone.now().strftime("%Y-%m-%d")
    return attachment(study_log.as_csv(study.pk), f"{study.key}-log-{stamp}.csv")


@logged_in_get
def deleted(request: HttpRequest) -> HttpResponse:
    """Studies that are no more: whose they were, who deleted them, and how much that was."""
    rows = StudyEvent.objects.filter(what="deleted")
    if not request.user.is_superuser:
        rows = rows.filter(owner_id=int(request.user.pk or 0))
    page = Paginator(rows, DELETED_SHOWN).get_page(request.GET.get("page"))
    return render(request, "researcher/deleted.html", {"page": page, **_deleted_facts(page)})


def _deleted_facts(page: Any) -> dict[str, Any]:
    rows = [
        {
            "event": event,
            "what": study_log.event_title(event),
            "details": study_log.details_text(event, MOST_NAMED),
        }
        for event in page
    ]
    return {"rows": rows}
