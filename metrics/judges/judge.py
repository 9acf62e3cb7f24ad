"""Base classes of judges: parameters, the parts of a clip, repeats, and one score per clip."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from metrics.core.lazy_torch import torch
from metrics.core.metric import (
    Input,
    Metric,
    ParameterError,
    Parameters,
    Score,
    Sharing,
    Take,
    undefined,
)
from metrics.core.silence import silence
from metrics.judges.client import (
    Client,
    Endpoint,
    Reply,
    ask_all,
    current_endpoint,
    enough_answers,
    no_score_reason,
    required_endpoint,
    tally_replies,
)
from metrics.judges.question import RATE_HZ, Question, Sound, check_object, object_schema, sound
from metrics.judges.rubric import Rubric, RubricError, family, full_name, rubric

SHORTEST_S = 0.5
COSTS = "one question or more per clip to a paid server or your own GPU; the audio is sent there"


@dataclass(frozen=True)
class JudgeParameters(Parameters):
    """Which model judges, by which rubric, and how it samples."""

    model: str = ""  # empty: EARNEST_JUDGE_MODEL, read when the metric is made
    rubric: str = ""  # with its version
    temperature: float = 0.0
    seed: int = 0
    max_tokens: int = 4000  # of an answer; a model that thinks aloud needs many
    longest_s: float = 900.0  # a longer clip has no value

    def __post_init__(self) -> None:
        if not self.model:
            object.__setattr__(self, "model", current_endpoint().model)
        self._check_rubric()
        check_range("temperature", self.temperature, 0, 2)
        check_range("seed", self.seed, 0, 2**31 - 1_000)
        check_range("max_tokens", self.max_tokens, 16, 1_000_000)
        check_range("longest_s", self.longest_s, 1, 4 * 3600)

    def _check_rubric(self) -> None:
        """Only the wording may change, not what is asked; one's own is kept under its mark."""
        own_family = family(type(self).rubric)
        try:
            named = full_name(
                self.rubric if family(self.rubric) == own_family else f"{own_family}.?"
            )
            rubric(named)
        except RubricError as error:
            raise ParameterError(str(error).replace(f"{own_family}.?", self.rubric)) from error
        object.__setattr__(self, "rubric", named)


@dataclass(frozen=True)
class RepeatedParameters(JudgeParameters):
    """A judge that scores a clip several times, each time with the next seed."""

    repeats: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("repeats", self.repeats, 1, 1000)


class Judge(Metric):
    """A metric whose numbers come from an audio language model. A subclass says what it asks."""

    asked_only: ClassVar[bool] = True
    costs: ClassVar[str] = COSTS
    low: ClassVar[float | None] = 1.0
    high: ClassVar[float | None] = 5.0
    higher_is_better: ClassVar[bool | None] = True
    sharing = Sharing(Input.ALONE, 0.0, "one question about one clip")
    packages: tuple[str, ...] = ("openai", "torch", "numpy")
    parameters: JudgeParameters
    client: Client | None = None
    client_made: Callable[[Endpoint], Client] = staticmethod(Client)

    @property
    def rubric(self) -> Rubric:
        """Return the instructions of the judge and the fields of its answer."""
        return rubric(self.parameters.rubric)

    def load(self, device: str = "cpu") -> None:
        """Connect to the configured server; weights.Unavailable names a missing setting."""
        super().load(device)
        self.client = self.client_made(required_endpoint(self.parameters.model))
        self.weights = {f"{self.rubric.name}.toml": self.rubric.sha256}

    def ask(self, questions: Sequence[Question]) -> list[Reply]:
        """One reply per question, in order, several at a time and through the cache."""
        endpoint = required_endpoint(self.parameters.model)
        if self.client is None or self.client.endpoint != endpoint:  # another server by now
            self.client = self.client_made(endpoint)
        return ask_all(questions, self.client)

    def tally(self, replies: Sequence[Reply]) -> dict[str, Any]:
        """Counts, reasons, tokens and cost for a score's details."""
        return tally_replies(replies, current_endpoint().prices)

    def question(self, heard: Sound, repeat: int = 0, **known: str) -> Question:
        """The rubric's question about one sound, which several questions may share."""
        rubric = self.rubric
        return Question(
            model=self.parameters.model,
            system=rubric.system,
            user=rubric.prompt(**known),
            sounds=(heard,),
            schema=object_schema(rubric.fields),
            check=lambda answer: check_object(answer, rubric.fields),
            rubric=rubric.name,
            temperature=self.parameters.temperature,
            seed=self.parameters.seed + repeat,
            repeat=repeat,
            max_tokens=self.parameters.max_tokens,
        )

    def unfit(self, take: Take) -> Score | None:
        """The score of a clip that is not sent: silent, too short or too long; None of others."""
        duration_s = len(take.wave) / RATE_HZ
        if duration_s < SHORTEST_S:
            return undefined("too short", shortest_s=SHORTEST_S)
        if duration_s > self.parameters.longest_s:
            return undefined("too long", longest_s=self.parameters.longest_s)
        why = silence(take.wave, RATE_HZ)
        return undefined(why) if why else None


