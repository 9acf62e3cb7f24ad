"""Ratings one by one, filtered and sorted in the database: for the page and for its CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import TypedDict

from django.db.models import Exists, Max, Min, OuterRef, Q, QuerySet

from listening.common.tables import Column, Filter, Shown, Table, number_from, one_of
from listening.design.traps import TRAINING
from listening.models import (
    Condition,
    Criterion,
    Justification,
    Rating,
    Session,
    Stimulus,
    Study,
    Trial,
)

RATINGS_PER_PAGE = 25
WHY_NOT = {  # what leaves a rating out of every analysis by default, the first that holds
    "training": "Training",
    "trap": "Trap",
    "rejected": "Session rejected",
    "withdrawn": "Session withdrawn",
    "no_place": "Fills no place of the plan",
}
COUNTS = "counts"
MOST_OF_ONE = 1000  # sessions of one rater
LEFT_OUT = (Session.Status.REJECTED, Session.Status.WITHDRAWN)


class RatingShown(TypedDict):
    """One rating as a page shows it."""

    rating: Rating
    place: str  # task and criterion
    value: str  # where the answer does not say it
    took_s: float | None
    why_not: str  # it is left out of analyses; "": it counts


def rating_table(study: Study) -> Table:
    """What the ratings of this study can be narrowed and sorted by."""
    criteria = study_criteria(study)
    titles = _place_titles(criteria)
    places = tuple((f"{c.task.key} {c.key}", titles[c.pk]) for c in criteria)
    conditions = tuple(
        (c.key, c.label or c.key) for c in Condition.objects.filter(study=study).order_by("pk")
    )
    uses = ((COUNTS, "Counts"), ("left_out", "Left out, for whatever reason"), *WHY_NOT.items())
    at = {f"{c.task.key} {c.key}": c.pk for c in criteria}
    systems = Stimulus.objects.filter(study=study)
    return Table(
        what="ratings",
        columns=COLUMNS,
        filters=(
            Filter("place", "Criterion", lambda value: Q(criterion=at[value]), places),
            Filter(
                "condition",
                "System",
                lambda value: Q(stimulus__in=systems.filter(condition__key=value).values("pk")),
                conditions,
            ),
            Filter("clip", "Clip", _clip(systems), placeholder="key of a clip or sentence"),
            Filter("rater", "Rater", _rater(study), placeholder="code, or s and a number"),
            Filter("from", "Value from", number_from("score"), kind="number"),
            Filter("to", "Value up to", number_from("score", "lte"), kind="number"),
            Filter("answer", "Answer", one_of("label"), placeholder="exact words of a label"),
            Filter("reason", "Reason", _reason, (("with", "With"), ("without", "Without"))),
            Filter("use", "Use", _use(study), uses),
            Filter(
                "faster",
                "Within (s)",
                number_from("trial__latency_ms", "lte", factor=1000),
                kind="number",
            ),
            Filter("since", "Since (UTC)", _day(0, "gte"), kind="date"),
            Filter("until", "Until (UTC)", _day(1, "lt"), kind="date"),
        ),
        sort="-when",
        rows_per_page=RATINGS_PER_PAGE,
    )


# In the order of storing: walked along the primary key, which knows no days. Where days are asked
# for, it is sorted by time, or the database would walk past all ratings that came after.
STORED, TIMED = ("pk",), ("rated_at",)
COLUMNS = (
    Column("when", "Rated at (UTC)", STORED, largest_first=True),
    Column("clip", "Clip"),
    Column("answer", "Answer", ("score",), nullable=True),
    Column("rater", "Rater"),
    Column("took", "Took", ("trial__latency_ms",), is_number=True, nullable=True),
    Column("plays", "Plays", ("trial__plays",), is_number=True, nullable=True),
    Column("reason", "Reason"),
    Column("use", "Use"),
)
QUICK_SORTS = ("when", "-when")  # of any number of ratings; by other columns fewer can be sorted


def study_criteria(study: Study) -> list[Criterion]:
    return list(
        Criterion.objects.filter(task__study=study)
        .select_related("task")
        .order_by("task__order", "order")
    )


def _place_titles(criteria: Sequence[Criterion]) -> dict[int, str]:
    """By criterion: the title of its task, and its own name where the task has several."""
    several = Counter(criterion.task_id for criterion in criteria)
    titles = {}
    for criterion in criteria:
        title = criterion.task.title or criterion.task.key
        own = f" · {criterion.key.replace('_', ' ')}"
        titles[criterion.pk] = title + (own if several[criterion.task_id] > 1 else "")
    return titles


def ratings_of(study: Study) -> QuerySet[Rating]:
    """All ratings of a study, between its first and its last: other studies' are not walked."""
    if study.state == Study.State.DRAFT:  # what its researchers tried, see studies.pilots
        return Rating.objects.none()
    criteria = [c.pk for c in study_criteria(study)]
    ends = [
        Rating.objects.filter(criterion=pk).aggregate(first=Min("pk"), last=Max("pk"))
        for pk in criteria
    ]
    first = min((e["first"] for e in ends if e["first"]), default=1)
    last = max((e["last"] for e in ends if e["last"]), default=0)
    return Rating.objects.filter(criterion__in=criteria, pk__gte=first, pk__lte=last)


