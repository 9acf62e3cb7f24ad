"""What a simulated rater thinks and answers: latent qualities, rater effects, labels, texts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import erf, sqrt
from random import Random
from typing import Any

from listening.design.questionnaires import PREFER_NOT
from listening.design.questions import question_kind
from listening.design.questions.text import EXAMPLE
from listening.methods.att import SCORES
from listening.methods.best_worst import BEST, NEITHER, WORST
from listening.methods.error_spans import (
    MOST_SPANS,
    ErrorSpan,
    joined_spans,
    shifted_label,
    write_spans,
)
from listening.methods.marks import MOST_MARKS, NO_ERRORS, Mark, read_marks, write_marks
from listening.methods.method import ALTERNATIVES, MARKS, SPANS
from listening.methods.transcript_scores import NOTHING

# Latent quality: 0 is the middle of a single-clip scale, ±2 are its ends.
ATT_CUTS = (-0.3, 0.3)
REFERENCE_QUALITY = 1.4
ANCHOR_QUALITY = -1.8
TEST_RANGE = (-1.2, 1.0)
State = Mapping[str, Any]
HEARD = {
    "Human": (
        "there is a small breath in the middle",
        "the stress falls where it should",
        "the pace slows down towards the end",
        "the pitch moves freely",
        "I hear the mouth open at the start",
        "the sentence has one clear melody",
    ),
    "Machine": (
        "every word has the same weight",
        "the consonants buzz a little",
        "the pauses are all of one length",
        "the melody starts anew with each word",
        "the vowels sound cut together",
        "there is a ring under the voice",
    ),
    "Unclear": (
        "the rhythm is fine but the timbre flat",
        "it could be a careful reader",
        "one word sounded wrong",
        "it is too short to be sure",
        "the voice is warm, the pauses are odd",
    ),
}
OPENINGS = ("", "To me ", "I noticed ", "Mostly ", "I think ", "Again: ")
ENDINGS = ("", ".", ", I think.", ", for sure.", ". Not sure.")
ERROR_CUT = -1.5  # a word is wrong where the clip sounds worse than this
FOUND = 1.0  # a rater marks a wrong word with Φ(FOUND + leaning)
SEGMENT_S = 0.5  # on waveforms each of these is right or wrong, as a word is
MARKED_S = (0.1, 0.4)  # the part of a wrong one that is marked, on average
JITTER_S = 0.08  # at most, of either end
FALSE_MARKS = 0.01  # and so many of the right ones
MISHEARD = ("blit", "shomp", "dreeve", "zolk")  # no word of any text
LAZY = ("good", "ok sound", "idk", "just a feeling", "sounds like it", "nice voice nice voice")


@dataclass(frozen=True)
class Spread:
    """Standard deviations of everything that moves an opinion away from a condition's quality."""

    rater: float = 0.35
    rater_condition: float = 0.20
    stimulus: float = 0.25
    noise: float = 0.50

    def single(self, *, stimulus: bool = True) -> float:
        """Of one clip's utility over raters, and over stimuli unless these are held fixed."""
        own = self.stimulus**2 if stimulus else 0.0
        return sqrt(self.rater**2 + self.rater_condition**2 + self.noise**2 + own)

    def difference(self, *, stimulus: bool = True) -> float:
        """Of the difference of two clips' utilities: what a rater adds to both cancels out."""
        own = self.stimulus**2 if stimulus else 0.0
        return sqrt(2 * (self.rater_condition**2 + self.noise**2 + own))


@dataclass(frozen=True)
class KnownClip:
    """What the crowd knows about a clip that it recognises by its address."""

    condition: str
    stimulus: str
    expected: frozenset[str] = frozenset()  # labels that pass, for trap clips
    duration_s: float = 0.0
    correct: str = ""  # the right answer, where the clip has one
    words: tuple[str, ...] = ()  # what it says, where raters type it
    later_s: float = 0.0  # by which it sounds later than in the upload
    lead_in_s: float = 0.0  # of silence before the part that is heard


