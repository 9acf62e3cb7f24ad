"""After clips were validated: systems or clips left out of analyses, and taken in again."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest

from listening.models import ReviewJob
from listening.review.leaving_out import leave_out, take_in_again
from listening.web.researcher.study_page import who


def _out(request: HttpRequest, job: ReviewJob) -> str:
    form = request.POST
    what, name = form.get("what", ""), form.get("name", "")
    leave_out(job.study, what, name, form.get("because", ""), by=who(request))
    return f"Analyses leave out {name} from now on, under the rule left_out, and say so."


def _in(request: HttpRequest, job: ReviewJob) -> str:
    form = request.POST
    what, name = form.get("what", ""), form.get("name", "")
    take_in_again(job.study, what, name, form.get("because", ""), by=who(request))
    return f"Analyses take {name} in again from now on."


clip_actions: dict[str, Callable[[HttpRequest, ReviewJob], str]] = {
    "leave-out": _out,
    "take-in-again": _in,
}
