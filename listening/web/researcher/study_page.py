"""The page of one study, live, with its ratings over time; and the page of its ratings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from listening import studies
from listening.access.rights import ANALYSE, EDIT, LOOK, study_for
from listening.common.addresses import public_route
from listening.common.counted import counted
from listening.common.views import logged_in_get, logged_in_page, logged_in_post
from listening.design.settings import derive
from listening.design.stop_rule import ASK, StopRule
from listening.design.studyfile import StimulusEntry
from listening.design.studyfile.drawing import draws_of
from listening.models import StopLook, Study, Task
from listening.models.study_log import note, withdrawals_of
from listening.recruitment.closing import closings_of
from listening.selectors import unplayed_clips
from listening.selectors.progress import forget_progress, page_progress
from listening.selectors.ratings import rating_page_rows, read_ratings
from listening.selectors.stop_rule import overdue_look, stop_facts_of
from listening.selectors.study_overview import HOUR_S, Hour, Mark, rating_times, state_marks
from listening.sessions import lifecycle
from listening.sessions.source_quotas import counts_of
from listening.studies import (
    Finding,
    StudyError,
    count_pilots,
    kept_findings,
    study_as_file,
)
from listening.studies.length import MEASURED_FROM, session_length
from listening.studies.stopped_systems import words_of_systems
from listening.studies.stopping import stop_proposed
from listening.web.researcher.checks_and_traps import beforehand
from listening.web.researcher.preview_studies import what_it_is
from listening.web.researcher.raters_table import described, rows_of
from listening.web.researcher.shown_findings import findings_of_study, lines_of

STOP_SYSTEMS = "stop-systems"  # as the page asks for it
MOST_BARS = 60
SPARK_BARS = 32
FEWEST_BARS = 12  # the first rating has empty bars before it where it is not long ago
WIDTHS = {1: "hour", 3: "3 hours", 6: "6 hours", 24: "day", 7 * 24: "week", 28 * 24: "4 weeks"}
HEIGHT = 100  # of the drawing; a page stretches it
CHECKED_UNASKED = 50  # clips; a larger draft is checked when its researcher asks
NEWEST_SHOWN = 5  # sessions; the page of raters has all of them
STATE_MESSAGES = {
    Study.State.OPEN: "The study is open. Raters can start.",
    Study.State.PAUSED: "The study is paused. New raters cannot start.",
    Study.State.CLOSED: "The study is closed.",
}


@dataclass(frozen=True)
class Bar:
    began: datetime
    ratings: int
    x: int
    height: float

    @property
    def y(self) -> float:
        return round(HEIGHT - self.height, 2)


@dataclass(frozen=True)
class Line:
    """A mark at its place among the bars."""

    mark: Mark
    x: float


@dataclass(frozen=True)
class TimePlot:
    """Bars from the first rating to now, or to the last that came, and what they are of."""

    bars: Sequence[Bar]
    per: str  # hour, day …
    total: int
    lines: Sequence[Line] = ()
    marks_left_out: int = 0

    @property
    def width(self) -> int:
        return len(self.bars)

    @property
    def height(self) -> int:
        return HEIGHT

    @property
    def most(self) -> Bar:
        return max(self.bars, key=lambda bar: bar.ratings)

    @property
    def form(self) -> str:
        """How a moment is written, as Django's filter `date` takes it."""
        return "Y-m-d H:i" if self.per.endswith(("hour", "hours")) else "Y-m-d"

    @property
    def summary(self) -> str:
        """The plot for who does not see it."""
        first = next(bar for bar in self.bars if bar.ratings)
        last = self.bars[-1]
        written = "%Y-%m-%d %H:%M" if "H" in self.form else "%Y-%m-%d"
        return (
            f"Ratings per {self.per} since {first.began:{written}} UTC: {self.total:,} in all, "
            f"most from {self.most.began:{written}} ({self.most.ratings:,}), "
            f"{last.ratings:,} from {last.began:{written}}, the last"
        )