@dataclass(frozen=True)
class Truth:
    """The qualities from which all opinions are drawn; the same seed gives the same raters."""

    seed: int
    qualities: Mapping[str, float]
    spread: Spread = field(default_factory=Spread)

    def stimulus_effect(self, stimulus: str) -> float:
        return Random(f"{self.seed}/stimulus/{stimulus}").gauss(0, self.spread.stimulus)

    def single_score(
        self, scores: Mapping[str, float], condition: str, stimulus: str | None = None
    ) -> float:
        """Expected score over all raters, of one stimulus or over all that the condition has."""
        effect = 0.0 if stimulus is None else self.stimulus_effect(stimulus)
        sd = self.spread.single(stimulus=stimulus is None)
        return _expected(cuts_of(scores), scores, self.qualities[condition] + effect, sd)

    def words_right(self, condition: str, stimulus: str | None = None) -> float:
        """Expected share of words right: a rater understands each word with Φ(utility)."""
        effect = 0.0 if stimulus is None else self.stimulus_effect(stimulus)
        sd = self.spread.single(stimulus=stimulus is None)
        return _normal_cdf((self.qualities[condition] + effect) / sqrt(1 + sd**2))

    def wrong_words(self, condition: str, stimulus: str, words: int) -> list[int]:
        """The places of errors in a clip of so many words, from 1; the same for all raters."""
        share = _normal_cdf(ERROR_CUT - self.qualities[condition] - self.stimulus_effect(stimulus))
        random = Random(f"{self.seed}/errors/{stimulus}")
        return [place for place in range(1, words + 1) if random.random() < share]

    def errors_marked(self, condition: str, stimulus: str = "", words: int = 0) -> float:
        """Expected marks per 100 words, of one stimulus with so many words or over all."""
        if stimulus:
            wrong = len(self.wrong_words(condition, stimulus, words)) / words
        else:
            sd = sqrt(1 + self.spread.stimulus**2)
            wrong = _normal_cdf((ERROR_CUT - self.qualities[condition]) / sd)
        found = _normal_cdf(FOUND / sqrt(1 + self.spread.rater**2))
        return 100 * (wrong * found + (1 - wrong) * FALSE_MARKS)

    def errors_per_minute(
        self, condition: str, stimulus: str = "", duration_s: float = SEGMENT_S
    ) -> float:
        """Expected marks per minute, of one stimulus of so many seconds or over all."""
        segments = segments_in(duration_s)
        marked = self.errors_marked(condition, stimulus, segments)
        return marked / 100 * segments * 60 / duration_s

    def difference_score(
        self,
        scores: Mapping[str, float],
        condition: str,
        versus: str,
        stimuli: tuple[str, str] | None = None,
    ) -> float:
        """Expected score of `condition` over `versus`, of two stimuli or over all they have."""
        mean = self.qualities[condition] - self.qualities[versus]
        if stimuli is not None:
            mean += self.stimulus_effect(stimuli[0]) - self.stimulus_effect(stimuli[1])
        return _expected(
            cuts_of(scores), scores, mean, self.spread.difference(stimulus=stimuli is None)
        )


def drawn_qualities(roles: Mapping[str, str], seed: int) -> dict[str, float]:
    """A quality for each condition: references high, anchors low, the others evenly between."""
    fixed = {"reference": REFERENCE_QUALITY, "anchor": ANCHOR_QUALITY, "trap": 0.0}
    fixed["prompt"] = REFERENCE_QUALITY
    tests = sorted(key for key, role in roles.items() if role not in fixed)
    Random(f"{seed}/qualities").shuffle(tests)
    low, high = TEST_RANGE
    step = (high - low) / max(len(tests) - 1, 1)
    middle = len(tests) == 1
    qualities = {key: (low + high) / 2 if middle else low + k * step for k, key in enumerate(tests)}
    qualities |= {key: fixed[role] for key, role in roles.items() if role in fixed}
    return dict(sorted(qualities.items()))


def segments_in(duration_s: float) -> int:
    """How many segments of a clip are right or wrong."""
    return max(int(duration_s / SEGMENT_S + 1e-9), 1)


@dataclass(frozen=True)
class Cuts:
    """A scale's labels from low to high, and the utilities at which one gives way to the next."""

    labels: tuple[str, ...]
    cuts: tuple[float, ...]

    def label_at(self, utility: float) -> str:
        return self.labels[bisect_right(self.cuts, utility)]


def cuts_of(labels: Iterable[str]) -> Cuts:
    """Numbers are rounded to the nearest step; Human, Unclear, Machine and others are cut."""
    known = list(labels)
    if set(SCORES) == set(known):
        return Cuts(tuple(sorted(SCORES, key=lambda label: SCORES[label])), ATT_CUTS)
    try:
        numbers = sorted(float(label) for label in known)
    except ValueError:
        count = len(known)
        return Cuts(tuple(known), tuple(3 * k / count - 1.5 for k in range(1, count)))
    by_number = {float(label): label for label in known}
    middle = (numbers[0] + numbers[-1]) / 2
    cuts = tuple((a + b) / 2 - middle for a, b in pairwise(numbers))
    return Cuts(tuple(by_number[n] for n in numbers), cuts)


