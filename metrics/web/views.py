"""The metrics page of a study: what to score, how far it is, what came out, and files of it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from kombu.exceptions import OperationalError

from config.missing_packages import forget_failure, installation
from listening.common.signals import acted
from listening.common.views import logged_in_page, logged_in_post
from listening.selectors import study_head_or_404
from metrics.core.metric import Metric, ParameterError
from metrics.jobs import score_shard
from metrics.models import ScoringRun
from metrics.scoring import runs
from metrics.scoring.clip_warnings import ONLY, WITHOUT, NoSuchWarning, WarningFilter, study_filter
from metrics.scoring.imported_scores import SCORE_FILES, ImportedScoreError, import_scores
from metrics.scoring.presets import DEFAULT_PRESET, Choice, PresetError, preset
from metrics.scoring.score_rows import ESPNET
from metrics.scoring.study_material import NoStimuli
from metrics.web import page, score_tables
from metrics.web.page import remainder

NO_IMPORT = "Nothing was imported"
NO_QUEUE = "The job queue does not respond. Try again in a minute."


@logged_in_page
def metrics_page(request: HttpRequest, key: str) -> HttpResponse:
    head = study_head_or_404(key, request.user)
    try:
        return _page(request, head, clip_filter=requested_filter(key, request.GET))
    except NoSuchWarning as error:
        return _page(request, head, str(error), 400, title="Unknown warning")


@logged_in_page
def state(request: HttpRequest, key: str) -> HttpResponse:
    """How far the newest run and the installation are, for a page that looks again meanwhile."""
    study_head_or_404(key, request.user)
    run, rest = scoring_runs(key).first(), installation()
    shown = page.run_state(run) if run else {"state": "none"}
    return JsonResponse(shown | {"installation": rest.words if rest and rest.works else ""})


@logged_in_post
def install(request: HttpRequest, key: str) -> HttpResponse:
    """Have the supervisor try again to install what metrics need."""
    study_head_or_404(key, request.user, "analyse")
    forget_failure()
    return redirect("metrics", key)


@logged_in_post
def score(request: HttpRequest, key: str) -> HttpResponse:
    """Ask the workers to score what has no score yet; asking twice does no harm."""
    head = study_head_or_404(key, request.user, "analyse")
    try:
        choices = form_choices(request.POST)
        runs.start_run(head["pk"], key, choices, score_shard.delay, by=request.user.get_username())
        _note(request, head, "scored", metrics=[str(choice.metric) for choice in choices])
    except (PresetError, ParameterError, NoStimuli) as error:
        return _page(request, head, problem=str(error), status=400)
    except OperationalError:
        messages.error(request, NO_QUEUE)
    return redirect("metrics", key)


@logged_in_post
def cancel(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    """Give up what a run has not scored yet."""
    study_head_or_404(key, request.user, "analyse")
    runs.cancel(get_object_or_404(scoring_runs(key), pk=pk))
    return redirect("metrics", key)


@logged_in_post
def carry_on(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    """Queue again what a run has not done and nobody works on."""
    study_head_or_404(key, request.user, "analyse")
    try:
        runs.continue_run(get_object_or_404(scoring_runs(key), pk=pk), score_shard.delay)
    except OperationalError:
        messages.error(request, NO_QUEUE)
    return redirect("metrics", key)


@logged_in_page
def metric_page(request: HttpRequest, key: str) -> HttpResponse:
    """Show one output in full: its definition, its provenance, its best and its worst clips."""
    head = study_head_or_404(key, request.user)
    try:
        clip_filter = requested_filter(key, request.GET)
    except NoSuchWarning as error:
        return _page(request, head, str(error), 400, title="Unknown warning")
    context = page.metric_details(key, request.GET.get("metric", ""), clip_filter)
    if context is None:
        raise Http404("This metric does not exist.")
    return render(request, "metrics/metric.html", {"study": head, **context})


@logged_in_page
def export(request: HttpRequest, key: str, form: str) -> HttpResponse:
    """The stored scores as a file."""
    head = study_head_or_404(key, request.user, "analyse")
    try:
        clip_filter = requested_filter(key, request.GET)
    except NoSuchWarning as error:
        return _page(request, head, str(error), 400, title="Unknown warning")
    _note(request, head, "exported", file=f"scores.{form}")
    rows = score_tables.export_rows(key, clip_filter)
    text, kind = (
        (score_tables.as_csv(rows), "text/csv; charset=utf-8")
        if form == "csv"
        else (score_tables.as_jsonl(rows), "application/jsonl")
    )
    name = f"{key}-scores.{form}"
    return HttpResponse(
        text,
        content_type=kind,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@logged_in_post
def upload_scores(request: HttpRequest, key: str) -> HttpResponse:
    """Store scores that were computed elsewhere, from an uploaded file."""
    head = study_head_or_404(key, request.user, "analyse")
    upload = request.FILES.get("file")
    if upload is None:
        return _page(request, head, "Choose a file first.", 400, title=NO_IMPORT)
    own_name = Path(upload.name or "").name
    suffix, of_espnet = Path(own_name).suffix.lower(), ESPNET.fullmatch(own_name)
    if suffix not in SCORE_FILES and not of_espnet:
        wanted = f"Choose a file that ends in {', '.join(SCORE_FILES)}, or is called utt2METRIC."
        return _page(request, head, wanted, 400, title=NO_IMPORT)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / (own_name if of_espnet else f"file{suffix}")
        path.write_bytes(upload.read())
        prefix, name = request.POST.get("prefix", "").strip(), str(upload.name)
        notes: list[str] = []
        try:
            counts = import_scores(key, path, prefix, name, notes, sent=True)
        except ImportedScoreError as error:
            message = str(error).replace(str(path), name).replace(path.name, name)
            return _page(request, head, message, 400, title=NO_IMPORT)
    imported = ", ".join(f"{metric} ({count})" for metric, count in counts.items())
    _note(request, head, "scores_imported", file=name, scores=imported)
    messages.success(request, " ".join([f"Imported: {imported}.", *notes]))
    return redirect("metrics", key)


def _note(request: HttpRequest, head: Any, what: str, **details: Any) -> None:
    """For the study's log."""
    by = request.user.get_username()
    acted.send(sender=__name__, study_id=head["pk"], by=by, what=what, details=details)


