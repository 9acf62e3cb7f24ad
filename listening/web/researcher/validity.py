"""What can be done on the page Validity: rules, exclusions undone, hypotheses."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from listening.access.rights import EDIT, study_for
from listening.common.counted import counted
from listening.common.views import logged_in_post
from listening.models import Study
from listening.studies import StudyError
from listening.studies.analysis_rules import (
    add_hypothesis,
    add_rule,
    end_hypothesis,
    end_rule,
    spare_rater,
    unspare_rater,
)
from listening.web.researcher.study_page import who


@logged_in_post
def do(request: HttpRequest, key: str) -> HttpResponse:
    """One action of the page; what is refused says why, and nothing is half done."""
    study = study_for(request.user, key, EDIT)
    action = ACTIONS.get(request.POST.get("action", ""))
    if action is None:
        messages.error(request, "Unknown action.")
        return redirect("validity", key)
    try:
        messages.success(request, action(request, study))
    except StudyError as error:
        messages.error(request, str(error))
    return redirect("validity", key)


def _add(request: HttpRequest, study: Study) -> str:
    rule = add_rule(
        study, request.POST.get("rule", ""), request.POST.get("why", ""), by=who(request)
    )
    if rule.declared:
        return f"Declared: {rule.text}. Opening the study freezes it."
    after = counted(rule.ratings, "rating")
    return f"Rule added: {rule.text}. Reports state that it was added after {after}."


def _end(request: HttpRequest, study: Study) -> str:
    text = end_rule(study, _number(request), request.POST.get("because", ""), by=who(request))
    return f"No longer in force: {text}."


def _spare(request: HttpRequest, study: Study) -> str:
    form = request.POST
    exception = spare_rater(
        study, form.get("rule", ""), form.get("rater", ""), form.get("because", ""), by=who(request)
    )
    return f"{exception.rule} does not apply to rater {exception.rater.code} from now on."


def _unspare(request: HttpRequest, study: Study) -> str:
    unspare_rater(study, _number(request), by=who(request))
    return "The rule holds for that rater again."


def _expect(request: HttpRequest, study: Study) -> str:
    hypothesis = add_hypothesis(
        study, request.POST.get("text", ""), request.POST.get("why", ""), by=who(request)
    )
    if hypothesis.declared:
        return "Hypothesis added. It is frozen when the study opens."
    return f"Hypothesis added, marked as added after {counted(hypothesis.ratings, 'rating')}."


def _take_back(request: HttpRequest, study: Study) -> str:
    end_hypothesis(study, _number(request), request.POST.get("because", ""), by=who(request))
    return "Hypothesis withdrawn."


def _number(request: HttpRequest) -> int:
    text = request.POST.get("pk", "")
    if not text.isdecimal() or len(text) > 18:
        raise StudyError("Unknown entry. Nothing was changed.")
    return int(text)


ACTIONS: dict[str, Callable[[HttpRequest, Study], str]] = {
    "add": _add,
    "end": _end,
    "spare": _spare,
    "unspare": _unspare,
    "expect": _expect,
    "take-back": _take_back,
}
