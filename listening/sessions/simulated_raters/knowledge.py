"""What a crowd is told beforehand from the database, which it never touches: clips and truth."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from listening import audio
from listening.design.questionnaires import refused_answers
from listening.methods import method_named
from listening.methods.method import CORRECT_ANSWER, MARKS, SPANS
from listening.methods.transcript_scores import spoken_units
from listening.methods.transcription import PHONEMES
from listening.models import Criterion, Slot, Study, Task, Trial
from listening.sessions.simulated_raters.opinions import KnownClip, Truth
from listening.sessions.simulated_raters.scripted_rater import Kind, RaterKnowledge
from listening.sessions.stages import check_and_settings, check_seed
from listening.sessions.task_rules import spoken_texts, task_rules


def roles_of(study: Study) -> dict[str, str]:
    return dict(study.conditions.values_list("key", "role"))


def rater_knowledge(study: Study) -> RaterKnowledge:
    """All that simulated raters need of a study to go through it."""
    language, checks = study.language, list(study.checks)

    def truths(code: str, key: str, attempt: int) -> list[str]:
        check, settings = check_and_settings(checks, key, language)
        return [trial.truth for trial in check.plan(settings, check_seed(code, key, attempt))]

    avoided = {
        each["key"]: {q["key"]: refused_answers(q, language) for q in each["questions"]}
        for each in study.questionnaires
    }
    clips = clips_by_copy(study)

    def clip_of(code: str, url: str) -> KnownClip | None:
        served = audio.served_copy_of(url, code)
        clip = clips.get(served)
        if clip is None:
            return None
        lead_in_s = audio.lead_in_s(served, *audio.place_of(url, code))
        return replace(clip, later_s=lead_in_s + clip.later_s, lead_in_s=lead_in_s)

    return RaterKnowledge(clip_of, truths, avoided)


def clips_by_copy(study: Study) -> dict[str, KnownClip]:
    """The clips by the names of their served copies: of its sound, no two appearances are alike.

    A clip that is both rated and a trap is answered as rated: the rater cannot tell which it is.
    """
    expected: defaultdict[str, set[str]] = defaultdict(set)
    for traps in study.tasks.values_list("traps", flat=True):
        for kind in traps.get("kinds", []):
            expected[kind["kind"]].update(kind.get("expected", ()))
    clips: dict[str, KnownClip] = {}
    spoken = spoken_texts(study)
    rated: dict[str, KnownClip] = {}  # by content: a trap may be the same sound
    for s in study.stimuli.select_related("condition").order_by("trap", "pk"):  # rated ones first
        own = str(s.attributes.get("expected", "")).split("|") if s.trap else []
        labels = frozenset(filter(None, own)) or frozenset(expected[s.trap] if s.trap else ())
        correct = str(s.attributes.get(CORRECT_ANSWER, ""))
        words = spoken_units(spoken[s.pk].text, spoken[s.pk].language)
        known = KnownClip(
            s.condition.key, s.key, labels, s.duration_s, correct, tuple(words), -s.trimmed_s
        )
        if not s.trap:
            rated[s.served_sha256] = known
        clips[s.served] = rated.get(s.served_sha256, known)
    return clips


def stored_trials(codes: Iterable[str]) -> set[str]:
    """Those of the trials that are answered in the database."""
    answered = Trial.objects.filter(code__in=list(codes), ratings__isnull=False)
    return set(answered.values_list("code", flat=True))


def truth_file(study: Study, truth: Truth, kinds: Sequence[Kind]) -> dict[str, Any]:
    """Qualities, spreads, and the score that careful raters give on average."""
    return {
        "study": study.key,
        "seed": truth.seed,
        "raters": dict(Counter(kinds)),
        "qualities": dict(truth.qualities),
        "spread": vars(truth.spread),
        "expected": [row for task in study.tasks.all() for row in expected_scores(task, truth)],
    }


def expected_scores(task: Task, truth: Truth) -> Iterator[dict[str, Any]]:
    """Per criterion and condition: over all stimuli that might be, and of those in the study."""
    heard = Slot.objects.filter(task=task).order_by().distinct()
    rows: Iterable[Any] = heard.values_list(
        "stimulus__condition__key", "versus__condition__key", "stimulus__key", "versus__key"
    )
    cells: defaultdict[tuple[str, str | None], list[tuple[str, str | None]]] = defaultdict(list)
    for condition, versus, stimulus, other in rows:
        cells[condition, versus].append((stimulus, other))
    words = _words_to_mark(task)
    lengths = dict(task.study.stimuli.values_list("key", "duration_s"))
    for criterion in Criterion.objects.filter(task=task):
        scores = {step["label"]: step["score"] for step in criterion.scale["steps"]}
        widget = criterion.scale["widget"]
        if widget not in ("choice", "steps", "transcript", MARKS, SPANS) or {"A", "B"} <= set(
            scores
        ):
            continue  # what is expected of these is not worked out
        if widget == "transcript" and task.options.get("unit") == PHONEMES:
            continue  # a misheard word has some of the right phonemes
        for (condition, versus), stimuli in sorted(cells.items(), key=str):
            if widget == MARKS:
                each = [truth.errors_marked(condition, s, words[s]) for s, _ in stimuli]
                over_all = truth.errors_marked(condition)
            elif widget == SPANS:
                each = [truth.errors_per_minute(condition, s, lengths[s]) for s, _ in stimuli]
                over_all = truth.errors_per_minute(condition)
            elif widget == "transcript":
                each = [truth.words_right(condition, stimulus) for stimulus, _ in stimuli]
                over_all = truth.words_right(condition)
            else:
                each = [_expected(truth, scores, condition, versus, pair) for pair in stimuli]
                over_all = _expected(truth, scores, condition, versus, None)
            yield {
                "task": task.key,
                "estimand": method_named(task.method).estimand_for(task.options).key,
                "criterion": criterion.key,
                "condition": condition,
                "versus_condition": versus or "",
                "expected": over_all,
                "expected_for_these_stimuli": sum(each) / len(each),
            }


def _words_to_mark(task: Task) -> dict[str, int]:
    """How many words each clip has that raters mark, by its key; empty where they mark none."""
    rules = task_rules(task.pk)
    keys = dict(task.study.stimuli.values_list("pk", "key"))
    return {keys[pk]: len(rules.words_of(pk) or ()) for pk in rules.spoken}


def _expected(
    truth: Truth,
    scores: dict[str, float],
    condition: str,
    versus: str | None,
    stimuli: tuple[str, str | None] | None,
) -> float:
    if versus is None or not any(label.startswith("-") for label in scores):
        return truth.single_score(scores, condition, stimuli[0] if stimuli else None)
    pair = (stimuli[0], str(stimuli[1])) if stimuli else None
    return truth.difference_score(scores, condition, versus, pair)
