"""Recogniser, the registry, and the transcripts that a process has made so far."""

from __future__ import annotations

import functools
import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from listening.common.registry import Registered, Registry
from metrics.core import texts
from metrics.core.lazy_torch import torch
from metrics.core.published_models import PublishedModel
from metrics.core.silence import silence

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from metrics.core.metric import Take

RATE_HZ = 16_000
SHORTEST_S = 0.1  # of audio; below it nothing is asked
REMEMBERED = 100_000  # transcripts per recogniser; the oldest go first


@dataclass(frozen=True)
class Options:
    """What a recogniser is told; everything that can change a transcript."""

    model: str = ""  # a folder, or a name; empty: the recogniser's default
    beam: int = 5
    precision: str = "float32"


@dataclass(frozen=True)
class Transcript:
    """The text of a clip; None with the reason when there is none."""

    text: str | None
    reason: str = ""


@dataclass
class Recogniser(Registered):
    """Turns speech into text. A subclass registers itself by its `key`.

    Greedy or beam search at temperature 0, no voice detection, no conditioning on what was heard
    before, in a known language: the same audio gives the same text.
    """

    options: Options
    device: str = "cpu"
    weights: dict[str, str] = field(default_factory=dict)  # file name -> SHA-256
    device_notes: dict[str, str] = field(default_factory=dict)  # as `Metric.device_notes`
    transcript_cache: OrderedDict[tuple[str, str], Transcript] = field(default_factory=OrderedDict)

    key: ClassVar[str] = ""
    published_model: ClassVar[PublishedModel | None] = None
    default_model: ClassVar[str] = ""
    packages: ClassVar[tuple[str, ...]] = ()
    registry: ClassVar[Registry[Recogniser]] = Registry(
        "recogniser", "metrics.networks.recognisers"
    )

    @property
    def model(self) -> str:
        """The folder or name of the model that is used."""
        return self.options.model or self.default_model

    def models(self) -> Sequence[PublishedModel]:
        """The models that `load` locates."""
        return [self.published_model.renamed(self.model)] if self.published_model else []

    def load(self) -> None:
        """Fetch the weights, fill `weights`; `weights.Unavailable` when something is missing."""

    def transcribe(self, wave: npt.NDArray[np.float32], language: str) -> str:
        """The text of one wave, (samples,) at 16 kHz in [-1, 1], spoken in `language`."""
        raise NotImplementedError

    def transcribe_all(self, waves: Sequence[npt.NDArray[np.float32]], language: str) -> list[str]:
        """The text of each wave; overridden by what hears several at once."""
        return [self.transcribe(wave, language) for wave in waves]

    def refusal(self, language: str) -> str:
        """Why this model cannot hear the language (BCP 47); empty when it can."""
        return ""

    def transcripts(self, takes: Sequence[Take]) -> list[Transcript]:
        """What is heard in each take; the same audio in the same language is heard once only."""
        by_place: dict[int, Transcript] = {}
        keys: dict[int, tuple[str, str]] = {}
        new: dict[str, dict[tuple[str, str], npt.NDArray[np.float32]]] = {}
        for place, take in enumerate(takes):
            language = take.material.language
            wave = take.wave.detach().cpu().float().numpy()
            if reason := self.refusal(language) or unheard(wave):
                by_place[place] = Transcript(None, reason)
                continue
            keys[place] = (hashlib.sha256(wave.tobytes()).hexdigest(), language)
            if keys[place] in self.transcript_cache:
                by_place[place] = self.transcript_cache[keys[place]]
            else:
                new.setdefault(language, {})[keys[place]] = wave
        for language, waves in new.items():
            texts = self.transcribe_all(list(waves.values()), language)
            fresh = {k: Transcript(text.strip()) for k, text in zip(waves, texts, strict=True)}
            by_place |= {place: fresh[key] for place, key in keys.items() if key in fresh}
            self.transcript_cache.update(fresh)
        while len(self.transcript_cache) > REMEMBERED:
            self.transcript_cache.popitem(last=False)
        return [by_place[place] for place in range(len(takes))]


def unheard(wave: npt.NDArray[np.float32]) -> str:
    """Why nothing is asked about a wave; empty when something is."""
    if len(wave) < SHORTEST_S * RATE_HZ:
        return f"too short: less than {SHORTEST_S} s"
    return silence(torch.from_numpy(wave), RATE_HZ)


def whisper_code(language: str) -> str:
    """Whisper's code of a language: its primary subtag, Chinese languages but Cantonese as zh."""
    subtag = texts.primary(language)
    if subtag in texts.CHINESE_LANGUAGES - {"yue"}:
        return "zh"
    return {"nb": "no", "fil": "tl", "iw": "he"}.get(subtag, subtag)


@functools.lru_cache(maxsize=2)
def load_recogniser(key: str, options: Options, device: str) -> Recogniser:
    """Return a loaded recogniser; the last two stay in memory, so that metrics share one."""
    recogniser = Recogniser.registry[key](options, device)
    recogniser.load()
    return recogniser
