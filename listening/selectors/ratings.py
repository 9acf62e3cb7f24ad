"""The ratings of a study: as plain pseudonymous rows, as a table, and in the order of storing.

The table is filtered and sorted in the database, for the page and for its CSV. The feed gives each
rating after a place exactly once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from time import monotonic, sleep
from typing import TypedDict

from django.core.exceptions import EmptyResultSet
from django.db import connection, transaction
from django.db.models import Exists, Max, Min, OuterRef, Q, QuerySet

from listening.common.tables import Column, Filter, Table, TableView, number_from, one_of
from listening.design.traps import TRAINING
from listening.methods import method_named
from listening.methods.method import methods_with_choices
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
from listening.review.outcomes import used_codes, used_reviews
from listening.sessions.leases import STATUS_NOW

RATINGS_PER_PAGE = 25
WHY_NOT = {  # what leaves a rating out of every analysis by default, the first that holds
    "training": "Training",
    "trap": "Trap",
    "rejected": "Session rejected",
    "withdrawn": "Session withdrawn",
    "no_place": "Not a planned rating",
}
COUNTS = "counts"
MOST_OF_ONE = 1000  # sessions of one rater
LEFT_OUT = (Session.Status.REJECTED, Session.Status.WITHDRAWN)
# In the order of storing: walked along the primary key, which knows no days. Where days are asked
# for, it is sorted by time, or the database would walk past all ratings that came after.
STORED, TIMED = ("pk",), ("rated_at",)
COLUMNS = (
    Column("when", "Rated at (UTC)", STORED, largest_first=True),
    Column("clip", "Clip"),
    Column("answer", "Answer", ("score",), nullable=True),
    Column("rater", "Rater"),
    Column("took", "Duration", ("trial__latency_ms",), is_number=True, nullable=True),
    Column("plays", "Plays", ("trial__plays",), is_number=True, nullable=True),
    Column("reason", "Justification"),
    Column("use", "Use"),
)
QUICK_SORTS = ("when", "-when")  # of any number of ratings; by other columns fewer can be sorted
PATIENCE_S = 5.0
LOOK_AGAIN_S = 0.005
# A lock of this kind is taken before a rating is numbered, and given back when all others see it.
WRITERS = """
SELECT virtualtransaction FROM pg_locks
WHERE locktype = 'relation' AND relation = 'listening_rating'::regclass AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND mode = 'RowExclusiveLock' AND pid IS DISTINCT FROM pg_backend_pid()
"""
# Once per session. Headphones: false if any check failed or the rater said "loudspeaker".
SESSION_FACTS = f"""
WITH sessions AS MATERIALIZED (
    SELECT s.id, {STATUS_NOW} AS status, CASE
        WHEN jsonb_path_exists(s.checks,
            '$.keyvalue() ? (@.key == "huggins" || @.key == "antiphase" || @.key == "stereo")
                .value.passed ? (@ == false)')
            OR jsonb_path_exists(s.questionnaires,
                '$.*.answers.listening_device ? (@ == "loudspeaker")') THEN false
        WHEN jsonb_path_exists(s.checks,
            '$.keyvalue() ? (@.key == "huggins" || @.key == "antiphase" || @.key == "stereo")
                .value.passed ? (@ == true)')
            OR jsonb_path_exists(s.questionnaires,
                '$.*.answers.listening_device ? (@ == "in_ear" || @ == "over_ear")') THEN true
        END AS headphones
    FROM listening_session s JOIN listening_study st ON st.id = s.study_id
    WHERE st.key = %s AND NOT s.pilot)
"""
RATINGS = """
SELECT st.key AS study, k.key AS task, k.method AS method, c.key AS criterion,
    's' || t.session_id AS session, r.code AS rater, 'b' || t.block_id AS block,
    t.position AS position, i.key AS item, i.dimension AS dimension, i.paragraph AS paragraph,
    coalesce(nullif(i.language, ''), st.language) AS language, i.split AS split,
    co.key AS condition, replace(co.role, 'trap', '') AS role, co.system AS system,
    co.voice AS voice, x.key AS stimulus, coalesce(vc.key, '') AS versus_condition,
    coalesce(v.key, '') AS versus_stimulus,
    CASE WHEN v.id IS NOT NULL THEN t.versus_first END AS versus_first,
    concat_ws(' ', (SELECT string_agg(y.key, ' ' ORDER BY o.place) FROM unnest(t.context)
        WITH ORDINALITY AS o(id, place) JOIN listening_stimulus y ON y.id = o.id),
        (SELECT string_agg(coalesce(nullif(l.line->>'stimulus', ''),
            'text:' || replace(l.line->>'item', ' ', '_')), ' ' ORDER BY l.place)
        FROM jsonb_array_elements(x.lines) WITH ORDINALITY AS l(line, place)
        WHERE l.line->>'role' = 'context')) AS context,
    q.label AS label, q.score AS score, coalesce(choices.correct, '') AS correct_answer,
    coalesce(choices.alternatives, '') AS alternatives, t.trap AS trap,
    t.trap_passed AS trap_passed, coalesce(j.text, '') AS justification,
    t.latency_ms AS latency_ms, t.plays AS plays, t.heard_fraction AS heard_fraction,
    to_char(q.rated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS rated_at,
    w.status AS session_status, s.paid AS paid, q.counts AS counts, w.headphones AS headphones,
    st.version::text AS version, s.source AS recruitment_source,
    t.pair_probability AS pair_probability, t.id AS trial
FROM {ratings} q
JOIN listening_trial t ON t.id = q.trial_id
JOIN listening_session s ON s.id = t.session_id
JOIN sessions w ON w.id = s.id
JOIN listening_rater r ON r.id = s.rater_id
JOIN listening_task k ON k.id = t.task_id
JOIN listening_study st ON st.id = s.study_id
JOIN listening_criterion c ON c.id = q.criterion_id
JOIN listening_stimulus x ON x.id = q.stimulus_id
JOIN listening_condition co ON co.id = x.condition_id
JOIN listening_item i ON i.id = x.item_id
LEFT JOIN listening_stimulus v ON v.id = t.versus_id
LEFT JOIN listening_condition vc ON vc.id = v.condition_id
LEFT JOIN listening_justification j ON j.trial_id = t.id
LEFT JOIN LATERAL (
    SELECT alternatives, CASE WHEN x.attributes->>'correct_answer' = ANY(
        string_to_array(alternatives, '|')) THEN x.attributes->>'correct_answer' END AS correct
    FROM (SELECT CASE c.scale->>'widget'
        WHEN 'alternatives' THEN
            regexp_replace(trim(x.attributes->>'alternatives'), ' *[|] *', '|', 'g')
        ELSE (SELECT string_agg(step->>'label', '|' ORDER BY place) FROM jsonb_array_elements(
            c.scale->'steps') WITH ORDINALITY AS s(step, place)) END AS alternatives) a
) choices ON k.method = ANY(%s) AND c.scale->>'widget' IN ('choice', 'alternatives')
WHERE st.key = %s ORDER BY q.id
"""


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
    titles = _criterion_titles(criteria)
    places = tuple((f"{c.task.key} {c.key}", titles[c.pk]) for c in criteria)
    conditions = tuple(
        (c.key, c.label or c.key) for c in Condition.objects.filter(study=study).order_by("pk")
    )
    uses = ((COUNTS, "Counts"), ("left_out", "Excluded, any reason"), *WHY_NOT.items())
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
            Filter("clip", "Clip", _clip(systems), placeholder="key of clip or sentence"),
            Filter("rater", "Rater", _rater(study), placeholder="code, or s and a number"),
            Filter("from", "Minimum value", number_from("score"), kind="number"),
            Filter("to", "Maximum value", number_from("score", "lte"), kind="number"),
            Filter("answer", "Answer", one_of("label"), placeholder="exact label"),
            Filter("reason", "Justification", _reason, (("with", "With"), ("without", "Without"))),
            Filter("use", "Use", _use(study), uses),
            Filter(
                "faster",
                "Duration up to (s)",
                number_from("trial__latency_ms", "lte", factor=1000),
                kind="number",
            ),
            Filter("since", "Since (UTC)", _day(0, "gte"), kind="date"),
            Filter("until", "Until (UTC)", _day(1, "lt"), kind="date"),
        ),
        sort="-when",
        rows_per_page=RATINGS_PER_PAGE,
    )


def study_criteria(study: Study) -> list[Criterion]:
    return list(
        Criterion.objects.filter(task__study=study)
        .select_related("task")
        .order_by("task__order", "order")
    )


def _criterion_titles(criteria: Sequence[Criterion]) -> dict[int, str]:
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


def read_ratings(study: Study, query: Mapping[str, str]) -> TableView:
    """The ratings that a request asks for.

    More than can be paged through are sorted by time only: to sort a million rows by another
    column would make everybody wait, and who asks reads so.
    """
    table, rows = rating_table(study), ratings_of(study)
    if query.get("since") or query.get("until"):
        columns = (replace(COLUMNS[0], order=TIMED), *COLUMNS[1:])
        table = replace(table, columns=columns)
    shown = table.read(rows, query)
    if shown.sort in QUICK_SORTS or not shown.is_capped:
        return shown
    notice = (
        f"More than {table.most:,} ratings are sorted by time only: "
        f"filter first, then sort by another column."
    )
    by_time = table.read(rows, {**query, "sort": table.sort})
    return replace(by_time, ignored=(*by_time.ignored, notice))


def chosen_ratings(study: str, query: Mapping[str, str]) -> QuerySet[Rating] | None:
    """Those that the filters of the page leave; None: all. Raises ValueError for a bad filter."""
    row = Study.objects.get(key=study)
    table = rating_table(row)
    if not any(query.get(each.name) for each in table.filters):
        return None
    shown = table.read(ratings_of(row), query)
    if shown.ignored:
        raise ValueError(" ".join(shown.ignored))
    return shown.filtered


def rating_page_rows(study: Study, shown: TableView) -> list[RatingShown]:
    """The rows of the page, with all that stands in them: two statements after that of the page."""
    pks = [rating.pk for rating in shown.page]
    joined = Rating.objects.select_related(
        *("criterion__task", "stimulus__condition", "stimulus__item"),
        *("trial__session__rater", "trial__versus__condition", "trial__justification"),
    ).in_bulk(pks)
    titles = _criterion_titles(study_criteria(study))
    return [_as_row(joined[pk], titles) for pk in pks if pk in joined]


def _as_row(rating: Rating, titles: Mapping[int, str]) -> RatingShown:
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
        matches = stimuli.filter(Q(key__icontains=value) | Q(item__key__icontains=value))
        return Q(stimulus__in=matches.values("pk"))

    return narrow


def _rater(study: Study) -> Callable[[str], Q]:
    """By the code of a rater or the number of a session, as the files of ratings name them."""

    def narrow(value: str) -> Q:
        sessions = Session.objects.filter(study=study)
        number = value[1:] if value[:1] in "sS" else ""
        if number.isdecimal() and len(number) < 18:
            matches = sessions.filter(Q(pk=int(number)) | Q(rater__code=value))
        else:
            matches = sessions.filter(rater__code=value)
        # by their numbers, which are few: so the database begins with them, and not with ratings
        mine = Trial.objects.filter(
            session__in=list(matches.values_list("pk", flat=True)[:MOST_OF_ONE])
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
        **{
            s: Q(trial__in=by_status.filter(trap="").values("pk")) for s, by_status in ended.items()
        },
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


class FeedNotReady(Exception):
    """Ratings are being written by somebody who takes long."""


@dataclass(frozen=True)
class RatingFeedPage:
    """The ratings after `after`, up to `upto`, of which none is missing."""

    ratings: QuerySet[Rating]
    after: int
    upto: int
    more: bool  # whether there are others after them already

    @property
    def is_empty(self) -> bool:
        return self.upto == self.after


def rating_feed(study: Study, after: int, most: int) -> RatingFeedPage:
    """About `most` of them, in the order of storing. FeedNotReady after a long wait."""
    waiting = ratings_of(study).filter(pk__gt=after).order_by("pk")
    pks = list(waiting.values_list("pk", flat=True)[:most])
    if not pks:
        return RatingFeedPage(Rating.objects.none(), after, after, False)
    wait_for_writers()
    criteria = [each.pk for each in study_criteria(study)]
    chosen = Rating.objects.filter(criterion__in=criteria, pk__gt=after, pk__lte=pks[-1])
    return RatingFeedPage(chosen, after, pks[-1], len(pks) == most)


def wait_for_writers(patience_s: float = PATIENCE_S) -> None:
    """Until all transactions have ended that may have numbered a rating before now."""
    before = writers()
    until = monotonic() + patience_s
    while before:
        if monotonic() > until:
            raise FeedNotReady(
                "Ratings are being stored or deleted by something that takes long. Ask again; the "
                "same cursor goes on where you are."
            )
        sleep(LOOK_AGAIN_S)
        before &= writers()


def writers() -> set[str]:
    """The transactions that are writing ratings now."""
    with connection.cursor() as cursor:
        cursor.execute(WRITERS)
        return {row[0] for row in cursor.fetchall()}


class RatingRow(TypedDict):
    """One rating as it leaves the room: pseudonymous, one row each, traps included."""

    study: str
    task: str
    method: str
    criterion: str
    estimand: str
    session: str
    rater: str
    block: str
    position: int
    item: str
    dimension: str
    paragraph: str
    language: str
    split: str
    condition: str
    role: str  # of the condition: test, reference or anchor; empty for conditions of traps
    system: str
    voice: str
    stimulus: str
    versus_condition: str
    versus_stimulus: str
    presented_first: str
    context: str
    label: str
    score: float | None  # None: the answer has no number, as text has none
    correct_answer: str  # the right answer of the clip, where the answers hold it
    alternatives: str  # the answers to choose from, "a|b"; of choices only
    trap: str
    trap_passed: bool | None
    justification: str
    review: str  # fit or unfit, from reviews that are in use; "" where nothing is decided
    latency_ms: int | None
    plays: int | None
    heard_fraction: float | None
    rated_at: str
    session_status: str
    paid: bool
    counts: bool  # does it fill a place of the plan? never for traps
    headphones: bool | None  # what checks and the answer of this session say; None: not asked
    codes: str  # of the justification, "a|b", from reviews that are in use
    version: str  # of the study: "1" unless it is a later one
    recruitment_source: str  # key of the [[sources]] by which the rater came; "": none named
    pair_probability: float | None  # of drawing these two systems; None: pairs were not drawn


def rating_rows(study: str, chosen: QuerySet[Rating] | None = None) -> Iterator[RatingRow]:
    """The stored ratings of a study in the order of storing, read in pieces, never all at once.

    Every one, or those that are chosen.
    """
    keys = tuple(RatingRow.__annotations__)
    ratings, values = "listening_rating", ()
    if chosen is not None:
        try:
            picked, values = chosen.query.sql_with_params()
        except EmptyResultSet:  # no database has to be asked
            return
        ratings = f"({picked} OFFSET 0)"  # picked first, and joined then
    row_of = Study.objects.get(key=study)
    reviews, codes = used_reviews(row_of), used_codes(row_of)
    estimands = {
        task.key: method_named(task.method).estimand_for(task.options).key
        for task in row_of.tasks.all()
    }
    with transaction.atomic():
        raw = connection.connection
        if chosen is not None:  # a few: all of them soon, not the first tenth of all soon
            raw.execute("SET LOCAL cursor_tuple_fraction = 1")
        parameters = [study, *values, methods_with_choices(), study]
        with raw.cursor(name="rating_rows") as cursor:
            cursor.itersize = 5000
            cursor.execute(SESSION_FACTS + RATINGS.format(ratings=ratings), parameters)
            columns = [each.name for each in cursor.description or ()]
            for stored in cursor:
                row = dict(zip(columns, stored, strict=True))
                row["estimand"] = estimands[row["task"]]
                row["presented_first"] = ""
                if (order := row["versus_first"]) is not None:  # None where nothing was compared
                    method = method_named(row["method"])
                    row["presented_first"] = method.presented_first(versus_first=order)
                row["review"] = reviews.get(row["trial"], "")
                row["codes"] = codes.get(row["trial"], "")
                yield {key: row[key] for key in keys}  # type: ignore[misc]  # keys are RatingRow's
