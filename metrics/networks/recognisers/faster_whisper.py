"""Whisper by faster-whisper (CTranslate2); windows of several clips are heard side by side."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from metrics.core import weights
from metrics.core.devices import index, kind
from metrics.core.lazy_torch import torch
from metrics.core.precision import in_float32
from metrics.core.published_models import HUB, PublishedModel
from metrics.networks.recognisers.recogniser import Recogniser, whisper_code

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

log = logging.getLogger(__name__)

TOKENIZER = "tokenizer.json"
MODEL = PublishedModel(
    "Systran/faster-whisper-large-v3",
    ("model.bin", TOKENIZER),  # without its own, the package would fetch another model's tokenizer
    ("config.json", "vocabulary.*", "preprocessor_config.json"),
    source=HUB,
    licence="MIT",
    size=3_100_000_000,
)
AT_ONCE = {"cpu": 4, "cuda": 16}  # windows of 30 s
REPOSITORIES = {  # names whose repository is not Systran/faster-whisper-NAME
    "large-v3-turbo": "mobiuslabsgmbh/faster-whisper-large-v3-turbo",
    "turbo": "mobiuslabsgmbh/faster-whisper-large-v3-turbo",
}


class FasterWhisper(Recogniser):
    """A Whisper model in CTranslate2's format, by name ("large-v3"), hub name or folder."""

    key = "faster_whisper"
    default_model = "large-v3"
    packages = ("faster-whisper", "ctranslate2")
    network: Any = None

    def models(self) -> list[PublishedModel]:
        """The folder of the network."""
        return [published(self.model)]

    def load(self) -> None:
        """Load the network; threads as torch has them when this is called."""
        weights.need_package("faster_whisper", "faster-whisper")
        import faster_whisper

        logging.getLogger("faster_whisper").setLevel(logging.WARNING)  # else a line per clip
        folder = weights.locate(*self.models())
        self.weights = weights.model_hashes(folder, ["model.bin"])
        try:
            compute_type = self.compute_type()
            self.network = faster_whisper.WhisperModel(
                str(folder),
                device=kind(self.device),
                device_index=index(self.device),
                compute_type=compute_type,
                cpu_threads=torch.get_num_threads(),
            )
        except (RuntimeError, ValueError) as error:  # broken files
            raise weights.Unavailable(f"{self.model} does not load: {error}") from error

    def compute_type(self) -> str:
        """Return the precision asked for, or float32 where CTranslate2 lacks it on the device."""
        import ctranslate2  # type: ignore[import-untyped]

        requested = self.options.precision
        known = ctranslate2.get_supported_compute_types(kind(self.device), index(self.device))
        if requested in known:
            return requested
        why = f"CTranslate2 does not compute in {requested} on this device"
        log.warning("%s runs in float32: %s", self.model, why)
        self.device_notes = in_float32(requested, why)
        return "float32"

    def refusal(self, language: str) -> str:
        """A reason for languages that the model was not trained on."""
        if not self.network or whisper_code(language) in self.network.supported_languages:
            return ""
        only = "English only" if not self.network.model.is_multilingual else "not among its own"
        return f"language {language}: {self.model} cannot hear it ({only})"

    def transcribe(self, wave: npt.NDArray[np.float32], language: str) -> str:
        """Beam search at temperature 0, windows of 30 s, each on its own."""
        segments, _ = self.network.transcribe(
            wave,
            language=whisper_code(language),
            beam_size=self.options.beam,
            temperature=0.0,
            condition_on_previous_text=False,
            vad_filter=False,
        )
        return "".join(segment.text for segment in segments)

    def transcribe_all(self, waves: Sequence[npt.NDArray[np.float32]], language: str) -> list[str]:
        """The same of several waves, whose windows are heard side by side."""
        if len(waves) == 1:
            return [self.transcribe(waves[0], language)]
        at_once, code = AT_ONCE[kind(self.device)], whisper_code(language)
        return transcribe(self.network, waves, code, self.options.beam, at_once)


def published(name: str) -> PublishedModel:
    """The model of a name: a folder that is there, or the hub's."""
    is_name = "/" in name or any(place.is_dir() for place in (Path(name), weights.folder() / name))
    hub_name = name if is_name else REPOSITORIES.get(name, f"Systran/faster-whisper-{name}")
    model = MODEL.renamed(hub_name)
    return model if is_name else replace(model, licence=MODEL.licence)


