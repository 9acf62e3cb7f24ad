"""The results page of a study: the answer, its runs, and what can be asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Q
from django.db.models.functions import Length
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from analysis.models import AnalysisRun
from analysis.report.report_schema import Report
from analysis.statistics.options import Options, OptionsError, options_from
from analysis.web.combining import MARGIN, RIGHT, check_versions, combined_state, offered_versions
from analysis.web.first_runs import analyse_when_due, default_options
from analysis.web.forms import form_of, options_of
from analysis.web.jobs import asked_file, asked_run, cancel_run, start_run
from analysis.web.results_links import sharing
from listening.common.signals import acted
from listening.common.views import attachment, logged_in_page, logged_in_post
from listening.selectors import method_facts, study_head_or_404

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from analysis.report.html.section import Section
    from analysis.report.html.view import Slice, View
    from listening.selectors import StudyHead


RUNS_SHOWN = 10
REFRESH_S = 1
STORED = "Nothing has changed since the last analysis with these options. You see its results."
ALL = "all"  # in place of one family's title
LONG = ("result", "brief")  # columns that a list of runs does without


@logged_in_page
def results(request: HttpRequest, key: str) -> HttpResponse:
    """The answer, or that it is being made: who opens the page need not ask for it."""
    head = study_head_or_404(key, request.user)
    if not request.GET.get("run"):
        analyse_when_due(head["pk"], key)
    return _page(request, head)


@logged_in_page
def state(request: HttpRequest, key: str) -> HttpResponse:
    """What stands above the results, for a page that looks again while an analysis runs."""
    head = study_head_or_404(key, request.user)
    shown = answered_run(key, request.GET.get("run", ""))
    return render(request, "analysis/_state.html", _state(head, shown))


@logged_in_post
def run(request: HttpRequest, key: str) -> HttpResponse:
    """Ask for an analysis; one that is stored already is shown at once."""
    head = study_head_or_404(key, request.user, "analyse")
    try:
        options = options_of(request.POST, key)
    except OptionsError as error:
        return _page(request, head, problem=str(error), status=400)
    analysis_run = asked_run(head["pk"], key, options)
    by, details = request.user.get_username(), {"options": analysis_run.asked_for}
    acted.send(sender=__name__, study_id=head["pk"], by=by, what="analysed", details=details)
    if analysis_run.state != AnalysisRun.State.DONE:
        return redirect("results", key)
    messages.success(request, STORED)
    newest = runs_of(key).defer(*LONG).first()
    stored = f"?run={analysis_run.pk}" if analysis_run != newest else ""
    return redirect(f"{reverse('results', args=[key])}{stored}")


@logged_in_post
def again(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    """The same analysis with the ratings as they stand now."""
    head = study_head_or_404(key, request.user, "analyse")
    earlier = get_object_or_404(runs_of(key).defer(*LONG), pk=pk)
    try:
        options = options_from(earlier.parameters)
    except OptionsError as error:
        return _page(request, head, problem=str(error), status=400)
    check_versions(key, request.user, options)
    if earlier.state == AnalysisRun.State.FAILED:
        start_run(head["pk"], options)
    elif asked_run(head["pk"], key, options).state == AnalysisRun.State.DONE:
        messages.success(request, STORED)
    return redirect("results", key)


@logged_in_post
def cancel(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    """Give up an analysis that waits or runs."""
    study_head_or_404(key, request.user, "analyse")
    cancel_run(get_object_or_404(runs_of(key).defer(*LONG), pk=pk).pk)
    return redirect("results", key)


@logged_in_post
def make_file(request: HttpRequest, key: str, pk: int, name: str) -> HttpResponse:
    """Have a worker make one of the files that take long."""
    study_head_or_404(key, request.user, "analyse")
    finished = get_object_or_404(runs_of(key).defer(*LONG), pk=pk, state=AnalysisRun.State.DONE)
    if asked_file(finished, name) is None:
        raise Http404(f"There is no file {name} to create.")
    return redirect(f"{reverse('results', args=[key])}?run={pk}#files-title")


def _page(
    request: HttpRequest, head: StudyHead, problem: str = "", status: int = 200
) -> HttpResponse:
    shown = answered_run(head["key"], request.GET.get("run", ""))
    newest = runs_of(head["key"]).defer(*LONG).first()
    report = shown.page_report() if shown else None
    view = asked_view(request, report)
    parameters = Options().parameters() | (newest.parameters if newest else {})
    context = {
        **_state(head, shown, newest),
        **form_of(head["key"], parameters),
        **_choices(report, view, shown),
        "clips_url": _clips_url(head["key"], report, view),
        **sharing(head["key"]),
        **offered_versions(head["key"], request.user),
        "problem": problem,
        "report": report,
        "sections": _sections(head["key"], shown, report, view),
        "files": _files(shown, report),
        "clips": _clips(report) if shown else [],
        "part_files": _part_files(report) if shown else [],
        "runs": Paginator(runs_of(head["key"]).defer(*LONG), RUNS_SHOWN).get_page(
            request.GET.get("page")
        ),
    }
    return render(request, "analysis/results.html", context, status=status)


def _state(
    head: StudyHead, shown: AnalysisRun | None, newest: AnalysisRun | None = None
) -> dict[str, Any]:
    """How far the newest run is, and what came since the one that is shown."""
    newest = newest or runs_of(head["key"]).defer(*LONG).first()
    waits = bool(newest and newest.waits)
    before = f"?run={shown.pk}" if shown and shown != newest else ""
    growing = shown if shown and shown.waits else None
    return {
        "study": head,
        "newest": newest,
        "shown": shown,
        "refresh_s": REFRESH_S if waits else 0,
        "grown": _grown(growing),
        "state_url": reverse("results-state", args=[head["key"]]) + before,
        "since": _since(head["key"], shown) if shown and not waits else None,
    }


def _grown(run: AnalysisRun | None) -> int:
    """How long what is stored of a running analysis is: it changes when a part has come."""
    if run is None:
        return 0
    runs = AnalysisRun.objects.filter(pk=run.pk)
    return runs.values_list(Length("brief"), flat=True).first() or 0


def _since(key: str, shown: AnalysisRun) -> dict[str, Any] | None:
    """Ratings that arrived, went or changed since they were read; None where nothing did."""
    now = combined_state(key, shown.versions)
    if shown.ratings is None or now["mark"] == shown.ratings_mark:
        return None
    more = now["ratings"] - shown.ratings
    return {"more": max(more, 0), "fewer": max(-more, 0)}


def _sections(
    key: str, shown: AnalysisRun | None, report: Report | None, view: View
) -> list[Section]:
    from analysis.report.html.brief import MOST_ROWS
    from analysis.report.html.page import sections
    from analysis.report.html.part_html import CLIP
    from analysis.report.writers.methods_text import methods_text

    if shown is None or report is None or not report["data"]["ratings"]:
        return []

    def link(name: str) -> str:
        if name.startswith(CLIP):
            query = urlencode({"stimulus": name.removeprefix(CLIP)})
            return f"{reverse('results-clips', args=[key])}?{query}"
        if shown.waits or name.endswith((".pdf", ".png")):
            return ""  # matplotlib draws these: in the bundle, that a worker makes
        return f"{reverse('results-file', args=[key, name])}?run={shown.pk}"

    return sections(report, view, link, MOST_ROWS, methods_text(report))


def asked_view(request: HttpRequest, report: Report | None) -> View:
    """What is asked to be shown: one family, the first unless another or all are asked for."""
    from analysis.report.html.view import View, titles, usual

    title, within = request.GET.get("about", ""), request.GET.get("in", "")
    if report is not None and title != ALL and title not in titles(report):
        title = usual(report).about
    return View("" if title == ALL else title, within)


def _choices(report: Report | None, view: View, shown: AnalysisRun | None) -> dict[str, Any]:
    """What the page can be narrowed to: one task and criterion, one slice of the ratings."""
    from analysis.report.condition_labels import family_labels
    from analysis.report.html.view import slices, titles

    if report is None:
        return {"families": [], "groups": {}, "view": view, "all_of_it": ""}
    groups: dict[str, list[Slice]] = {}
    for each in slices(report):
        groups.setdefault(each.group, []).append(each)
    here, labels = {"run": shown.pk} if shown else {}, family_labels(report)
    return {
        "families": [(title, labels.get(title, title)) for title in titles(report)],
        "groups": groups,
        "view": view,
        "all_of_it": f"?{urlencode({**here, 'about': ALL})}",
    }


def _clips_url(key: str, report: Report | None, view: View) -> str:
    """Where the clips of the family that is shown can be heard."""
    from analysis.report.html.view import place_of_family

    task, criterion = place_of_family(report, view.about) if report else ("", "")
    query = f"?{urlencode({'task': task, 'criterion': criterion})}" if task else ""
    return f"{reverse('results-clips', args=[key])}{query}"


def _files(shown: AnalysisRun | None, report: Report | None) -> list[dict[str, Any]]:
    """What can be made of the analysis that is shown."""
    from analysis.web.artifacts import offered_files

    if shown is None or shown.waits or report is None or not report["data"]["ratings"]:
        return []
    return offered_files(shown, report)


def _clips(report: Report | None) -> list[str]:
    """The files of scores of single clips, where they were asked for."""
    from analysis.report.writers.clip_files import KEY

    parts = [part for part in report.get("parts", ()) if part["key"] == KEY] if report else []
    stems = [table["key"] for part in parts if not part["problem"] for table in part["tables"]]
    return [f"{stem}.{kind}" for stem in dict.fromkeys(stems) for kind in ("csv", "json")]


def _part_files(report: Report | None) -> list[str]:
    """The further files of single analyses, such as marking-marks.json."""
    from analysis.report.writers.clip_files import TEXTGRIDS, has_textgrids, part_files

    if not report:
        return []
    return [*part_files(report), *[TEXTGRIDS] * has_textgrids(report)]


def runs_of(key: str) -> QuerySet[AnalysisRun]:
    """A study's analyses, the newest first."""
    return AnalysisRun.objects.filter(study__key=key)


