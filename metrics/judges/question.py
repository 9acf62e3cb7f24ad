"""One question to a judge: its messages, and the key that names its answer in the cache."""

from __future__ import annotations

import base64
import hashlib
import io
import wave as wave_file
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from metrics.core.metric import canonical_json

if TYPE_CHECKING:
    import torch

RATE_HZ = 16_000


@dataclass(frozen=True)
class Sound:
    """A clip as it is sent: a WAV file (16-bit PCM, mono, 16 kHz), and its letter if it has one."""

    wav: bytes
    letter: str = ""


@dataclass(frozen=True)
class Question:
    """Everything that an answer depends on, and how the answer is checked."""

    model: str
    system: str
    user: str
    sounds: tuple[Sound, ...]
    schema: dict[str, Any]
    check: Callable[[Any], dict[str, Any]]  # the parsed JSON -> the answer; raises Malformed
    rubric: str = ""  # its name, for the cache's reader
    temperature: float = 0.0
    seed: int = 0
    repeat: int = 0
    max_tokens: int = 4000

    def key(self) -> str:
        """SHA-256 (hex) of audio, prompt, model, parameters, seed and repeat."""
        plain = {
            "audio": [[s.letter, hashlib.sha256(s.wav).hexdigest()] for s in self.sounds],
            "max_tokens": self.max_tokens,
            "model": self.model,
            "repeat": self.repeat,
            "schema": self.schema,
            "seed": self.seed,
            "system": self.system,
            "temperature": self.temperature,
            "user": self.user,
        }
        return hashlib.sha256(canonical_json(plain).encode()).hexdigest()

    def messages(self, with_schema: bool) -> list[Any]:
        """Chat messages; the schema is written out where the server cannot be given it."""
        system = self.system
        if with_schema:
            system += "\n\n" if system else ""
            system += "Answer with one JSON object of this schema, and nothing else:\n"
            system += canonical_json(self.schema)
        parts: list[dict[str, Any]] = [{"type": "text", "text": self.user}]
        for sound in self.sounds:
            if sound.letter:
                parts.append({"type": "text", "text": f"Clip {sound.letter}:"})
            data = base64.b64encode(sound.wav).decode("ascii")
            parts.append({"type": "input_audio", "input_audio": {"data": data, "format": "wav"}})
        told = [{"role": "system", "content": system}] if system else []
        return [*told, {"role": "user", "content": parts}]


def sound(wave: torch.Tensor, letter: str = "") -> Sound:
    """A wave, (samples,) in [-1, 1] at 16 kHz, as a WAV file; beyond full scale it is clipped."""
    return sound_of(wave.detach().cpu().numpy(), letter)


def sound_of(samples: NDArray[Any], letter: str = "") -> Sound:
    """As `sound`, of an array."""
    clipped = np.clip(np.asarray(samples, np.float64), -1.0, 32767 / 32768)
    pcm = np.round(clipped * 32768).astype("<i2")
    held = io.BytesIO()
    with wave_file.open(held, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes(pcm.tobytes())
    return Sound(held.getvalue(), letter)
