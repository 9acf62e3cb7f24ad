"""The results page of a study, and the files that can be taken from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from analysis.jobs import start_run, study_rules
from analysis.models import AnalysisRun
from analysis.options import CROSSABLE, OFFERED, Options, OptionsError, options_from
from analysis.screening import rule_text

LEVELS = ("0.9", "0.95", "0.99")
TABLES = frozenset({"estimates", "contrasts", "shares", "exclusions", "screening", "correlations"})
RUNS_SHOWN = 10
CSV, JSON, HTML, SVG = "text/csv", "application/json", "text/html", "image/svg+xml"


@login_required
@require_GET
def results(request: HttpRequest, key: str) -> HttpResponse:
    return _page(request, _study(request, key))


@login_required
@require_POST
def run(request: HttpRequest, key: str) -> HttpResponse:
    study = _study(request, key)
    try:
        options = _asked(request, study)
    except OptionsError as error:
        return _page(request, study, problem=str(error), status=400)
    start_run(study.pk, options)
    return redirect("results", key)


@login_required
@require_GET
def ratings_file(request: HttpRequest, key: str, kind: str) -> StreamingHttpResponse:
    """A study's ratings as they stand now, streamed: a big study never fills the memory."""
    from analysis.cells import csv_lines, json_lines
    from listening.selectors import rating_rows

    study = _study(request, key)
    lines: Callable[[Iterable[Any]], Iterator[str]] = csv_lines if kind == "csv" else json_lines
    pieces = _in_pieces(lines(rating_rows(study.key)))
    response = StreamingHttpResponse(pieces, content_type=f"{CSV if kind == 'csv' else JSON}")
    response["Content-Disposition"] = f'attachment; filename="{study.key}-ratings.{kind}"'
    return response


@login_required
@require_GET
def sessions_file(request: HttpRequest, key: str) -> StreamingHttpResponse:
    """A study's sessions with what raters answered around the trials, as they stand now."""
    from analysis.sittings import sessions_csv

    study = _study(request, key)
    response = StreamingHttpResponse(_in_pieces(sessions_csv(study.key)), content_type=CSV)
    response["Content-Disposition"] = f'attachment; filename="{study.key}-sessions.csv"'
    return response


@login_required
@require_GET
def scores_file(request: HttpRequest, key: str) -> HttpResponse:
    """The stored metric scores of a study's stimuli, as they stand now."""
    from analysis.report.writers import scores_csv
    from metrics.selectors import score_rows

    study = _study(request, key)
    return _attached(scores_csv(score_rows(study.key)), CSV, f"{study.key}-scores.csv")


@login_required
@require_GET
def report_file(request: HttpRequest, key: str, name: str) -> HttpResponse:
    """One file of the newest finished analysis, or of the one that ``?run=`` names."""
    from analysis.report.page import page_html
    from analysis.report.plots import plots
    from analysis.report.writers import estimates_json, table_csv

    study = _study(request, key)
    finished = _finished(study, request.GET.get("run", ""))
    report = finished.report()
    stem, _, kind = name.rpartition(".")
    if kind == "csv" and stem in TABLES:
        return _attached(table_csv(report, stem), CSV, f"{study.key}-{name}")
    if kind == "svg":
        found = [plot.standalone for plot in plots(report) if plot.key == stem]
        if found:
            return _attached(found[0], SVG, f"{study.key}-{name}")
    if name == "estimates.json":
        return _attached(estimates_json(report), JSON, f"{study.key}-{name}")
    if name == "report.json":
        return _attached(finished.result, JSON, f"{study.key}-{name}")
    if name == "report.html":
        return _attached(page_html(report), HTML, f"{study.key}-{name}")
    raise Http404(f"There is no file {name}.")


def _page(request: HttpRequest, study: Any, problem: str = "", status: int = 200) -> HttpResponse:
    runs = Paginator(_runs(study).defer("result"), RUNS_SHOWN).get_page(request.GET.get("page"))
    newest = _runs(study).defer("result").first()
    shown = _shown(study, request.GET.get("run", ""))
    report = shown.report() if shown else None
    asked = newest.parameters if newest else Options().parameters()
    by = [name.partition(":")[2] for name in asked["by"]]
    context = {
        "study": study,
        "problem": problem,
        "newest": newest,
        "shown": shown,
        "runs": runs,
        "report": report,
        "sections": _sections(report),
        "plots": _plot_names(report),
        "offered": OFFERED,
        "levels": LEVELS,
        "asked": asked,
        "chosen": [name for crossing in by for name in crossing.split(",")],
        "crossed": any("," in crossing for crossing in by),
        "chosen_level": f"{asked['level']:g}",
        "refresh_s": 3 if newest and newest.waits else 0,
    }
    return render(request, "analysis/results.html", context, status=status)


def _sections(report: dict[str, Any] | None) -> list[Any]:
    from analysis.report.page import sections

    return sections(report) if report and report["data"]["ratings"] else []


def _plot_names(report: dict[str, Any] | None) -> list[Any]:
    from analysis.report.plots import plots

    return plots(report) if report and report["data"]["ratings"] else []


def _study(request: HttpRequest, key: str) -> Any:
    """The study, if it is this researcher's (or they are a superuser); else 404."""
    studies: Any = AnalysisRun._meta.get_field("study").related_model
    if not request.user.is_superuser:
        return get_object_or_404(studies, key=key, owner=request.user)
    return get_object_or_404(studies, key=key)


def _runs(study: Any) -> Any:
    return AnalysisRun.objects.filter(study=study)


def _shown(study: Any, asked: str) -> AnalysisRun | None:
    """The finished run that was asked for, else the newest finished one."""
    done = _runs(study).filter(state=AnalysisRun.State.DONE)
    if asked:
        if not asked.isdecimal() or len(asked) > 18:
            raise Http404("There is no such analysis.")
        found: AnalysisRun = get_object_or_404(done, pk=int(asked))
        return found
    newest: AnalysisRun | None = done.first()
    return newest


def _finished(study: Any, asked: str) -> AnalysisRun:
    run = _shown(study, asked)
    if run is None:
        page = reverse("results", args=[study.key])
        raise Http404(f"No analysis of this study is finished yet; start one on {page}.")
    return run


def _asked(request: HttpRequest, study: Any) -> Options:
    """The options of the form; raises OptionsError for what the form does not offer."""
    chosen = [name for name in request.POST.getlist("by") if name]
    if set(chosen) - set(CROSSABLE):
        raise OptionsError(f"No results by {', '.join(chosen)}.")
    given: dict[str, Any] = {
        "level": request.POST.get("level") or 0.95,
        "seed": request.POST.get("seed") or 0,
    }
    if chosen and request.POST.get("crossed"):
        given["by"] = [",".join(chosen)]
    elif chosen:
        given["by"] = chosen
    rules = [] if request.POST.get("screening") == "none" else study_rules(study.key)
    given["rules"] = [rule_text(rule) for rule in rules]
    return options_from(given)


def _attached(text: str, kind: str, name: str) -> HttpResponse:
    response = HttpResponse(text, content_type=f"{kind}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _in_pieces(lines: Iterable[str], size: int = 32_768) -> Iterator[bytes]:
    """The lines as UTF-8 in pieces of about that many characters: fewer, larger writes."""
    held: list[str] = []
    length = 0
    for line in lines:
        held.append(line)
        length += len(line)
        if length >= size:
            yield "".join(held).encode()
            held, length = [], 0
    yield "".join(held).encode()
