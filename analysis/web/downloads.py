"""The files that can be taken from a study's results page."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from analysis.models import AnalysisRun, RunFile
from analysis.ratings.cells import in_pieces
from analysis.report.report_schema import Report
from analysis.web.artifacts import PAPER, is_quick, paper_zip
from analysis.web.combining import combined_state
from analysis.web.views import shown_run
from listening.common.signals import acted
from listening.common.views import CSV, attachment, logged_in_get
from listening.selectors import study_head_or_404

JSON = "application/json"
KINDS = {
    "csv": "text/csv",
    "json": JSON,
    "html": "text/html",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "png": "image/png",
    "zip": "application/zip",
    "tex": "application/x-tex",
}
IN_UTF8 = {"csv": CSV, "json": JSON}


def _note_download(request: HttpRequest, key: str, file: str, only: str = "") -> None:
    """Check that a file may be exported and note that in the study's log; `only` names a part."""
    head = study_head_or_404(key, request.user, "analyse")
    by, details = request.user.get_username(), {"file": file} | ({"only": only} if only else {})
    acted.send(sender=__name__, study_id=head["pk"], by=by, what="exported", details=details)


@logged_in_get
def ratings_file(request: HttpRequest, key: str, kind: str) -> HttpResponse | StreamingHttpResponse:
    """A study's ratings as they stand now, streamed: a big study never fills the memory.

    All of them, or those that the filters of the page Ratings leave. Where the newest analysis is
    of these very ratings, the CSV says in ``left_out_by`` what that left out.
    """
    from analysis.ratings.cells import json_lines
    from analysis.report.exclusions import judged_csv
    from listening.selectors import chosen_ratings, covariate_values, rater_answers, rating_rows

    study_head_or_404(key, request.user, "analyse")
    try:
        chosen = chosen_ratings(key, request.GET)
    except ValueError as error:  # all ratings are not what was asked for
        return HttpResponse(f"{error}\n", content_type="text/plain; charset=utf-8", status=400)
    name = f"ratings.{kind}" if chosen is None else f"ratings-filtered.{kind}"
    _note_download(request, key, name, "" if chosen is None else request.GET.urlencode()[:300])
    rows = rating_rows(key, chosen)
    if kind == "json":
        return _streamed(json_lines(rows), JSON, f"{key}-{name}")
    covariates = {**covariate_values(key), **rater_answers(key)}
    return _streamed(judged_csv(rows, _report_of_now(key), covariates), CSV, f"{key}-{name}")


def _report_of_now(key: str) -> Report | None:
    """The newest report, where it is of the study's ratings as they stand now, and of no others."""
    run = shown_run(key, "")
    if run is None or run.versions or combined_state(key)["mark"] != run.ratings_mark:
        return None
    return run.report()


@logged_in_get
def sessions_file(request: HttpRequest, key: str) -> StreamingHttpResponse:
    """A study's sessions with what raters answered around the trials, as they stand now."""
    from analysis.ratings.study_scores import sessions_csv

    _note_download(request, key, "sessions.csv")
    return _streamed(sessions_csv(key), CSV, f"{key}-sessions.csv")


@logged_in_get
def questionnaires_file(request: HttpRequest, key: str) -> StreamingHttpResponse:
    """All answers to a study's questionnaires, a row for each, as they stand now."""
    from analysis.ratings.study_scores import questionnaires_csv

    _note_download(request, key, "questionnaires.csv")
    return _streamed(questionnaires_csv(key), CSV, f"{key}-questionnaires.csv")


@logged_in_get
def scores_file(request: HttpRequest, key: str) -> HttpResponse:
    """The stored metric scores of a study's stimuli, as they stand now."""
    from analysis.ratings.study_scores import study_scores
    from analysis.report.writers.exports import scores_csv

    _note_download(request, key, "scores.csv")
    return attachment(scores_csv(study_scores(key)), f"{key}-scores.csv")


@logged_in_get
def report_file(request: HttpRequest, key: str, name: str) -> HttpResponse:
    """One file of the newest finished analysis, or of the one that ``?run=`` names.

    ``?about=`` narrows the paper files to one task and criterion, by its title.
    """
    study_head_or_404(key, request.user)
    finished = _finished_run(key, request.GET.get("run", ""))
    run_file = RunFile.objects.filter(run=finished, name=name, state=RunFile.State.DONE).first()
    if run_file is not None:  # a bundle holds all ratings
        _note_download(request, key, name)
        kind = "application/zip" if name.endswith(".zip") else "application/x-netcdf"
        return attachment(bytes(run_file.content or b""), f"{key}-{finished.pk}-{name}", kind)
    if name == PAPER:  # it holds all ratings, too
        _note_download(request, key, name)
        return _paper(request, key, finished)
    content = file_of(finished, name, request.GET.get("about", ""))
    if not content:
        raise Http404(f"There is no file {name}.")
    kind = KINDS.get(name.rpartition(".")[2], "text/plain")
    charset = "; charset=utf-8" if isinstance(content, str) else ""
    return attachment(content, f"{key}-{name}", f"{kind}{charset}")


