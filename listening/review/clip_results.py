"""What validators found of clips and systems, and which of them analyses leave out since.

Results are held against the pass mark of the job; who left what out, and why, can be taken back.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field

from django.db import transaction

from listening.models import LeftOut, ReviewItem, ReviewJob, Study
from listening.models.study_log import note
from listening.review.jobs import ReviewError
from listening.review.kinds import Mark, kind_named
from listening.review.outcomes import FIRST, TALK, THIRD, outcomes_of, own_answers
from listening.review.rules import UNDECIDED
from listening.review.shares import Share

Named = dict[tuple[str, str], LeftOut]  # by what and key
THERE, REPLACED, GONE = "there", "replaced", "gone"  # what became of a clip since
MET, MISSED, OPEN = "met", "missed", "open"


def current_exclusions(study: Study) -> Named:
    """What is left out now; the newest word on each holds."""
    newest = {(row.what, row.name): row for row in LeftOut.objects.filter(study=study)}
    return {key: row for key, row in newest.items() if row.out}


def leave_out(study: Study, what: str, name: str, because: str, *, by: str) -> None:
    """From now on default analyses leave it out, under the rule `left_out`. A reason is needed."""
    because = " ".join(because.split())[:300]
    if not because:
        raise ReviewError("Enter a reason. The report states it.")
    _check(study, what, name)
    _say(study, what, name, True, because, by)


def take_in_again(study: Study, what: str, name: str, because: str, *, by: str) -> None:
    if (what, name) not in current_exclusions(study):
        raise ReviewError("It is not excluded.")
    _say(study, what, name, False, " ".join(because.split())[:300], by)


def _check(study: Study, what: str, name: str) -> None:
    if what not in LeftOut.What.values:
        raise ReviewError("Only a system or a clip can be excluded.")
    rows = study.conditions if what == LeftOut.What.CONDITION else study.stimuli
    if not rows.filter(key=name).exists():
        raise ReviewError(f"There is no {what} “{name}” in this study.")
    if study.state == Study.State.DRAFT:
        raise ReviewError(
            "The study is not open yet. Remove it from the draft, on the page Sounds."
        )


def _say(study: Study, what: str, name: str, out: bool, because: str, by: str) -> None:
    with transaction.atomic():
        LeftOut.objects.create(study=study, what=what, name=name, out=out, because=because, by=by)
        event = "left_out" if out else "taken_in_again"
        note(study, event, by, **{what: name, "because": because})


@dataclass(frozen=True)
class StudyClip:
    """A clip as it is in the study now."""

    stimulus: str
    duration_s: float | None  # None: it is gone
    stands_out: bool  # of its group, by somebody


@dataclass(frozen=True)
class ClipResult:
    """One clip, or group of clips, with what was said of it."""

    item: int
    stimulus: str
    condition: str
    label: str  # of the condition
    outcome: str  # by the job's rule; "": undecided
    complete: bool
    now: str  # whether the very same sound is in the study still
    verdicts: tuple[str, ...] = ()  # by each who judged it, in words
    marks: tuple[Mark, ...] = ()  # of all of them
    clips: tuple[StudyClip, ...] = ()  # all of a group
    notes: tuple[str, ...] = ()
    left_out: LeftOut | None = None


@dataclass(frozen=True)
class SystemResult:
    """A system of the sample. Shares are of clips that are in the study now."""

    condition: str
    label: str
    clips: int  # in the study, of all that could be drawn or not
    drawn: int
    complete: int
    passed: int
    failed: int
    unsure: int
    undecided: int  # complete, and the rule gives nothing
    replaced: int  # were judged, and are another sound or gone since
    pass_mark: float
    left_out: LeftOut | None = None

    @property
    def share(self) -> Share:
        """Of all that have their verdicts; what is not decided counts as not passed."""
        return Share(self.passed, self.complete)

    @property
    def mark(self) -> str:
        """Whether the pass mark is met; open until all that were drawn have their verdicts."""
        value = self.share.value
        if value is None or self.complete < self.drawn:
            return OPEN
        return MET if value >= self.pass_mark else MISSED


@dataclass(frozen=True)
class ClipResults:
    systems: list[SystemResult]
    failing: list[ClipResult]  # complete, and did not pass, as far as they are there still
    replaced: list[ClipResult]
    kinds: list[tuple[str, int]] = field(default_factory=list)  # words of marks: in how many clips
    new: int = 0  # drawn, and not judged by anybody yet


def clip_results(job: ReviewJob, passing: str, study: Study | None = None) -> ClipResults:
    """Of the job's own study; or of a later version of it, as far as its sounds are the same."""
    study = study or job.study
    out = current_exclusions(study)
    every = _by_clip(job, study, out)
    there = [each for each in every if each.now == THERE]
    kinds: Counter[str] = Counter()
    for each in there:
        kinds.update({mark.words for mark in each.marks})
    return ClipResults(
        systems=_systems(job, study, every, passing, out),
        failing=[each for each in there if each.complete and each.outcome != passing],
        replaced=[each for each in every if each.now != THERE],
        kinds=kinds.most_common(),
        new=sum(not each.verdicts for each in there),
    )