def _expected(cuts: Cuts, scores: Mapping[str, float], mean: float, sd: float) -> float:
    below = [0.0, *(_normal_cdf((cut - mean) / sd) for cut in cuts.cuts), 1.0]
    shares = [high - low for low, high in pairwise(below)]
    return sum(share * scores[label] for share, label in zip(shares, cuts.labels, strict=True))


def _normal_cdf(z: float) -> float:
    return 0.5 * (1 + erf(z / sqrt(2)))


class Opinions:
    """One scripted rater's answers to clips that it recognises."""

    def __init__(self, truth: Truth, number: int, *, attention: float = 0.97) -> None:
        self.truth = truth
        self.attention = attention  # how often a known answer is given as it should be
        self.own = f"{truth.seed}/rater/{number}"
        self.random = Random(self.own)
        self.leaning = self.random.gauss(0, truth.spread.rater)

    def utility(self, clip: KnownClip) -> float:
        """How good the clip sounded, this time, to this rater."""
        spread = self.truth.spread
        taste = Random(f"{self.own}/{clip.condition}").gauss(0, spread.rater_condition)
        effect = self.truth.stimulus_effect(clip.stimulus)
        quality = self.truth.qualities[clip.condition]
        return quality + self.leaning + taste + effect + self.random.gauss(0, spread.noise)

    def label(self, labels: Sequence[str], clips: Sequence[KnownClip]) -> str:
        """The answer to a trial: where labels go below zero two clips are compared."""
        clip = clips[-1]
        expected = sorted(clip.expected.intersection(labels))
        if expected and self.random.random() < self.attention:
            return self.random.choice(expected)
        cuts = cuts_of(labels)
        if len(clips) > 1 and any(label.startswith("-") for label in labels):
            return cuts.label_at(self.utility(clips[-1]) - self.utility(clips[-2]))
        return cuts.label_at(self.utility(clip))

    def recognized(self, clip: KnownClip, labels: Sequence[str]) -> str:
        """The right answer where the clip sounded good enough for it, else a guess."""
        return clip.correct if self.utility(clip) > 0 else self.any_label(labels)

    def transcript(self, clip: KnownClip, *, careless: bool) -> str:
        """What is typed: each word is right with Φ(utility), else left out or misheard."""
        share = 0.0 if careless else _normal_cdf(self.utility(clip))
        typed = []
        for word in clip.words:
            if self.random.random() < share:
                typed.append(word)
            elif self.random.random() < 0.5:
                typed.append(self.random.choice(MISHEARD))
        return " ".join(typed) or NOTHING

    def marks(self, clip: KnownClip, words: int, kinds: Sequence[str], *, careless: bool) -> str:
        """Marks on most wrong words and on few others; who does not listen marks any word."""
        wrong = set(self.truth.wrong_words(clip.condition, clip.stimulus, words))
        found = _normal_cdf(FOUND + self.leaning)
        marks = []
        for place in range(1, words + 1):
            share = 0.1 if careless else found if place in wrong else FALSE_MARKS
            if self.random.random() < share:
                true_kind = Random(f"{self.truth.seed}/{clip.stimulus}/{place}").choice(list(kinds))
                sure = place in wrong and self.random.random() < self.attention
                marks.append(Mark(place, place, true_kind if sure else self.any_label(kinds)))
        return write_marks(marks[:MOST_MARKS])

    def spans(self, clip: KnownClip, kinds: Sequence[str], *, careless: bool) -> str:
        """The same on the waveform as it is served, each span a little apart from the others'."""
        label = self.marks(clip, segments_in(clip.duration_s), kinds, careless=careless)
        spans = []
        for mark in read_marks(label):
            start_s = (mark.first - 1) * SEGMENT_S + clip.lead_in_s
            first, last = (
                round(max(start_s + at + self.random.uniform(-JITTER_S, JITTER_S), 0.0), 3)
                for at in MARKED_S
            )
            spans.append(ErrorSpan(first, last, mark.kind))
        return write_spans(joined_spans(spans)[:MOST_SPANS])

    def any_label(self, labels: Sequence[str]) -> str:
        """The answer of somebody who does not listen."""
        return self.random.choice(list(labels))