def answered_run(key: str, run_asked: str) -> AnalysisRun | None:
    """The run for the page: as `shown_run`, but one that runs is shown once its answer stands."""
    if run_asked:
        return shown_run(key, run_asked)
    done, running = Q(state=AnalysisRun.State.DONE), Q(state=AnalysisRun.State.RUNNING)
    return runs_of(key).filter(done | running & ~Q(brief="")).defer(*LONG).first()


def shown_run(key: str, run_asked: str) -> AnalysisRun | None:
    """The finished run that was asked for, else the newest finished one; without its report."""
    done = runs_of(key).filter(state=AnalysisRun.State.DONE).defer(*LONG)
    if run_asked:
        if not run_asked.isdecimal() or len(run_asked) > 18:
            raise Http404("There is no such analysis.")
        if (run := done.filter(pk=int(run_asked)).first()) is None:
            raise Http404("This study has no such finished analysis.")
        return run
    return done.first()


KINDS = {
    "md": "text/markdown; charset=utf-8",
    "tex": "application/x-tex; charset=utf-8",
    "json": "application/json",
}


@logged_in_page
def report_card_page(request: HttpRequest, key: str) -> HttpResponse:
    """The card as it stands now, with the counts of the newest analysis or of ``?run=``."""
    from analysis.report.report_card import report_card

    head = study_head_or_404(key, request.user)
    run = shown_run(key, request.GET.get("run", ""))
    card = report_card(run.page_report() if run else None, method_facts(key))
    context: dict[str, Any] = {"study": head, "card": card, "shown": run, "kinds": list(KINDS)}
    return render(request, "analysis/report_card.html", context)


@logged_in_page
def report_card_file(request: HttpRequest, key: str, kind: str) -> HttpResponse:
    """The same card as a file."""
    from analysis.report.writers.report_card import STEM, card_files

    study_head_or_404(key, request.user)
    run = shown_run(key, request.GET.get("run", ""))
    files = card_files(run.page_report() if run else None, method_facts(key))
    return attachment(files[f"{STEM}.{kind}"], f"{key}-{STEM}.{kind}", KINDS[kind])


@logged_in_post
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
        messages.success(
            request, "Nothing has changed since the last analysis. You see its results."
        )
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
