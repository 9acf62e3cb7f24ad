"""A server of chat completions with audio over models of this machine, as judges ask it.

What the protocol has beyond that (streams, tools, several answers) is refused by name. Questions
to a model wait for each other.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import select
import socket
import threading
import time
import uuid
import wave as wave_file
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metrics.judges.form_filling import SchemaError
from metrics.judges.local_model import ChatError, LocalModel, Written

ROUTE, MODELS = "/v1/chat/completions", "/v1/models"
KNOWN = {"model", "messages", "temperature", "seed", "max_tokens", "max_completion_tokens"}
KNOWN |= {"response_format"}
MOST_BYTES = 512 * 2**20  # of a question: six clips of 15 minutes


class RequestError(ValueError):
    """A request that cannot be served; with the parameter that it is about."""

    def __init__(self, message: str, param: str = "") -> None:
        super().__init__(message)
        self.param = param


class ChatServer(ThreadingHTTPServer):
    """Serves models by their names until `shutdown`; ``port`` 0 takes a free one."""

    daemon_threads = True

    def __init__(
        self, models: Sequence[LocalModel], host: str = "127.0.0.1", port: int = 0
    ) -> None:
        super().__init__((host, port), Handler)
        self.models = {model.name: (model, threading.Lock()) for model in models}

    @property
    def url(self) -> str:
        """Where clients find it, up to and with /v1."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}/v1"


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: ChatServer

    def do_GET(self) -> None:
        """The list of models."""
        if self.path != MODELS:
            return self._fail(404, f"there is no {self.path}")
        named = [{"id": name, "object": "model"} for name in self.server.models]
        return self._send(200, {"object": "list", "data": named})

    def do_POST(self) -> None:
        """An answer to a chat."""
        size = int(self.headers.get("Content-Length") or 0)
        if self.path != ROUTE or size > MOST_BYTES:
            self.close_connection = True  # what it sends is not read
            return self._fail(413 if size > MOST_BYTES else 404, f"not served: {self.path}")
        raw = self.rfile.read(size)
        try:
            asked = json.loads(raw)
            if asked["model"] not in self.server.models:
                return self._fail(404, f"here are {', '.join(self.server.models)}", "model")
            model, turn = self.server.models[asked["model"]]
            with turn:
                if self._has_gone():
                    return None
                written = answered(model, asked)
        except RequestError as error:
            return self._fail(400, str(error), error.param)
        except (ChatError, SchemaError) as error:
            return self._fail(400, str(error), "messages")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return self._fail(400, f"no chat: {type(error).__name__}, {error}")
        return self._send(200, completion(model.name, written))

    def _has_gone(self) -> bool:
        """Whether the client gave up while others had their turn."""
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)

    def _fail(self, status: int, message: str, param: str = "") -> None:
        self._send(status, {"error": {"message": message, "param": param or None, "code": status}})

    def _send(self, status: int, said: Mapping[str, Any]) -> None:
        payload = json.dumps(said, ensure_ascii=False).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)
        except OSError:  # the client has gone
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Not one line a question: they hold nothing that is not in the judge's details."""


def answered(model: LocalModel, asked: Mapping[str, Any]) -> Written:
    """The model's answer to a request's body; RequestError where it cannot be served."""
    if unknown := sorted(set(asked) - KNOWN):
        raise RequestError(f"unsupported parameter {unknown[0]}", unknown[0])
    messages, sounds = [], []
    for message in asked["messages"]:
        content, heard = parts_of(message["content"], model.rate_hz)
        messages.append({"role": message["role"], "content": content})
        sounds += heard
    return model.answer(
        messages,
        sounds,
        schema_of(asked.get("response_format")),
        float(asked.get("temperature", 0.0)),
        int(asked.get("seed") or 0),
        int(asked.get("max_completion_tokens") or asked.get("max_tokens") or 4000),
    )


def schema_of(wanted: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The schema of a response_format; None for free text."""
    if wanted is None or wanted.get("type") == "text":
        return None
    if wanted.get("type") != "json_schema":
        raise RequestError(f"unsupported response_format {wanted.get('type')}", "response_format")
    schema: Mapping[str, Any] = wanted["json_schema"]["schema"]
    return schema


def parts_of(content: Any, rate_hz: int) -> tuple[Any, list[NDArray[np.float32]]]:
    """A message's content as a chat template takes it, and its sounds in order."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}], []
    parts: list[dict[str, str]] = []
    sounds = []
    for part in content:
        if part["type"] == "text":
            parts.append({"type": "text", "text": part["text"]})
        elif part["type"] == "input_audio":
            sounds.append(sound_of(part["input_audio"]["data"], rate_hz))
            parts.append({"type": "audio", "audio_url": "clip"})
        else:
            raise RequestError(f"a part of type {part['type']} is not served", "messages")
    return parts, sounds


def sound_of(data: str, rate_hz: int) -> NDArray[np.float32]:
    """The samples of a WAV file in base64: 16-bit PCM, mono, at the model's rate."""
    try:
        with wave_file.open(io.BytesIO(base64.b64decode(data, validate=True))) as file:
            form = (file.getframerate(), file.getnchannels(), file.getsampwidth())
            frames = file.readframes(file.getnframes())
    except (binascii.Error, wave_file.Error, EOFError) as error:
        raise RequestError(f"audio must be a WAV file in base64 ({error})", "messages") from error
    if form != (rate_hz, 1, 2):
        raise RequestError(
            f"audio must be 16-bit PCM, mono, {rate_hz} Hz; this is {8 * form[2]}-bit, "
            f"{form[1]} channels, {form[0]} Hz",
            "messages",
        )
    return np.frombuffer(frames, "<i2").astype(np.float32) / np.float32(32768)


def completion(name: str, written: Written) -> dict[str, Any]:
    """A chat completion as the protocol has it."""
    message = {"role": "assistant", "content": written.content, "refusal": None}
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": name,
        "choices": [{"index": 0, "finish_reason": written.finish, "message": message}],
        "usage": {
            "prompt_tokens": written.tokens_in,
            "completion_tokens": written.tokens_out,
            "total_tokens": written.tokens_in + written.tokens_out,
            "prompt_tokens_details": {"audio_tokens": written.audio},
        },
    }