NO_SPEECH = 0.6  # above this probability a window is left out …
LOG_PROBABILITY = -1.0  # … unless its text is more likely than this, per token
LATEST_START_S = 1.0  # of the first words in a window
TIMESTAMP_S = 0.02


@dataclass
class Reading:
    """A clip that is being read: its features, how far it is read, and its text so far."""

    features: npt.NDArray[np.float32]  # (mel bands, frames), one frame more than the clip has
    seek: int = 0
    texts: list[str] = field(default_factory=list)

    @property
    def frames_left(self) -> int:
        """Frames that are not read yet."""
        return int(self.features.shape[-1]) - 1 - self.seek


def transcribe(
    network: Any,
    waves: Sequence[npt.NDArray[np.float32]],
    language: str,
    beam: int,
    at_once: int,
) -> list[str]:
    """Return the text of each wave, (samples,) at 16 kHz, by a `faster_whisper.WhisperModel`.

    The rules are those of faster-whisper's own transcribe, on several clips at once. Every clip
    has windows of 30 s of its own, so that clips of any length share a batch: a window of each
    clip that is not at its end, the next ones when these are read. Beam search at temperature 0,
    no conditioning on what was heard before, no voice detection. Timestamps say where a clip's
    next window begins, and a window without speech is left out.
    """
    from faster_whisper.tokenizer import Tokenizer

    tokenizer = Tokenizer(
        network.hf_tokenizer, network.model.is_multilingual, task="transcribe", language=language
    )
    readings = [Reading(network.feature_extractor(wave)) for wave in waves]
    while unread := [each for each in readings if each.frames_left > 0][:at_once]:
        for reading, result in zip(unread, windows(network, tokenizer, unread, beam), strict=True):
            advance(network, tokenizer, reading, result)
    return ["".join(reading.texts) for reading in readings]


def windows(network: Any, tokenizer: Any, readings: Iterable[Reading], beam: int) -> list[Any]:
    """What CTranslate2 hears in the next window of each clip."""
    import ctranslate2
    from faster_whisper.transcribe import get_suppressed_tokens

    most = network.feature_extractor.nb_max_frames
    parts = [
        each.features[:, each.seek : each.seek + min(most, each.frames_left)] for each in readings
    ]
    filled = [np.pad(part, ((0, 0), (0, most - part.shape[-1]))) for part in parts]
    features = ctranslate2.StorageView.from_array(np.ascontiguousarray(np.stack(filled)))
    heard = network.model.encode(features, to_cpu=False)
    prompt = network.get_prompt(tokenizer, [], without_timestamps=False, prefix=None, hotwords=None)
    results: list[Any] = network.model.generate(
        heard,
        [prompt] * len(filled),
        beam_size=beam,
        patience=1,
        length_penalty=1,
        max_length=network.max_length,
        return_scores=True,
        return_no_speech_prob=True,
        suppress_blank=True,
        suppress_tokens=get_suppressed_tokens(tokenizer, [-1]),
        max_initial_timestamp_index=round(LATEST_START_S / TIMESTAMP_S),
    )
    return results


def advance(network: Any, tokenizer: Any, reading: Reading, result: Any) -> None:
    """Take what was heard in a clip's window, and move on to where its next one begins."""
    size = min(network.feature_extractor.nb_max_frames, reading.frames_left)
    tokens = result.sequences_ids[0]
    likely = result.scores[0] * len(tokens) / (len(tokens) + 1)
    if result.no_speech_prob > NO_SPEECH and not likely > LOG_PROBABILITY:
        reading.seek += size
        return
    frame_s = network.feature_extractor.time_per_frame
    segments, reading.seek, _ = network._split_segments_by_timestamps(
        tokenizer=tokenizer,
        tokens=tokens,
        time_offset=reading.seek * frame_s,
        segment_size=size,
        segment_duration=size * frame_s,
        seek=reading.seek,
    )
    for segment in segments:
        text = tokenizer.decode(segment["tokens"])
        if segment["start"] != segment["end"] and text.strip():
            reading.texts.append(text)
