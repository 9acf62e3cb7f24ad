"""A study combined with an earlier version of it, asked for on the results page."""

from __future__ import annotations

from dataclasses import replace

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from analysis.models import AnalysisRun
from analysis.statistics.options import Options, OptionsError, options_from
from analysis.web.combining import MARGIN, RIGHT, check_versions
from analysis.web.first_runs import default_options
from analysis.web.jobs import asked_run
from listening.common.signals import acted
from listening.selectors import study_head_or_404


@login_required
@require_POST
def combine(request: HttpRequest, key: str) -> HttpResponse:
    """Compare with an earlier version, and analyse both together where that says they may be."""
    head = study_head_or_404(key, request.user, RIGHT)
    try:
        options = _options(key, request.POST)
    except OptionsError as error:
        messages.error(request, str(error))
        return redirect("results", key)
    check_versions(key, request.user, options)
    run = asked_run(head["pk"], key, options)
    by, details = request.user.get_username(), {"options": run.asked_for}
    acted.send(sender=__name__, study_id=head["pk"], by=by, what="analysed", details=details)
    if run.state == AnalysisRun.State.DONE:
        messages.success(request, "Nothing changed since: this is what came out before.")
    return redirect("results", key)


def _options(key: str, form: QueryDict) -> Options:
    version = str(form.get("version", ""))
    if not version:
        raise OptionsError("Choose the version to combine with.")
    typed = {
        name.removeprefix(MARGIN): size.strip().replace(",", ".")
        for name, size in form.items()
        if isinstance(size, str) and name.startswith(MARGIN) and size.strip()
    }
    margins = options_from({"margins": typed}).margins
    return replace(default_options(key), versions=(version,), margins=margins)