def time_plot(
    hours: Sequence[Hour],
    until: datetime,
    marks: Sequence[Mark] = (),
    *,
    all_marks: int = 0,
    most: int = MOST_BARS,
) -> TimePlot | None:
    """The plot up to a moment; None without any rating.

    A bar is as wide as lets no more than `most` of them stand beside each other; the last may not
    be over yet.
    """
    if not hours:
        return None
    first = hours[0].hour
    last = max(hours[-1].hour, int(until.timestamp()) // HOUR_S)
    wide = next((w for w in WIDTHS if last // w - first // w + 1 <= most), 28 * 24)
    begin = min(first // wide, last // wide - FEWEST_BARS + 1)
    counts = [0] * (last // wide - begin + 1)
    for hour, ratings in hours:
        counts[hour // wide - begin] += ratings
    top = max(counts)
    bars = [
        Bar(
            datetime.fromtimestamp((begin + x) * wide * HOUR_S, UTC),
            count,
            x,
            round(HEIGHT * count / top, 2),
        )
        for x, count in enumerate(counts)
    ]
    lines = [line for mark in marks if 0 <= (line := _line(mark, begin, wide)).x <= len(bars)]
    left_out = max(all_marks - len(lines), 0)
    return TimePlot(bars, WIDTHS[wide], sum(counts), lines, left_out)


def _line(mark: Mark, begin: int, wide: int) -> Line:
    return Line(mark, round(mark.at.timestamp() / HOUR_S / wide - begin, 3))


def who(request: HttpRequest) -> str:
    """The user name, as logs keep it."""
    return str(request.user.get_username())


def _stop_rule(study: Study) -> dict[str, Any]:
    """The study's stop rule with its looks, and whether it asks to close the study now."""
    rule, facts = StopRule.from_dict(study.stop), stop_facts_of(study)
    if rule is None or facts is None:
        return {}
    applies = bool(facts["made"]) and facts["made"][-1]["decision"] != StopLook.Decision.GO_ON
    is_asking = rule.act == ASK and applies and study.state != Study.State.CLOSED
    words = rule.words(facts["planned"], facts["currency"])
    runs = study.state in Study.RUNNING
    proposed = facts["made"][-1]["proposed"] if facts["made"] and runs and not is_asking else []
    return {
        "stop": facts,
        "stop_words": words,
        "stop_asks": is_asking,
        "stop_proposed": proposed,
        "late_look": overdue_look(study),
    }


# --- One study -----------------------------------------------------------------------------------


@logged_in_get
def study(request: HttpRequest, key: str) -> HttpResponse:
    mine = study_for(request.user, key, LOOK)
    findings = _findings(mine, is_requested="check" in request.GET)
    progress = page_progress(key)
    context = {
        "study": mine,
        **_stop_rule(mine),
        "closings": closings_of(mine),
        "progress": progress,
        "withdrawals": withdrawals_of(mine) if progress["sessions"]["withdrawn"] else None,
        "findings": None if findings is None else findings_of_study(findings, mine, request.user),
        "must_be_solved": any(f.level == "problem" for f in findings or ()),
        "link": public_route("landing", mine.link),
        "monitor": f"{settings.EARNEST_PATH}/ws/studies/{mine.key}/",
        "before": beforehand(mine),
        "length": session_length(mine),
        "made_of": _what_it_is(mine) if mine.state == Study.State.DRAFT else None,
        "drawn": draws_of(_tasks(mine)),
        "measured_from": MEASURED_FROM,
        "tries": count_pilots(mine),
        "unplayed": unplayed_clips(key),
        "sources": counts_of(mine) if mine.sources else [],
        **_time_facts(mine),
        "newest": described(rows_of(mine).order_by("-started_at", "-pk")[:NEWEST_SHOWN]),
    }
    return render(request, "researcher/study.html", context)


@logged_in_get
def design(request: HttpRequest, key: str) -> HttpResponse:
    """What the study asks and plays: tasks, scales, systems and some of their clips."""
    mine = study_for(request.user, key, LOOK)
    context = {"study": mine, "made_of": _what_it_is(mine), "drawn": draws_of(_tasks(mine))}
    return render(request, "researcher/design.html", context)


def _tasks(study: Study) -> QuerySet[Task]:
    return study.tasks.order_by("order")


def _time_facts(study: Study) -> dict[str, object]:
    times = rating_times(study.key)
    assert times is not None  # who looks with patience gets something
    marks, all_marks = state_marks(study.pk)
    plot = time_plot(times.value, study.closed_at or timezone.now(), marks, all_marks=all_marks)
    return {"plot": plot, "plot_counted_at": times.counted_at if times.is_old else None}


def _what_it_is(study: Study) -> dict[str, Any]:
    """The wording, scales, clips and plan of a study."""
    file = study_as_file(study)

    def address(entry: StimulusEntry) -> str:
        return reverse("study-preview-clip", args=[study.key, entry.key])

    return what_it_is(derive(file).added_to(file), address)


def _findings(study: Study, is_requested: bool) -> list[Finding] | None:
    """What stands against opening a draft; None when that has to be asked for.

    Every clip is decoded for it, so a large study is looked at on request.
    """
    if study.state != Study.State.DRAFT:
        return []
    name = f"findings/{study.pk}"
    return kept_findings(study, name, anew=is_requested, most=CHECKED_UNASKED)


# --- What can be done ----------------------------------------------------------------------------


@logged_in_post
def change_state(request: HttpRequest, key: str) -> HttpResponse:
    """Open, pause or close; a study that is not ready says what is missing instead."""
    mine = study_for(request.user, key, EDIT)
    to = request.POST.get("to", "")
    if to == STOP_SYSTEMS:
        return _stop_systems(request, mine)
    try:
        studies.change_state(mine, to, anyway="anyway" in request.POST, by=who(request))
    except StudyError as error:
        for line in lines_of(error):
            messages.error(request, line)
    else:
        forget_progress(key)
        messages.success(request, STATE_MESSAGES[Study.State(to)])
    return redirect("study", key=key)


def _stop_systems(request: HttpRequest, mine: Study) -> HttpResponse:
    """Stop the systems that the last look of the stop rule proposes."""
    try:
        stopped = stop_proposed(mine, by=who(request))
    except StudyError as error:
        messages.error(request, str(error))
    else:
        forget_progress(mine.key)
        messages.success(request, f"No more raters for {words_of_systems(stopped)}.")
    return redirect("study", key=mine.key)


@logged_in_post
def delete_simulated(request: HttpRequest, key: str) -> HttpResponse:
    mine = study_for(request.user, key, EDIT)
    deleted = lifecycle.delete_simulated(mine)
    note(mine, "simulated_deleted", who(request), sessions=deleted)
    forget_progress(key)
    sessions = counted(deleted, "session")
    messages.success(request, f"Deleted {sessions} of simulated raters with their ratings.")
    return redirect("study", key=key)


@logged_in_page
def page(request: HttpRequest, key: str) -> HttpResponse:
    study = study_for(request.user, key, ANALYSE)
    shown = read_ratings(study, request.GET)
    context = {
        "study": study,
        "shown": shown,
        "page": shown.page,
        "rows": rating_page_rows(study, shown),
    }
    return render(request, "researcher/ratings.html", context)
