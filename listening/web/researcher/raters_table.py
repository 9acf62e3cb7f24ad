"""The table of a study's raters, a row for each session: what it can be narrowed and sorted by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from listening.common.tables import Column, Filter, Table, number_from, one_of
from listening.design.sources import sources_of
from listening.models import Block, Session, SessionSummary, Study
from listening.sessions.outcomes import review_words

SHOWN_AS = {"expired": "dropped out", "screened": "screened out", "started": "in progress"}
HELD = Block.objects.filter(session=OuterRef("pk"), state=Block.State.LEASED)
DROPPED_OUT = Q(~Exists(HELD), status=Session.Status.STARTED)  # its places went to others


def called(status: str) -> str:
    """A status in the words of the researcher's pages."""
    return SHOWN_AS.get(status, status)


def _state(value: str) -> Q:
    if value == Session.Status.EXPIRED:
        return Q(status=value) | DROPPED_OUT
    return Q(status=value) & ~DROPPED_OUT if value == Session.Status.STARTED else Q(status=value)


def _choice(name: str, title: str, choices: Mapping[str, tuple[str, Q]]) -> Filter:
    words = tuple((value, said) for value, (said, _) in choices.items())
    return Filter(name, title, lambda value: choices[value][1], words)


def _counted(
    name: str, title: str, field: str, *, largest_first: bool = True, help: str = ""
) -> Column:
    """A column of figures; sessions that are not counted yet come last."""
    return Column(
        name,
        title,
        (f"summary__{field}",),
        is_number=True,
        largest_first=largest_first,
        nullable=True,
        help=help,
    )


COLUMNS = (
    Column("rater", "Rater", ("rater__code",)),
    Column("state", "State", ("status",)),
    Column("source", "Source", ("source",)),
    Column("device", "Device", ("device",)),
    _counted("answered", "Trials", "answered"),
    _counted("traps", "Traps failed", "traps_failed"),
    _counted("checks", "Checks failed", "checks_failed"),
    _counted(
        "time",
        "Time per trial",
        "median_ms",
        largest_first=False,
        help="Median over answered trials, without practice",
    ),
    _counted(
        "agreement",
        "Agreement",
        "agreement",
        largest_first=False,
        help="Pearson’s r with the means of all others’ scores of the same clips",
    ),
    _counted("signs", "Bot indicators", "signs", help="Trials with bot indicators"),
    Column("started", "Started (UTC)", ("started_at",), largest_first=True),
)
STATES = tuple((name, called(name)) for name in Session.Status.values)
DEVICES = tuple((name, name) for name in ("desktop", "phone", "tablet"))
FILTERS = (
    Filter("state", "State", _state, STATES),
    _choice(
        "review", "Flagged", {"yes": ("needs review", ~Q(review="")), "no": ("no", Q(review=""))}
    ),
    _choice(
        "traps",
        "Traps",
        {
            "failed": ("some failed", Q(summary__traps_failed__gt=0)),
            "passed": ("all passed", Q(summary__traps__gt=0, summary__traps_failed=0)),
            "none": ("none answered", Q(summary__traps=0)),
        },
    ),
    _choice(
        "checks",
        "Checks",
        {
            "failed": ("some failed", Q(summary__checks_failed__gt=0)),
            "passed": ("none failed", Q(summary__checks_failed=0)),
        },
    ),
    _choice("paid", "Paid", {"yes": ("paid", Q(paid=True)), "no": ("not known", Q(paid=False))}),
    Filter("device", "Device", one_of("device"), DEVICES),
    _choice(
        "who",
        "Raters",
        {
            "people": ("people", Q(rater__simulated=False)),
            "simulated": ("simulated", Q(rater__simulated=True)),
        },
    ),
    _choice(
        "signs",
        "Bot indicators",
        {"yes": ("some", Q(summary__signs__gt=0)), "no": ("none", Q(summary__signs=0))},
    ),
    Filter(
        "below",
        "Time per trial below (s)",
        number_from("summary__median_ms", "lt", factor=1000),
        kind="number",
    ),
    Filter(
        "agreement",
        "Agreement below",
        number_from("summary__agreement", "lt"),
        kind="number",
        placeholder="e.g. 0.25",
    ),
)
RATERS = Table("raters", COLUMNS, FILTERS, sort="-started", most=100_000)


def raters_table(study: Study, *, sees_ids: bool) -> Table:
    """With the study's ways in, and a search by what this user may see."""
    placeholder = "code or participant ID" if sees_ids else "code"
    search = Filter("q", "Search", _search(study, sees_ids), placeholder=placeholder)
    named = tuple((source.key, source.name) for source in sources_of(study.sources))
    ways = (Filter("source", "Source", one_of("source"), named),) if named else ()
    hidden = () if named else ("source",)
    columns = tuple(column for column in COLUMNS if column.name not in hidden)
    return replace(RATERS, filters=(search, *FILTERS, *ways), columns=columns)


def _search(study: Study, sees_ids: bool) -> Callable[[str], Q]:
    """By a part of the code here, by session (“s12”), by the whole of an id from elsewhere.

    Ids are sealed in the database: no part of one can be looked for.
    """

    def narrow(value: str) -> Q:
        found = Q(rater__code__icontains=value)
        if value[:1] == "s" and value[1:].isdecimal():
            found |= Q(pk=int(value[1:][:15]))
        if sees_ids:
            found |= Q(rater__prolific_id=value) | Q(prolific_session=value)
            for source in sources_of(study.sources):
                identity = source.identity(value, owner=study.owner_id, study=study.pk)
                found |= Q(rater__external_id=identity)
        return found

    return narrow


def rows_of(study: Study) -> QuerySet[Session]:
    return study.sessions.filter(pilot=False).select_related("rater", "summary")


def described(rows: Iterable[Session]) -> list[dict[str, Any]]:
    """The rows of a page as the table shows them: one query for all."""
    sessions = list(rows)
    holding = set(
        Block.objects.filter(
            session__in=[s.pk for s in sessions], state=Block.State.LEASED
        ).values_list("session_id", flat=True)
    )
    return [_described(session, session.pk in holding) for session in sessions]


def _described(session: Session, holds: bool) -> dict[str, Any]:
    left = session.status == Session.Status.STARTED and not holds
    status = str(Session.Status.EXPIRED if left else session.status)
    summary: SessionSummary | None = getattr(session, "summary", None)
    median = summary.median_ms if summary else None
    return {
        "session": session,
        "status": status,
        "called": called(status),
        "reviewed_for": review_words(session.review),
        "summary": summary,
        "median_s": None if median is None else median / 1000,
    }