def trial_answers(
    opinions: Opinions, trial: State, task: State, clips: Sequence[KnownClip], *, careless: bool
) -> dict[str, str]:
    """Labels by criterion, or by criterion and place where several clips are rated."""
    rated = [place for place, part in enumerate(trial["parts"]) if part["role"] == "rated"]
    answers: dict[str, str] = {}
    for criterion in task["criteria"]:
        index, scale = criterion["index"], criterion["scale"]
        if len(rated) == 1:
            answers[f"{index}"] = _label(opinions, scale, trial, clips, careless)
            continue
        heard = [clips[place] for place in rated]
        if task["playback"].get("needs_top"):
            labels = _grades(opinions, scale, heard, careless)
        else:
            labels = _labels_of_many(opinions, scale, heard, careless)
            if scale["widget"] == "sliders" and not careless:
                labels = _with_reference_found(opinions, scale, trial, clips, labels)
        answers |= {f"{index}.{place}": label for place, label in zip(rated, labels, strict=True)}
    return answers


def _label(
    opinions: Opinions, scale: State, trial: State, clips: Sequence[KnownClip], careless: bool
) -> str:
    own = trial["alternatives"] if scale["widget"] == ALTERNATIVES else scale["steps"]
    steps = [step["label"] for step in own]
    if scale["widget"] == "text":
        return EXAMPLE[: scale["longest"]]
    if scale["widget"] == "transcript":
        clip = next(c for c, p in zip(clips, trial["parts"], strict=True) if p["role"] == "rated")
        return opinions.transcript(clip, careless=careless)[: scale["longest"]]
    if scale["widget"] in (MARKS, SPANS):
        clip = next(c for c, p in zip(clips, trial["parts"], strict=True) if p["role"] == "rated")
        timed = scale["widget"] == SPANS
        if clip.expected and opinions.random.random() < opinions.attention and not careless:
            label = opinions.random.choice(sorted(clip.expected))
            return shifted_label(label, clip.later_s) if timed else label
        kinds = [label for label in steps if label != NO_ERRORS]
        if timed:
            return opinions.spans(clip, kinds, careless=careless)
        return opinions.marks(clip, len(trial["words"]), kinds, careless=careless)
    if scale["widget"] == "many":
        chosen = opinions.random.sample(steps, opinions.random.randint(1, len(steps)))
        return "|".join(label for label in steps if label in chosen)
    rated = next(k for k, part in enumerate(trial["parts"]) if part["role"] == "rated")
    if scale["span"]:
        return _number(opinions, scale, clips[rated], careless)
    if careless:
        return opinions.any_label(steps)
    if {"A", "B"} <= set(steps):
        return _one_of_two(opinions, steps, clips)
    if clips[rated].correct in steps and not clips[rated].expected:
        return opinions.recognized(clips[rated], steps)
    compared = any(label.startswith("-") for label in steps)
    return opinions.label(steps, clips if compared else [clips[rated]])


def _one_of_two(opinions: Opinions, steps: Sequence[str], clips: Sequence[KnownClip]) -> str:
    """The better of two; of three, the one that the last is equal to, as far as one can hear."""
    if len(clips) == 3:
        same = "A" if clips[2].stimulus == clips[0].stimulus else "B"
        sure = opinions.random.random() < opinions.attention
        return same if sure else opinions.any_label(["A", "B"])
    return "A" if opinions.utility(clips[0]) >= opinions.utility(clips[1]) else "B"


def _labels_of_many(
    opinions: Opinions, scale: State, clips: Sequence[KnownClip], careless: bool
) -> list[str]:
    if scale["widget"] not in ("ranking", "best_worst"):
        return [_number(opinions, scale, clip, careless) for clip in clips]
    heard = [opinions.random.random() if careless else opinions.utility(clip) for clip in clips]
    if scale["widget"] == "best_worst":
        ends = {heard.index(max(heard)): BEST, heard.index(min(heard)): WORST}
        return [ends.get(place, NEITHER) for place in range(len(heard))]
    order = sorted(heard, reverse=True)
    return [str(order.index(utility) + 1) for utility in heard]


def _grades(
    opinions: Opinions, scale: State, clips: Sequence[KnownClip], careless: bool
) -> list[str]:
    """The highest grade to the best clip, to others less by as much as they sound worse."""
    low, high, step = scale["span"]
    heard = [opinions.random.random() if careless else opinions.utility(clip) for clip in clips]
    lost = [(max(heard) - utility) * (high - low) / 4 for utility in heard]
    return [f"{max(low, high - step * round(each / step)):g}" for each in lost]