def file_of(finished: AnalysisRun, name: str, about: str = "") -> str | bytes:
    """A file that is made at once from a finished analysis; empty for other names."""
    from analysis.report.writers.bundle import textgrids_zip
    from analysis.report.writers.clip_files import TEXTGRIDS, part_files

    report = finished.report()
    if name == TEXTGRIDS:
        return textgrids_zip(report)
    content = _whole(report, name) or _of_paper(report, about, name) or _plot(report, name)
    if content:
        return content
    stem, _, kind = name.rpartition(".")
    return _part_file(report, stem, kind) or part_files(report).get(name, "")


def _paper(request: HttpRequest, key: str, finished: AnalysisRun) -> HttpResponse:
    """The paper files, made now where that is quick; else the page says who makes them."""
    if is_quick(finished):
        return attachment(paper_zip(finished), f"{key}-{finished.pk}-{PAPER}", KINDS["zip"])
    messages.info(
        request,
        f"There are too many ratings to create {PAPER} immediately. Press its button below.",
    )
    return redirect(f"{reverse('results', args=[key])}?run={finished.pk}#files-title")


def _whole(report: Report, name: str) -> str:
    """A file of the whole report; empty for other names."""
    from analysis.report.html.page import page_html
    from analysis.report.report_schema import ROWS
    from analysis.report.writers.exports import estimates_json, report_json, table_csv
    from analysis.report.writers.methods_text import methods_text

    for rows in ROWS:
        if name == f"{rows}.csv":
            return table_csv(report, rows)
    whole: dict[str, Callable[[Report], str]] = {
        "estimates.json": estimates_json,
        "report.json": report_json,
        "report.html": lambda each: page_html(each, methods=methods_text(each)),
    }
    return whole[name](report) if name in whole else ""


def _of_paper(report: Report, about: str, name: str) -> str | bytes:
    """One of the paper files; empty for other names."""
    from analysis.report.html.view import View, view_report
    from analysis.report.writers.paper_bundle import FIGURES, NAMES, paper_figures, paper_texts

    if name not in NAMES:
        return ""
    shown = view_report(report, View(about, "")) if about else report
    return (
        paper_figures(shown).get(name, b"") if name in FIGURES else paper_texts(shown).get(name, "")
    )


def _plot(report: Report, name: str) -> str | bytes:
    """A figure by its key: SVG as on the page, or PDF and PNG as in papers; empty for others."""
    from analysis.report.condition_labels import label_report
    from analysis.report.figures.all_figures import plots
    from analysis.report.figures.paper import paper_files
    from analysis.report.interim_answer import interim_report

    stem, _, kind = name.rpartition(".")
    if kind not in ("svg", "pdf", "png"):
        return ""
    drawn = next((p for p in plots(label_report(interim_report(report))) if p.key == stem), None)
    if drawn is None:
        return ""
    return drawn.standalone if kind == "svg" else paper_files(drawn.figure)[kind]


def _part_file(report: Report, stem: str, kind: str) -> str:
    """A file of the methods, of scores of single clips, or a table or figure of a part as CSV;
    empty for others."""
    from analysis.report.writers.clip_files import KEY, clip_files
    from analysis.report.writers.methods_text import methods_files

    if words := methods_files(report).get(f"{stem}.{kind}"):
        return words
    for part in report.get("parts", ()):
        if part["key"] == KEY and f"{stem}.csv" in part.get("files", ()):
            return clip_files(report, part).get(f"{stem}.{kind}", "")
    return _part_csv(report, stem) if kind == "csv" else ""


def _part_csv(report: Report, stem: str) -> str:
    """The table of a part with that name, or the data behind a figure; empty without either."""
    from analysis.report.content import content_from
    from analysis.report.figures.all_figures import named_files, plots
    from analysis.report.writers.exports import figure_csv, part_table_csv

    for part in report.get("parts", ()):
        if not part["problem"]:
            for name, table in named_files(part["key"], content_from(part).tables):
                if name == stem:
                    return part_table_csv(report, part, table)
    drawn = [plot.figure for plot in plots(report) if plot.key == stem]
    return figure_csv(report, drawn[0]) if drawn else ""


def _finished_run(key: str, run_asked: str) -> AnalysisRun:
    run = shown_run(key, run_asked)
    if run is None:
        page = reverse("results", args=[key])
        raise Http404(f"This study has no finished analysis. Start one on {page}.")
    return run


def _streamed(lines: Iterable[str], kind: str, name: str) -> StreamingHttpResponse:
    header = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(in_pieces(lines), content_type=kind, headers=header)
