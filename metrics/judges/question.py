"""One question to a judge: its messages, the key of its answer in the cache, what it must hold.

What an answer must hold is a JSON schema for the server and a strict check of our own.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
import re
import wave as wave_file
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metrics.core.lazy_torch import torch
from metrics.core.metric import canonical_json

RATE_HZ = 16_000
HASHED = ("model", "system", "user", "schema", "temperature", "seed", "repeat", "max_tokens")


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
        audio = [[s.letter, hashlib.sha256(s.wav).hexdigest()] for s in self.sounds]
        plain = {"audio": audio, **{name: getattr(self, name) for name in HASHED}}
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
        system_messages = [{"role": "system", "content": system}] if system else []
        return [*system_messages, {"role": "user", "content": parts}]


def sound(wave: torch.Tensor, letter: str = "") -> Sound:
    """A wave, (samples,) in [-1, 1] at 16 kHz, as a WAV file; beyond full scale it is clipped."""
    return sound_of(wave.detach().cpu().numpy(), letter)


def sound_of(samples: NDArray[Any], letter: str = "") -> Sound:
    """As `sound`, of an array."""
    clipped = np.clip(np.asarray(samples, np.float64), -1.0, 32767 / 32768)
    pcm = np.round(clipped * 32768).astype("<i2")
    buffer = io.BytesIO()
    with wave_file.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes(pcm.tobytes())
    return Sound(buffer.getvalue(), letter)


KINDS = ("text", "score", "yes_no", "list", "choice", "object")


class MalformedAnswer(ValueError):
    """An answer that cannot be used; the message is a short reason that can be counted."""


@dataclass(frozen=True)
class Field:
    """One named part of an answer."""

    name: str
    kind: str  # text; score: a number; yes_no; list: of texts or choices; choice: one; object
    about: str = ""  # told to the model
    low: float = 1.0  # of a score, with its step
    high: float = 5.0
    step: float = 0.5
    choices: tuple[str, ...] = ()  # of a list (empty: any text) or a choice
    fields: tuple[Field, ...] = ()  # of an object

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"field {self.name}: kind {self.kind!r} is not one of {KINDS}")
        for kind, lacking in (("choice", "choices"), ("object", "fields")):
            if self.kind == kind and not getattr(self, lacking):
                raise ValueError(f"field {self.name}: a field of kind {kind} needs {lacking}")
        if self.kind == "score" and not (self.step > 0 and self.low < self.high):
            raise ValueError(f"field {self.name}: low must be below high, and step above 0")

    def steps(self) -> list[float]:
        """Every score that there can be, from low to high; whole ones as integers."""
        count = round((self.high - self.low) / self.step)
        exact = [self.low + i * self.step for i in range(count + 1)]
        return [int(value) if value == int(value) else value for value in exact]

    def schema(self) -> dict[str, Any]:
        """Its JSON schema, within what strict modes of servers understand."""
        kinds: dict[str, dict[str, Any]] = {
            "text": {"type": "string"},
            "score": {"type": "number", "enum": self.steps()},
            "yes_no": {"type": "boolean"},
            "list": {"type": "array", "items": {"type": "string"}},
            "choice": {"type": "string", "enum": list(self.choices)},
        }
        schema = object_schema(self.fields) if self.kind == "object" else kinds[self.kind]
        if self.kind == "list" and self.choices:
            schema["items"]["enum"] = list(self.choices)
        return {**schema, "description": self.about} if self.about else schema


def object_schema(fields: Sequence[Field]) -> dict[str, Any]:
    """The schema of an object with exactly these fields."""
    return {
        "type": "object",
        "properties": {field.name: field.schema() for field in fields},
        "required": [field.name for field in fields],
        "additionalProperties": False,
    }


def table_schema(letters: Sequence[str], fields: Sequence[Field]) -> dict[str, Any]:
    """The schema of {"ratings": [one object per letter, with its fields]}."""
    row = object_schema([Field("letter", "text"), *fields])
    row["properties"]["letter"] = {"type": "string", "enum": list(letters)}
    return {
        "type": "object",
        "properties": {"ratings": {"type": "array", "items": row}},
        "required": ["ratings"],
        "additionalProperties": False,
    }


def parse(content: str) -> Any:
    """The JSON of an answer; a code fence around the whole of it is taken off.

    Raises Malformed("no JSON") for text around it, an unfinished object, NaN or a key twice.
    """
    fenced = re.fullmatch(r"\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*", content, flags=re.DOTALL)
    try:
        return json.loads(
            fenced.group(1) if fenced else content,
            object_pairs_hook=_unique,
            parse_constant=_refused,
        )
    except (ValueError, RecursionError) as error:
        raise MalformedAnswer("no JSON") from error


def check_object(answer: Any, fields: Sequence[Field]) -> dict[str, Any]:
    """The answer when it holds exactly these fields with allowed values; Malformed otherwise."""
    if not isinstance(answer, Mapping) or set(answer) != {field.name for field in fields}:
        raise MalformedAnswer("wrong fields")
    return {field.name: _check_value(field, answer[field.name]) for field in fields}


def check_table(
    answer: Any, letters: Sequence[str], fields: Sequence[Field]
) -> dict[str, dict[str, Any]]:
    """Letter -> fields of an answer that rates every letter once; Malformed otherwise."""
    if not isinstance(answer, Mapping) or set(answer) != {"ratings"}:
        raise MalformedAnswer("wrong fields")
    rows = answer["ratings"]
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise MalformedAnswer("wrong fields")
    if sorted(str(row.get("letter")) for row in rows) != sorted(letters):
        raise MalformedAnswer("wrong letters")
    by_letter = {
        str(row["letter"]): check_object({k: v for k, v in row.items() if k != "letter"}, fields)
        for row in rows
    }
    return {letter: by_letter[letter] for letter in letters}


def _check_value(field: Field, value: Any) -> Any:
    if field.kind == "object":
        return check_object(value, field.fields)
    right = {
        "text": isinstance(value, str),
        "score": isinstance(value, int | float) and not isinstance(value, bool),
        "yes_no": isinstance(value, bool),
        "list": isinstance(value, list) and all(isinstance(part, str) for part in value),
        "choice": isinstance(value, str),
    }
    if not right[field.kind]:
        raise MalformedAnswer("wrong type")
    if field.kind == "score":
        near = field.low <= value <= field.high  # first, as a huge integer is no float
        if not near or not any(math.isclose(value, step) for step in field.steps()):
            raise MalformedAnswer("score out of range")
    named = set(value) if field.kind == "list" else {value} if field.kind == "choice" else set()
    if field.choices and not named <= set(field.choices):
        raise MalformedAnswer("unknown choice")
    return float(value) if field.kind == "score" else value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key twice")
    return values


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def printable(text: str, length: int = 60) -> str:
    """A model's text cut, and without what a database cannot keep."""
    return "".join(character for character in text if character.isprintable())[:length]