class RepeatedJudge(Judge):
    """A judge whose rubric has one score: the mean over repeats of the mean over parts."""

    parameters: RepeatedParameters

    def audio_parts(self, take: Take) -> list[torch.Tensor] | Score:
        """What is sent of a clip, each part in a question of its own; or why it has no value."""
        return self.unfit(take) or [take.wave]

    def prompt_blanks(self, take: Take) -> dict[str, str]:
        """What fills the blanks of the rubric. Default: nothing."""
        return {}

    def score_takes(self, takes: Sequence[Take]) -> list[Score]:
        """One score per take; all questions of the batch are asked together."""
        scores: list[Score | None] = []
        questions_by_take: list[tuple[int, int, list[Question]]] = []
        for place, take in enumerate(takes):
            parts = self.audio_parts(take)
            scores.append(parts if isinstance(parts, Score) else None)
            if not isinstance(parts, Score):
                known = self.prompt_blanks(take)
                repeats = range(self.parameters.repeats)
                sounds = [sound(part) for part in parts]
                questions = [self.question(s, r, **known) for r in repeats for s in sounds]
                questions_by_take.append((place, len(parts), questions))
        replies = iter(self.ask([question for *_, many in questions_by_take for question in many]))
        for place, n_parts, questions in questions_by_take:
            scores[place] = self.combine_replies([next(replies) for _ in questions], n_parts)
        return [score for score in scores if score is not None]

    def combine_replies(self, replies: Sequence[Reply], n_parts: int) -> Score:
        """A clip's replies, ordered by repeat, then part, as its score.

        details: ``scores`` per repeat and part (None: failed), ``repeats`` the mean of each
        repeat, ``sd`` over the repeats (ddof 1). Failed where fewer than half were answered.
        """
        name = self.rubric.score_field
        values = [None if r.answer is None else float(r.answer[name]) for r in replies]
        rows = [values[i : i + n_parts] for i in range(0, len(values), n_parts)]
        means = [mean_or_none(row) for row in rows]
        details = {**self.tally(replies), "scores": rows, "repeats": means}
        if not enough_answers(replies):
            return Score(None, no_score_reason(details), details, failed=True)
        answered_means = [mean for mean in means if mean is not None]
        details["sd"] = sd = statistics.stdev(answered_means) if len(answered_means) > 1 else None
        return Score(statistics.fmean(answered_means), details=details, also=self.also(sd))

    def also(self, sd: float | None) -> dict[str, float | None]:
        """Further outputs from the standard deviation over repeats. Default: none."""
        return {}


def mean_or_none(values: Sequence[float | None]) -> float | None:
    """The mean of the values that there are; None without any."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def check_range(name: str, value: float, low: float, high: float) -> None:
    """Raise a ParameterError when ``value`` is not a number from ``low`` to ``high``."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ParameterError(f"{name} is {value!r}, but it must be a number")
    if not low <= value <= high:
        raise ParameterError(f"{name} is {value:g}, but it must be from {low:g} to {high:g}")
