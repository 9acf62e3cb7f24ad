"""What validators found of a study's clips, for its report: counts, verdicts, what was left out."""

from __future__ import annotations

from typing import TypedDict

from listening.models import LeftOut, ReviewJob, Study, Verdict
from listening.models.study_versions import earlier_versions
from listening.review.clip_results import ClipResults, SystemResult, clip_results, left_out_now
from listening.review.kinds import kind_named
from listening.review.rules import RULES
from listening.selectors.reviews import ReviewVerdict, review_aspects, review_verdicts

KINDS = ("clips", "consistency")


class ReviewedSystem(TypedDict):
    """Clips, or groups of them, of one system, as far as they are in the study still."""

    condition: str
    clips: int
    drawn: int
    complete: int
    passed: int
    share: float | None  # of the complete ones, with its 95 % interval; None where there are none
    low: float | None
    high: float | None
    undecided: int
    replaced: int  # judged, and another sound or gone since
    mark: str  # met, missed or open


class LeftOutFacts(TypedDict):
    what: str  # condition or stimulus
    name: str
    because: str
    on: str


class ClipReviewFacts(TypedDict):
    """One review of clips, of the study or of a version before it."""

    title: str
    kind: str
    what: str
    version: int
    state: str
    seed: str
    rule: str
    rule_version: str
    share: float
    pass_mark: float
    per_item: int
    before: bool  # it was opened before the first rater came
    unblinded: bool
    replaced: int
    systems: list[ReviewedSystem]  # empty while the review is blind
    marked: list[tuple[str, int]]  # what, in how many
    verdicts: list[ReviewVerdict]
    aspects: dict[str, dict[int, dict[int, bool]]]  # see review_aspects
    hinted: int  # verdicts that were changed after programs' hints were shown


def clip_reviews(study: Study) -> list[ClipReviewFacts]:
    """Those in use that were opened, the oldest first."""
    rows = ReviewJob.objects.filter(
        study__in=[study, *earlier_versions(study)], kind__in=KINDS, in_use=True
    ).exclude(state=ReviewJob.State.DRAFT)
    return [_facts(job, study) for job in rows.select_related("study").order_by("pk")]


def left_out_facts(study: Study) -> list[LeftOutFacts]:
    return [
        LeftOutFacts(
            what=row.what, name=row.name, because=row.because, on=row.at.strftime("%Y-%m-%d")
        )
        for row in left_out_now(study).values()
    ]


def left_out_names(study: str) -> dict[str, tuple[str, ...]]:
    """Keys of conditions and of stimuli that analyses leave out."""
    named = left_out_now(Study.objects.get(key=study))
    return {
        what: tuple(sorted(name for kind, name in named if kind == what))
        for what in LeftOut.What.values
    }


def _facts(job: ReviewJob, study: Study) -> ClipReviewFacts:
    kind = kind_named(job.kind)
    results: ClipResults = clip_results(job, kind.passing, study)
    unblinded = job.unblinded_at is not None
    opened, first = job.opened_at, study.opened_at
    return ClipReviewFacts(
        title=job.title,
        kind=job.kind,
        what=kind.what,
        version=job.study.version,
        state=job.state,
        seed=str(job.seed),
        rule=RULES[job.rule].title,
        rule_version=job.rule_version,
        share=float(job.settings["share"]),
        pass_mark=float(job.settings["pass_mark"]),
        per_item=job.per_item,
        before=opened is not None and (first is None or opened < first),
        unblinded=unblinded,
        replaced=len(results.replaced),
        systems=[_system(each) for each in (results.systems if unblinded else [])],
        marked=results.kinds,
        verdicts=review_verdicts(job.study.key, job.pk),
        aspects=review_aspects(job.study.key, job.pk),
        hinted=Verdict.objects.filter(
            assignment__item__job=job, phase=Verdict.Phase.HINTED
        ).count(),
    )


def _system(each: SystemResult) -> ReviewedSystem:
    low, high = each.share.bounds or (None, None)
    return ReviewedSystem(
        condition=each.condition,
        clips=each.clips,
        drawn=each.drawn,
        complete=each.complete,
        passed=each.passed,
        share=each.share.value,
        low=low,
        high=high,
        undecided=each.undecided + each.unsure,
        replaced=each.replaced,
        mark=each.mark,
    )
