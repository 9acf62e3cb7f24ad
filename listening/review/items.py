"""The items of a review as a researcher looks at them: filtered, sorted, with evidence, paged.

Evidence is how a reason was written, and whether it is in another language than its session:
facts to sort and filter by, and never verdicts.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import OuterRef, Subquery

from listening.common.cached_counts import Patience, look
from listening.common.near_texts import letters_of, near_texts
from listening.common.text_language import is_in_another
from listening.models import ReviewAssignment, ReviewJob, Stimulus, Study, Verdict
from listening.review.outcomes import Outcome, outcomes_of, used_reviews
from listening.review.shares import Odds
from listening.review.targets import reasons_of

LONG_ENOUGH = 12  # characters; shorter ones are alike by chance
SHORT = 8
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
CJK_LANGUAGES = ("zh", "ja", "ko")
MACHINE_LIKE = re.compile(
    r"as an ai\b|language model|i cannot (hear|listen)|\*\*|^\s*[-*•] |^#|in conclusion"
    r"|overall, the|作为(一个)?(ai|人工智能)|语言模型|综上所述",
    re.IGNORECASE | re.MULTILINE,
)
FLAGS = {  # what can be filtered, in words
    "copied": "Nearly identical to another rater’s comment",
    "repeated": "Nearly identical to the rater’s own comment",
    "pasted": "At least half pasted",
    "untyped": "Few keystrokes and no paste",
    "short": f"Fewer than {SHORT} characters",
    "script": "Script does not match the session language",
    "language": "Language does not match the session language",
    "machine_like": "Typical language-model phrases",
}
KIND = "reason-evidence"
MANY = 1000  # reasons, of which a page does not count the signs itself
SHOWS: dict[str, tuple[str, Callable[[Outcome], bool]]] = {
    "": ("All", lambda each: True),
    "disputed": ("Disputed", lambda each: each.disputed),
    "undecided": ("Undecided", lambda each: not each.category),
    "decided": ("Decided", lambda each: bool(each.category)),
    "gold": ("Training items", lambda each: each.gold is not None),
    "unseen": ("No verdicts", lambda each: not each.verdicts.first),
}


@dataclass(frozen=True)
class Written:
    """A reason as it was stored, with how it was typed."""

    trial: int
    rater: int
    text: str
    language: str
    keystrokes: int | None
    pasted_chars: int | None


@dataclass(frozen=True)
class Evidence:
    """What is known of one reason: its flags, and how many others are nearly the same."""

    flags: frozenset[str]
    chars: int
    near_own: int
    near_others: int


def evidence_of(reasons: Sequence[Written]) -> dict[int, Evidence]:
    """By trial."""
    own, others = near_counts(reasons)
    return {
        each.trial: Evidence(
            flags=frozenset(_flags(each, own[n], others[n])),
            chars=len(each.text.strip()),
            near_own=own[n],
            near_others=others[n],
        )
        for n, each in enumerate(reasons)
    }


def _flags(each: Written, own: int, others: int) -> Iterable[str]:
    text = each.text.strip()
    pasted, keys = each.pasted_chars or 0, each.keystrokes
    cjk = bool(CJK.search(text))
    if others:
        yield "copied"
    if own:
        yield "repeated"
    if pasted * 2 >= len(text) > 0:
        yield "pasted"
    elif keys is not None and not cjk and keys * 4 < len(text):  # who types Chinese presses fewer
        yield "untyped"
    if len(text) < (SHORT // 2 if cjk else SHORT):
        yield "short"
    if any(c.isalpha() for c in text) and cjk != each.language.startswith(CJK_LANGUAGES):
        yield "script"
    elif is_in_another(text, each.language):
        yield "language"
    if MACHINE_LIKE.search(text):
        yield "machine_like"


# --- Near-duplicates ------------------------------------------------------------------------------


def near_counts(reasons: Sequence[Written]) -> tuple[list[int], list[int]]:
    """For each reason how many others of its own rater, and of other raters, are near it."""
    words = [letters_of(each.text) for each in reasons]
    where: dict[str, list[int]] = defaultdict(list)
    for n, text in enumerate(words):
        if len(text) >= (LONG_ENOUGH // 2 if CJK.search(text) else LONG_ENOUGH):
            where[text].append(n)
    texts = list(where)
    near = near_texts(texts)
    by_rater = {text: Counter(reasons[n].rater for n in where[text]) for text in texts}
    own, others = [0] * len(reasons), [0] * len(reasons)
    for text in texts:
        counts = sum((by_rater[other] for other in near[text]), by_rater[text])
        total = counts.total()
        for n in where[text]:
            own[n] = counts[reasons[n].rater] - 1
            others[n] = total - counts[reasons[n].rater]
    return own, others


NOTHING = Evidence(frozenset(), 0, 0, 0)
SORTS: dict[str, tuple[str, Callable[[Evidence], int]]] = {
    "": ("Review order", lambda each: 0),
    "copies": ("Most copied from others", lambda each: -each.near_others),
    "own": ("Most self-repetition", lambda each: -each.near_own),
    "short": ("Shortest first", lambda each: each.chars),
    "long": ("Longest first", lambda each: -each.chars),
    "flags": ("Most indicators", lambda each: -len(each.flags)),
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
    counts = look(KIND, str(study.pk), max_age_s=60, patience=patience)
    return counts.value if counts is not None else None


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
    matches = [r for r in rows if passes(r.outcome) and (not flag or flag in r.evidence.flags)]
    by = SORTS.get(sort, SORTS[""])[1]
    shown = [sign for sign in signs if sign.items] if known is not None else None
    return sorted(matches, key=lambda row: by(row.evidence)), shown


def _fits(job: ReviewJob, outcomes: Sequence[Outcome]) -> dict[int, str]:
    """By trial, "fit" or "unfit": of this review of reasons, else of those in use; no training."""
    if job.kind != "reasons":
        return used_reviews(job.study)
    decided = [each for each in outcomes if each.gold is None and each.trial is not None]
    categories = {
        each.trial: each.category for each in decided if each.category in ("fit", "unfit")
    }
    return {trial: category for trial, category in categories.items() if trial is not None}


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


def verdicts_by_item(items: Sequence[int]) -> dict[int, list[ReviewAssignment]]:
    """By item: what was said on each occasion, with the newest note as ``note``."""
    newest = Verdict.objects.filter(assignment=OuterRef("pk")).order_by("-pk").values("note")
    rows = ReviewAssignment.objects.filter(item__in=items, answered_at__isnull=False)
    by_item: dict[int, list[ReviewAssignment]] = {}
    for row in (
        rows.select_related("reviewer")
        .annotate(note=Subquery(newest[:1]))
        .order_by("occasion", "reviewer__number")
    ):
        by_item.setdefault(row.item_id, []).append(row)
    return by_item


def clips_of(stimuli: Sequence[int]) -> dict[int, str]:
    """The keys of clips, by stimulus."""
    return dict(Stimulus.objects.filter(pk__in=stimuli).values_list("pk", "key"))
