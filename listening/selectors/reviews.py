"""Reviews for other packages: verdicts, heads of jobs, and what they found of reasons and clips."""

from __future__ import annotations

from typing import TypedDict

from django.db import connection
from django.http import Http404

from listening.methods.vocalisation_types import has_marks, marked
from listening.models import LeftOut, ReviewAssignment, ReviewJob, Stimulus, Study, Verdict
from listening.models.study import earlier_versions
from listening.review import codebook
from listening.review.clip_marks import Event, events_of, merge_events
from listening.review.clip_results import (
    ClipResults,
    SystemResult,
    clip_results,
    current_exclusions,
)
from listening.review.kinds import kind_named
from listening.review.outcomes import (
    FIRST,
    THIRD,
    answers_by_aspect,
    jobs_in_use,
    outcomes_of,
    own_answers,
)
from listening.review.rules import RULES
from listening.review.shown_items import reasons_in
from listening.review.targets import reasons_of

AGAIN = ReviewAssignment.Occasion.AGAIN
VERDICTS = f"""
SELECT i.id, r.number, a.category, a.occasion = {AGAIN:d},
    coalesce(nullif(c.system, ''), nullif(c.label, ''), c.key, ''), coalesce(l.label, '')
FROM listening_reviewassignment a JOIN listening_reviewitem i ON i.id = a.item_id
JOIN listening_reviewer r ON r.id = a.reviewer_id
LEFT JOIN listening_trial t ON t.id = i.trial_id
LEFT JOIN listening_stimulus x ON x.id = coalesce(i.stimulus_id, t.stimulus_id)
LEFT JOIN listening_condition c ON c.id = x.condition_id
LEFT JOIN LATERAL (SELECT string_agg(q.label, ', ' ORDER BY q.id) AS label
    FROM listening_rating q WHERE q.trial_id = t.id) l ON true
WHERE i.job_id = %s AND i.gold IS NULL AND a.answered_at IS NOT NULL
    AND a.occasion IN ({FIRST:d}, {AGAIN:d})
ORDER BY i.position, r.number, a.occasion
"""
HINTED = """
SELECT count(*), count(*) FILTER (WHERE h.category <> a.category)
FROM listening_reviewassignment a JOIN listening_reviewitem i ON i.id = a.item_id
LEFT JOIN LATERAL (SELECT v.category FROM listening_verdict v
    WHERE v.assignment_id = a.id AND v.phase = 'hinted' ORDER BY v.id DESC LIMIT 1) h ON true
WHERE i.job_id = %s AND a.answered_at IS NOT NULL
"""
KINDS = ("clips", "consistency")
KIND, UNSURE = "events", "unsure"
TARGET = "nvv_target"  # the attribute of a clip that says which vocalisations were asked for
By = dict[int, list[Event]]  # number of a reviewer -> what they marked


class ReviewVerdict(TypedDict):
    """One newest verdict; ``system`` and ``label`` are "" while the job is blind."""

    item: int
    reviewer: int  # number in the job
    category: str
    again: bool  # the second time that the same reviewer was shown the item
    system: str
    label: str


class ReviewHead(TypedDict):
    """What a page of another room shows of a job."""

    pk: int
    title: str
    kind: str
    what: str
    rule: str
    rule_version: str
    open: bool
    unblinded: bool
    several: bool  # a verdict may hold several codes, "a|b"
    words: dict[str, str]  # categories


def review_head_or_404(study: str, pk: int) -> ReviewHead:
    job = _job(study, pk)
    kind = kind_named(job.kind)
    answered = ReviewAssignment.objects.filter(item__job=job, answered_at__isnull=False)
    categories = sorted(set(answered.values_list("category", flat=True)))
    return ReviewHead(
        pk=job.pk,
        title=job.title,
        kind=job.kind,
        what=kind.what,
        rule=RULES[job.rule].title,
        rule_version=job.rule_version,
        open=job.state == ReviewJob.State.OPEN,
        unblinded=job.unblinded_at is not None,
        several=kind.several,
        words={each: kind.say(each) for each in categories},
    )


def _job(study: str, pk: int) -> ReviewJob:
    job = ReviewJob.objects.filter(study__key=study, pk=pk).first()
    if job is None:
        raise Http404("There is no such review in this study.")
    return job


def review_verdicts(study: str, pk: int) -> list[ReviewVerdict]:
    """The newest first and second verdicts of all reviewers, without training items."""
    job = _job(study, pk)
    with connection.cursor() as cursor:
        cursor.execute(VERDICTS, [job.pk])
        rows = cursor.fetchall()
    blind = job.unblinded_at is None
    return [
        ReviewVerdict(
            item=item,
            reviewer=number,
            category=category,
            again=again,
            system="" if blind else system,
            label="" if blind else label,
        )
        for item, number, category, again, system, label in rows
    ]


def review_aspects(study: str, pk: int) -> dict[str, dict[int, dict[int, bool]]]:
    """Words of each defect -> item -> reviewer -> whether they said so; {}: it asks for none."""
    job = _job(study, pk)
    words = kind_named(job.kind).words
    return {words[key]: answers for key, answers in answers_by_aspect(job).items()} if words else {}