def read_ratings(study: Study, asked: Mapping[str, str]) -> Shown:
    """The ratings that a request asks for.

    More than can be paged through are sorted by time only: to sort a million rows by another
    column would make everybody wait, and who asks reads so.
    """
    table, rows = rating_table(study), ratings_of(study)
    if asked.get("since") or asked.get("until"):
        columns = (replace(COLUMNS[0], order=TIMED), *COLUMNS[1:])
        table = replace(table, columns=columns)
    shown = table.read(rows, asked)
    if shown.sort in QUICK_SORTS or not shown.is_capped:
        return shown
    said = (
        f"More than {table.most:,} ratings are sorted by time only: "
        f"filter first, then sort by another column."
    )
    by_time = table.read(rows, {**asked, "sort": table.sort})
    return replace(by_time, ignored=(*by_time.ignored, said))


def chosen_ratings(study: str, asked: Mapping[str, str]) -> QuerySet[Rating] | None:
    """Those that the filters of the page leave; None: all. Raises ValueError for a bad filter."""
    row = Study.objects.get(key=study)
    table = rating_table(row)
    if not any(asked.get(each.name) for each in table.filters):
        return None
    shown = table.read(ratings_of(row), asked)
    if shown.ignored:
        raise ValueError(" ".join(shown.ignored))
    return shown.filtered


def shown_ratings(study: Study, shown: Shown) -> list[RatingShown]:
    """The rows of the page, with all that stands in them: two statements after that of the page."""
    pks = [rating.pk for rating in shown.page]
    joined = Rating.objects.select_related(
        *("criterion__task", "stimulus__condition", "stimulus__item"),
        *("trial__session__rater", "trial__versus__condition", "trial__justification"),
    ).in_bulk(pks)
    titles = _place_titles(study_criteria(study))
    return [_shown(joined[pk], titles) for pk in pks if pk in joined]


def _shown(rating: Rating, titles: Mapping[int, str]) -> RatingShown:
    latency_ms = rating.trial.latency_ms
    took_s = None if latency_ms is None else latency_ms / 1000
    value = "" if rating.score is None else f"{rating.score:.4g}"
    return RatingShown(
        rating=rating,
        place=titles[rating.criterion_id],
        value="" if value == rating.label else value,
        took_s=took_s,
        why_not=why_not(rating),
    )


def why_not(rating: Rating) -> str:
    """As the filter says it."""
    trial = rating.trial
    if trial.trap:
        return WHY_NOT["training" if trial.trap == TRAINING else "trap"]
    if trial.session.status in LEFT_OUT:
        return WHY_NOT[trial.session.status]
    return "" if rating.counts else WHY_NOT["no_place"]


def _clip(stimuli: QuerySet[Stimulus]) -> Callable[[str], Q]:
    def narrow(value: str) -> Q:
        found = stimuli.filter(Q(key__icontains=value) | Q(item__key__icontains=value))
        return Q(stimulus__in=found.values("pk"))

    return narrow


def _rater(study: Study) -> Callable[[str], Q]:
    """By the code of a rater or the number of a session, as the files of ratings name them."""

    def narrow(value: str) -> Q:
        sessions = Session.objects.filter(study=study)
        number = value[1:] if value[:1] in "sS" else ""
        if number.isdecimal() and len(number) < 18:
            found = sessions.filter(Q(pk=int(number)) | Q(rater__code=value))
        else:
            found = sessions.filter(rater__code=value)
        # by their numbers, which are few: so the database begins with them, and not with ratings
        mine = Trial.objects.filter(
            session__in=list(found.values_list("pk", flat=True)[:MOST_OF_ONE])
        )
        return Q(trial__in=mine.values("pk"))

    return narrow


def _reason(value: str) -> Q:
    written = Exists(Justification.objects.filter(trial=OuterRef("trial")))
    return Q(written) if value == "with" else ~Q(written)


def _use(study: Study) -> Callable[[str], Q]:
    """By sets of trials, which are few, and not by a join of all ratings with theirs."""
    trials = Trial.objects.filter(task__study=study)
    traps = trials.exclude(trap="")
    ended: dict[str, QuerySet[Trial]] = {
        str(status): Trial.objects.filter(
            session__in=Session.objects.filter(study=study, status=status).values("pk")
        )
        for status in LEFT_OUT
    }
    some: dict[str, Q] = {
        "training": Q(trial__in=traps.filter(trap=TRAINING).values("pk")),
        "trap": Q(trial__in=traps.exclude(trap=TRAINING).values("pk")),
        "no_place": Q(counts=False) & ~Q(trial__in=traps.values("pk")),
        **{s: Q(trial__in=found.filter(trap="").values("pk")) for s, found in ended.items()},
    }
    lost = Trial.objects.filter(
        session__in=Session.objects.filter(study=study, status__in=LEFT_OUT).values("pk")
    )
    left_out = Q(counts=False) | Q(trial__in=lost.values("pk"))

    def narrow(value: str) -> Q:
        return ~left_out if value == COUNTS else some.get(value, left_out)

    return narrow


def _day(more: int, lookup: str) -> Callable[[str], Q]:
    """Days begin at midnight UTC; the last one is counted whole."""

    def narrow(value: str) -> Q:
        try:
            day = date.fromisoformat(value) + timedelta(days=more)
        except (ValueError, OverflowError):
            raise ValueError("write a day such as 2026-11-24") from None
        return Q(**{f"rated_at__{lookup}": datetime.combine(day, time(), UTC)})

    return narrow
