"""Whisper in CTranslate2 on several clips at once, by the rules of faster-whisper's transcribe.

Every clip has windows of 30 s of its own, so that clips of any length share a batch: a window of
each clip that is not at its end, the next ones when these are read. Beam search at temperature 0,
no conditioning on what was heard before, no voice detection; what faster-whisper does by default
beside that is done here, too: timestamps say where a clip's next window begins, and a window
without speech is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

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
    def left(self) -> int:
        """Frames that are not read yet."""
        return int(self.features.shape[-1]) - 1 - self.seek


def transcribe(
    network: Any,
    waves: Sequence[npt.NDArray[np.float32]],
    language: str,
    beam: int,
    at_once: int,
) -> list[str]:
    """The text of each wave, (samples,) at 16 kHz, by a `faster_whisper.WhisperModel`."""
    from faster_whisper.tokenizer import Tokenizer

    tokenizer = Tokenizer(
        network.hf_tokenizer, network.model.is_multilingual, task="transcribe", language=language
    )
    readings = [Reading(network.feature_extractor(wave)) for wave in waves]
    while unread := [each for each in readings if each.left > 0][:at_once]:
        for reading, result in zip(unread, windows(network, tokenizer, unread, beam), strict=True):
            advance(network, tokenizer, reading, result)
    return ["".join(reading.texts) for reading in readings]


def windows(network: Any, tokenizer: Any, readings: Iterable[Reading], beam: int) -> list[Any]:
    """What CTranslate2 hears in the next window of each clip."""
    import ctranslate2  # type: ignore[import-untyped]
    from faster_whisper.transcribe import get_suppressed_tokens

    most = network.feature_extractor.nb_max_frames
    parts = [each.features[:, each.seek : each.seek + min(most, each.left)] for each in readings]
    filled = [np.pad(part, ((0, 0), (0, most - part.shape[-1]))) for part in parts]
    given = ctranslate2.StorageView.from_array(np.ascontiguousarray(np.stack(filled)))
    heard = network.model.encode(given, to_cpu=False)
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
    size = min(network.feature_extractor.nb_max_frames, reading.left)
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