class Hinted(TypedDict):
    """What suggestions changed: verdicts of one's own, and those that were changed after."""

    own: int
    changed: int


def review_hinted(study: str, pk: int) -> Hinted:
    """Suggestions never change what agreement, outcomes and files take: they are one's own."""
    with connection.cursor() as cursor:
        cursor.execute(HINTED, [_job(study, pk).pk])
        own, changed = cursor.fetchone()
    return Hinted(own=own, changed=changed)


def has_review_in_use(study: str) -> bool:
    """Whether a review of reasons decides what analyses use."""
    return bool(jobs_in_use(Study.objects.get(key=study), "reasons"))


class ReviewOutcomes(TypedDict):
    """How the items of a job came out by its rule: training items are not in it."""

    items: int
    complete: int
    disputed: int
    decided: dict[str, int]  # category -> items


def review_outcomes(study: str, pk: int) -> ReviewOutcomes:
    outcomes = [each for each in outcomes_of(_job(study, pk)) if each.gold is None]
    decided: dict[str, int] = {}
    for each in outcomes:
        for category in filter(None, each.category.split("|")):
            decided[category] = decided.get(category, 0) + 1
    return ReviewOutcomes(
        items=len(outcomes),
        complete=sum(each.complete for each in outcomes),
        disputed=sum(each.disputed for each in outcomes),
        decided=decided,
    )


def review_decisions(study: str, pk: int) -> dict[int, str]:
    """What each item with all its verdicts came to by the rule; "" where it came to nothing."""
    outcomes = outcomes_of(_job(study, pk))
    return {each.item: each.category for each in outcomes if each.complete and each.gold is None}


class ReasonUnderReview(TypedDict):
    """What a judge model is sent of a reason, and the item to which its answer goes."""

    item: int
    text: str
    labels: str
    language: str


class CodesToSuggest(TypedDict):
    """A review of codes: its codebook, and the reasons in it that are still there."""

    study: int
    pk: int
    title: str
    version: int  # of the codebook
    codebook: dict[str, str]  # what each code means, by key
    reasons: list[ReasonUnderReview]


def codes_to_suggest(study: str, pk: int) -> CodesToSuggest:
    """Without training items: what is right in those, the researchers have said."""
    job = _job(study, pk)
    if job.kind != "codes":
        raise Http404("This review has no codebook.")
    there = set(reasons_of(job.study).values_list("trial", flat=True))
    rows = job.items.filter(gold__isnull=True).order_by("position").values_list("pk", "trial")
    items = {trial: item for item, trial in rows if trial in there}
    reasons = reasons_in(list(items))
    codes = codebook.from_stored(job.settings["codebook"])
    return CodesToSuggest(
        study=job.study_id,
        pk=job.pk,
        title=job.title,
        version=job.settings["version"],
        codebook={code.key: f"{code.title}. {code.words}".strip() for code in codes},
        reasons=[
            ReasonUnderReview(
                item=item,
                text=reasons[trial]["reason"].strip(),
                labels=", ".join(each["label"] for each in reasons[trial]["answers"]),
                language=reasons[trial]["language"],
            )
            for trial, item in items.items()
        ],
    )


class ReasonReviewFacts(TypedDict):
    """One review in use; of several the newest that decides about a reason prevails."""

    title: str
    state: str
    opened_on: str
    seed: str
    share: float  # of the reasons that were there when it was drawn
    per_item: int
    rule: str
    rule_version: str
    rule_words: str
    where_they_differ: str
    not_blind: int  # reviewers whose role lets them see the study's results
    items: int  # without training
    complete: int  # have all their verdicts
    decided: dict[str, int]  # category -> reasons
    verdicts: list[ReviewVerdict]


def reason_reviews(study: Study) -> list[ReasonReviewFacts]:
    """The oldest first."""
    return [
        ReasonReviewFacts(
            title=job.title,
            state=job.state,
            opened_on=job.opened_at.strftime("%Y-%m-%d") if job.opened_at else "",
            seed=str(job.seed),
            share=float(job.settings["share"]),
            per_item=job.per_item,
            rule=RULES[job.rule].title,
            rule_version=job.rule_version,
            rule_words=RULES[job.rule].words,
            where_they_differ=job.resolving,
            not_blind=job.reviewers.filter(
                sees_results=True, number__in={each["reviewer"] for each in verdicts}
            ).count(),
            items=came_to["items"],
            complete=came_to["complete"],
            decided=came_to["decided"],
            verdicts=verdicts,
        )
        for job in jobs_in_use(study, "reasons")
        for came_to in [review_outcomes(study.key, job.pk)]
        for verdicts in [review_verdicts(study.key, job.pk)]
    ]


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


def exclusion_facts(study: Study) -> list[LeftOutFacts]:
    return [
        LeftOutFacts(
            what=row.what, name=row.name, because=row.because, on=row.at.strftime("%Y-%m-%d")
        )
        for row in current_exclusions(study).values()
    ]