def requested_filter(study: str, query: QueryDict) -> WarningFilter:
    """The clips that an address asks for; raises NoSuchWarning."""
    return study_filter(study, query.getlist(ONLY), query.getlist(WITHOUT))


def _page(
    request: HttpRequest,
    head: Any,
    problem: str = "",
    status: int = 200,
    title: str = "",
    clip_filter: WarningFilter | None = None,
) -> HttpResponse:
    run = scoring_runs(head["key"]).first()
    shown = page.page(head["key"], clip_filter)
    context = {
        "study": head,
        "problem": problem,
        "problem_title": title,
        "import_open": title == NO_IMPORT,
        "run": page.run_state(run) if run else None,
        "installation": installation(),
        "refresh_s": page.REFRESH_S,
        **shown,
        "rest": remainder(head["key"], shown["every_row"]),
    }
    return render(request, "metrics/study.html", context, status=status)


def scoring_runs(key: str) -> Any:
    """A study's scoring runs, the newest first."""
    return ScoringRun.objects.filter(study__key=key)


OWN = "own"  # in place of a preset's name: the metrics that are ticked


def form_choices(form: QueryDict) -> list[Choice]:
    """The metrics of the preset that was chosen, or those that were ticked.

    Raises PresetError when there is no such preset or metric, or nothing was ticked.
    """
    name = form.get("preset") or DEFAULT_PRESET
    if name != OWN:
        return preset(name).choices(judges=form.get("judges") == "on")
    ticked = form.getlist("metric")
    if unknown := sorted(set(ticked) - set(Metric.registry)):
        raise PresetError(f"unknown metric {', '.join(unknown)}")
    if not ticked:
        raise PresetError("no metric is selected; select one or choose a preset")
    return [Choice(key) for key in ticked]