def _with_reference_found(
    opinions: Opinions,
    scale: State,
    trial: State,
    clips: Sequence[KnownClip],
    labels: Sequence[str],
) -> list[str]:
    """The highest label for the hidden reference, where the open one tells which clip it is."""
    roles = [part["role"] for part in trial["parts"]]
    known = {c.stimulus for c, role in zip(clips, roles, strict=True) if role == "reference"}
    rated = [clip for clip, role in zip(clips, roles, strict=True) if role == "rated"]
    top = f"{scale['span'][1]:g}"
    return [
        top if clip.stimulus in known and opinions.random.random() < opinions.attention else label
        for clip, label in zip(rated, labels, strict=True)
    ]


def _number(opinions: Opinions, scale: State, clip: KnownClip, careless: bool) -> str:
    """A place on a slider: utilities from -2 to 2 fill it."""
    low, high, step = scale["span"]
    share = opinions.random.random() if careless else (opinions.utility(clip) + 2) / 4
    steps = round(min(max(share, 0.0), 1.0) * (high - low) / step)
    return f"{low + steps * step:g}"


def question_answers(
    questionnaire: State, avoided: Mapping[str, Sequence[str]], opinions: Opinions
) -> dict[str, Any]:
    """An answer to each visible question, none that would end the session."""
    answers: dict[str, Any] = {}
    for question in questionnaire["questions"]:
        rule = question["show_if"]
        if rule and not _leads_here(answers.get(rule["question"]), rule["answers"]):
            continue
        answers[question["key"]] = _answer(
            question, set(avoided.get(question["key"], ())), opinions
        )
    return answers


def _leads_here(answer: Any, wanted: Sequence[str]) -> bool:
    choices = answer if isinstance(answer, list) else [answer]
    return any(str(each) in wanted for each in choices)


def _answer(question: State, avoided: set[str], opinions: Opinions) -> Any:
    values = [option["value"] for option in question["options"]]
    allowed = [value for value in values if value not in avoided and value != PREFER_NOT]
    return question_kind(question).simulate(question, allowed, opinions.random)


def reason(random: Random, label: str, min_chars: int) -> str:
    """A sentence or two for this label, at least `min_chars` long.

    Two raters may write the same short sentence, as people do. A longer one names the moments.
    """
    heard = list(HEARD.get(label, HEARD["Unclear"]))
    random.shuffle(heard)
    opening, ending = random.choice(OPENINGS), random.choice(ENDINGS)
    text = opening + heard.pop()
    if len(text + ending) < min_chars:
        text += _moment(random)
        while len(text + ending) < min_chars and heard:
            text = f"{text}, and {heard.pop()}{_moment(random)}"
    text += ending
    return _long_enough(text if opening else text[0].upper() + text[1:], min_chars)


def _moment(random: Random) -> str:
    start = random.uniform(0.1, 4)
    return f" (from {start:.2f} s to {start + random.uniform(0.2, 4):.2f} s)"


def lazy_reason(random: Random, min_chars: int) -> str:
    """What somebody types who only wants to go on."""
    return _long_enough(random.choice(LAZY), min_chars)


def agent_reason(label: str, min_chars: int) -> dict[str, object]:
    """What a program writes at once: fluent, the same each time, with a key for each character."""
    text = f"The prosody and timbre of this clip are consistent with the answer {label}."
    text = _long_enough(text, min_chars)
    return {"text": text, "keystrokes": len(text), "pasted_chars": 0, "typing_ms": 5 * len(text)}


def _long_enough(text: str, min_chars: int) -> str:
    while len(text) < min_chars:
        text = f"{text} {text}"
    return text


def typing_facts(random: Random, text: str, *, pasted: bool) -> dict[str, int]:
    """How the text came to be, as the page reports it."""
    if pasted:
        return {"keystrokes": 2, "pasted_chars": len(text), "typing_ms": random.randint(300, 2_000)}
    keystrokes = len(text) + 2 * random.randint(0, max(len(text) // 12, 1))
    typing_ms = int(sum(random.lognormvariate(5.2, 0.4) for _ in range(keystrokes)))
    return {"keystrokes": keystrokes, "pasted_chars": 0, "typing_ms": typing_ms}