def excluded_names(study: str) -> dict[str, tuple[str, ...]]:
    """Keys of conditions and of stimuli that analyses leave out."""
    named = current_exclusions(Study.objects.get(key=study))
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


class MarkedClip(TypedDict):
    """A clip whose marks are settled, or not yet: then ``settled`` is None."""

    stimulus: str
    sha256: str  # of the sound that was marked
    condition: str
    text: str  # without marks of what was asked for
    language: str
    there: bool  # the study has this very sound still
    settled: list[Event] | None
    by: By  # without the clip for who could not say
    third: bool  # an adjudicator decided


class MarkedEvents(TypedDict):
    """A review of vocalisations with all its clips, training apart."""

    title: str
    unblinded: bool
    tolerance: int
    rule: str
    clips: list[MarkedClip]


def marked_events(study: str, pk: int) -> MarkedEvents | None:
    """None where the study has no such review."""
    job = ReviewJob.objects.filter(study__key=study, pk=pk, kind=KIND).first()
    return None if job is None else _marked_events(job)


def _marked_events(job: ReviewJob) -> MarkedEvents:
    first, third = _own_events(job, FIRST), _own_events(job, THIRD)
    items = {item.pk: item for item in job.items.filter(gold__isnull=True)}
    words = _words(job)
    clips = []
    for each in outcomes_of(job):
        item = items.get(each.item)
        if item is None:
            continue
        adjudicated = next(iter(third.get(item.pk, {}).values()), [])
        by = first.get(item.pk, {})
        key, sha256 = item.clip["stimulus"], item.clip["sha256"]
        text, language, now = words.get(key, ("", "", ""))
        decided = each.category not in ("", UNSURE)
        clips.append(
            MarkedClip(
                stimulus=key,
                sha256=sha256,
                condition=item.clip["condition"],
                text=marked(text, language)[0],
                language=language,
                there=now == sha256,
                settled=merge_events(each.category, list(by.values()), adjudicated)
                if decided
                else None,
                by=by,
                third=decided and each.category not in each.verdicts.first,
            )
        )
    return MarkedEvents(
        title=job.title,
        unblinded=job.unblinded_at is not None,
        tolerance=int(job.settings["tolerance"]),
        rule=job.rule,
        clips=sorted(clips, key=lambda clip: clip["stimulus"]),
    )


class VerifiedClip(TypedDict):
    """A clip with the vocalisations that reviewers settled on, and those that were asked for."""

    stimulus: str
    item: str
    condition: str
    text: str  # without marks of what was asked for
    language: str
    target: str  # a list such as laugh@3, or a marked text; empty: nothing is known
    heard: list[tuple[str, int | None]]  # type, and how many words (characters) come before


class VocalisationReviewFacts(TypedDict):
    """A review of vocalisations; of a blind one only that there is one."""

    title: str
    unblinded: bool
    tolerance: int
    rule: str
    reviewed: int
    clips: list[VerifiedClip]  # decided, and with the sound that was marked


def vocalisation_reviews(study: Study) -> list[VocalisationReviewFacts]:
    """Those in use that were opened, the oldest first."""
    return [_verified(job) for job in jobs_in_use(study, KIND)]


def _verified(job: ReviewJob) -> VocalisationReviewFacts:
    marked_clips = _marked_events(job)
    rows = Stimulus.objects.filter(study=job.study_id).values_list(
        "key", "item__key", "item__text", "attributes"
    )
    known = {
        key: (item, str(attributes.get(TARGET) or (text if has_marks(text) else "")))
        for key, item, text, attributes in rows
    }
    clips = []
    for clip in marked_clips["clips"] if marked_clips["unblinded"] else ():
        if clip["settled"] is None or not clip["there"]:
            continue
        item, target = known[clip["stimulus"]]
        clips.append(
            VerifiedClip(
                stimulus=clip["stimulus"],
                item=item,
                condition=clip["condition"],
                text=clip["text"],
                language=clip["language"],
                target=target,
                heard=[(each.type, each.position) for each in clip["settled"]],
            )
        )
    return VocalisationReviewFacts(
        title=marked_clips["title"],
        unblinded=marked_clips["unblinded"],
        tolerance=marked_clips["tolerance"],
        rule=RULES[job.rule].title,
        reviewed=len(marked_clips["clips"]),
        clips=clips,
    )


def _own_events(job: ReviewJob, occasion: ReviewAssignment.Occasion) -> dict[int, By]:
    """Item -> what each reviewer said last of it, before any hint."""
    return {
        item: {each.reviewer: events_of(each.answer) for each in answers if each.category != UNSURE}
        for item, answers in own_answers(job, occasion).items()
    }


def _words(job: ReviewJob) -> dict[str, tuple[str, str, str]]:
    """Stimulus -> its words, their language, and the hash of its sound now."""
    rows = Stimulus.objects.filter(study=job.study_id).values_list(
        *("key", "item__text", "item__transcript", "item__language", "study__language", "sha256")
    )
    return {
        key: (transcript or text, language or usual, sha256)
        for key, text, transcript, language, usual, sha256 in rows
    }