def _by_clip(job: ReviewJob, study: Study, out: Named) -> list[ClipResult]:
    """Every item but training, in the order of the study's names."""
    labels = dict(study.conditions.values_list("key", "label"))
    items = {item.pk: item for item in job.items.filter(gold__isnull=True)}
    answers, now = own_answers(job, FIRST, THIRD, TALK), _CurrentSounds(study)
    kind = kind_named(job.kind)
    results = []
    for each in outcomes_of(job):
        item = items.get(each.item)
        if item is None:
            continue
        clip_answers = answers.get(item.pk, [])
        marks = [mark for one in clip_answers for mark in kind.marks(one.answer)]
        results.append(
            ClipResult(
                item=item.pk,
                stimulus=item.clip["stimulus"],
                condition=item.clip["condition"],
                label=labels.get(item.clip["condition"], ""),
                outcome=each.category,
                complete=each.complete,
                now=now.state_of(item),
                verdicts=tuple(map(kind.say, each.verdicts.first)),
                marks=tuple(marks),
                clips=now.clips_of(item, {place for mark in marks for place in mark.places}),
                notes=tuple(each.note for each in clip_answers if each.note),
                left_out=out.get((LeftOut.What.STIMULUS.value, item.clip["stimulus"])),
            )
        )
    return sorted(results, key=lambda each: (each.condition, each.stimulus))


class _CurrentSounds:
    """Which of the sounds that were judged the study has still."""

    def __init__(self, study: Study) -> None:
        rows = list(study.stimuli.values_list("key", "sha256", "duration_s"))
        self.sounds = {key: sha256 for key, sha256, _ in rows}
        self.lengths = {key: length for key, _, length in rows}

    def state_of(self, item: ReviewItem) -> str:
        clips = item.all_clips
        if any(each["stimulus"] not in self.sounds for each in clips):
            return GONE
        same = all(self.sounds[each["stimulus"]] == each["sha256"] for each in clips)
        return THERE if same else REPLACED

    def clips_of(self, item: ReviewItem, odd: Collection[int]) -> tuple[StudyClip, ...]:
        names = [each["stimulus"] for each in item.all_clips]
        return tuple(StudyClip(n, self.lengths.get(n), at in odd) for at, n in enumerate(names))


def _systems(
    job: ReviewJob, study: Study, every: list[ClipResult], passing: str, out: Named
) -> list[SystemResult]:
    clips = Counter(study.stimuli.filter(trap="", run=1).values_list("condition__key", flat=True))
    by_system: dict[str, list[ClipResult]] = defaultdict(list)
    for each in every:
        by_system[each.condition].append(each)
    systems = []
    for name, rows in sorted(by_system.items()):
        there = [each for each in rows if each.now == THERE]
        whole = [each for each in there if each.complete]
        passed = sum(each.outcome == passing for each in whole)
        unsure = sum(each.outcome == "unsure" for each in whole)
        undecided = sum(each.outcome == UNDECIDED for each in whole)
        systems.append(
            SystemResult(
                condition=name,
                label=rows[0].label,
                clips=clips[name],
                drawn=len(there),
                complete=len(whole),
                passed=passed,
                failed=len(whole) - passed - unsure - undecided,
                unsure=unsure,
                undecided=undecided,
                replaced=len(rows) - len(there),
                pass_mark=float(job.settings["pass_mark"]),
                left_out=out.get((LeftOut.What.CONDITION.value, name)),
            )
        )
    return systems
