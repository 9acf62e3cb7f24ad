"""The items of a review as a researcher looks at them: filtered, sorted, with evidence, paged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import OuterRef, Subquery

from listening.common.cached_counts import Patience, look
from listening.models import ReviewAssignment, ReviewJob, Stimulus, Study, Verdict
from listening.review.evidence import FLAGS, Evidence, Written, evidence_of
from listening.review.outcomes import Outcome, outcomes_of, used_reviews
from listening.review.shares import Odds
from listening.review.targets import reasons_of

KIND = "reason-evidence"
MANY = 1000  # reasons, of which a page does not count the signs itself
NOTHING = Evidence(frozenset(), 0, 0, 0)
SHOWS: dict[str, tuple[str, Callable[[Outcome], bool]]] = {
    "": ("All", lambda each: True),
    "disputed": ("They differ", lambda each: each.disputed),
    "undecided": ("Not decided", lambda each: not each.category),
    "decided": ("Decided", lambda each: bool(each.category)),
    "gold": ("For training", lambda each: each.gold is not None),
    "unseen": ("Nobody has judged it", lambda each: not each.said.first),
}
SORTS: dict[str, tuple[str, Callable[[Evidence], int]]] = {
    "": ("In the order of the review", lambda each: 0),
    "copies": ("Most copies among other raters first", lambda each: -each.near_others),
    "own": ("Most copies of their own first", lambda each: -each.near_own),
    "short": ("Shortest first", lambda each: each.chars),
    "long": ("Longest first", lambda each: -each.chars),
    "flags": ("Most signs first", lambda each: -len(each.flags)),
}


def count_evidence(study: str) -> dict[int, Evidence]:
    rows = reasons_of(Study.objects.get(pk=study)).values_list(
        "trial",
        "trial__session__rater",
        "text",
        "trial__session__language",
        "trial__session__study__language",
        "keystrokes",
        "pasted_chars",
    )
    return evidence_of(
        [
            Written(trial, rater, text, spoken or language, keys, pasted)
            for trial, rater, text, spoken, language, keys, pasted in rows
        ]
    )


def study_evidence(study: Study, items: int) -> Mapping[int, Evidence] | None:
    """By trial; None while a worker counts for the first time, as it does where there are many."""
    patience = Patience(0) if items > MANY else None
    kept = look(KIND, str(study.pk), max_age_s=60, patience=patience)
    return kept.value if kept is not None else None


@dataclass(frozen=True)
class Sign:
    """One sign of evidence in a job: how common it is, and how those with it were judged."""

    key: str
    words: str
    items: int
    unfit: tuple[int, int] | None  # with the sign: judged unfit, of those that fit or do not
    without: tuple[int, int] | None
    odds: Odds | None  # of "does not fit", with the sign against without it


@dataclass(frozen=True)
class Row:
    """One item on the page."""

    outcome: Outcome
    evidence: Evidence


def rows_of(
    job: ReviewJob, *, show: str = "", sort: str = "", flag: str = ""
) -> tuple[list[Row], list[Sign] | None]:
    """Those that the filters leave, and what all items say of each sign (None: not counted yet)."""
    outcomes = list(outcomes_of(job))
    known = study_evidence(job.study, len(outcomes))
    rows = [Row(each, (known or {}).get(each.trial or 0, NOTHING)) for each in outcomes]
    about_reasons = any(row.outcome.trial for row in rows)
    fits = _fits(job, outcomes)
    signs = [_sign(key, rows, fits) for key in FLAGS] if about_reasons else []
    passes = SHOWS.get(show, SHOWS[""])[1]
    found = [r for r in rows if passes(r.outcome) and (not flag or flag in r.evidence.flags)]
    by = SORTS.get(sort, SORTS[""])[1]
    shown = [sign for sign in signs if sign.items] if known is not None else None
    return sorted(found, key=lambda row: by(row.evidence)), shown


def _fits(job: ReviewJob, outcomes: Sequence[Outcome]) -> dict[int, str]:
    """By trial, "fit" or "unfit": of this review of reasons, else of those in use; no training."""
    if job.kind != "reasons":
        return used_reviews(job.study)
    decided = [each for each in outcomes if each.gold is None and each.trial is not None]
    found = {each.trial: each.category for each in decided if each.category in ("fit", "unfit")}
    return {trial: category for trial, category in found.items() if trial is not None}


def _sign(key: str, rows: Sequence[Row], fits: Mapping[int, str]) -> Sign:
    decided = [r for r in rows if r.outcome.trial in fits]
    halves = [[r for r in decided if (key in r.evidence.flags) is has] for has in (True, False)]
    shares = [(sum(fits[r.outcome.trial or 0] == "unfit" for r in h), len(h)) for h in halves]
    judged = any(n for n, _ in shares)
    (a, n), (c, m) = shares
    odds = Odds(a, n - a, c, m - c)
    return Sign(
        key=key,
        words=FLAGS[key],
        items=sum(key in r.evidence.flags for r in rows),
        unfit=shares[0] if judged and shares[0][1] else None,
        without=shares[1] if judged and shares[1][1] else None,
        odds=odds if odds.comparable else None,
    )


def verdicts_about(items: Sequence[int]) -> dict[int, list[ReviewAssignment]]:
    """By item: what was said on each occasion, with the newest note as ``note``."""
    newest = Verdict.objects.filter(assignment=OuterRef("pk")).order_by("-pk").values("note")
    rows = ReviewAssignment.objects.filter(item__in=items, answered_at__isnull=False)
    found: dict[int, list[ReviewAssignment]] = {}
    for row in (
        rows.select_related("reviewer")
        .annotate(note=Subquery(newest[:1]))
        .order_by("occasion", "reviewer__number")
    ):
        found.setdefault(row.item_id, []).append(row)
    return found


def clips_of(stimuli: Sequence[int]) -> dict[int, str]:
    """The keys of clips, by stimulus."""
    return dict(Stimulus.objects.filter(pk__in=stimuli).values_list("pk", "key"))
