"""A local server that speaks the chat completions protocol and judges by the level of the audio.

A clip's score is 1 at -60 dB of full scale and 5 at -20 dB, to the nearest step of the schema.
Faults are scripted: each name in ``faults`` is used up by one request, in order.
"""

import base64
import io
import json
import math
import re
import threading
import time
import wave
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

LONGEST_S = 60.0  # that an answer is held back, should a test never let it go
AMID_S = 0.05  # for more questions to come than may be under way
USAGE = {
    "prompt_tokens": 300,
    "completion_tokens": 40,
    "total_tokens": 340,
    "prompt_tokens_details": {"audio_tokens": 200},
}
STATUS = {  # fault -> status, headers, error
    "429": (429, {"Retry-After": "0.05"}, {"message": "slow down", "code": "rate_limit"}),
    "500": (500, {"retry-after-ms": "5"}, {"message": "oops"}),
    "503": (503, {"retry-after-ms": "5"}, {"message": "loading"}),
    "400": (400, {}, {"message": "this model does not take audio"}),
    "401": (401, {}, {"message": "wrong key: secret", "code": "invalid_api_key"}),
    "404": (404, {}, {"message": "no such model"}),
    "no credit": (429, {"x-should-retry": "false"}, {"message": "x", "code": "insufficient_quota"}),
}


class JudgeServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.released = threading.Event()
        self.reset()
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def reset(self):
        self.faults = []
        self.requests = []
        self.refuses = set()  # options that get a 400
        self.answer = answer  # (body) -> what the model says
        self.released.set()  # slow answers of the test before
        self.released = threading.Event()
        self.together = None  # a barrier: questions are answered when so many are under way
        self.at_once = self.most_at_once = 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def stop(self):
        self.released.set()
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        with server.lock:
            server.requests.append(
                {
                    "path": self.path,
                    "headers": {k.lower(): v for k, v in self.headers.items()},
                    **body,
                }
            )
            fault = server.faults.pop(0) if server.faults else ""
            server.at_once += 1
            server.most_at_once = max(server.most_at_once, server.at_once)
        try:
            if server.together:
                server.together.wait(LONGEST_S)
                time.sleep(AMID_S)
            self.respond(body, fault)
        finally:
            with server.lock:
                server.at_once -= 1

    def respond(self, body, fault):
        if fault == "drop":
            self.close_connection = True
            return
        if fault == "cut":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"id":')
            self.close_connection = True
            return
        if fault == "slow":
            self.server.released.wait(LONGEST_S)
        refused = self.server.refuses & set(body)
        if refused:
            fault = "refused option"
        status, headers, error = STATUS.get(fault, (200, {}, None))
        if fault == "refused option":
            name = sorted(refused)[0]
            status, error = 400, {"message": f"unsupported parameter {name}", "param": name}
        if fault == "page":
            self.send(200, {}, b"<html>proxy</html>", "text/html")
        elif error:
            self.send(status, headers, json.dumps({"error": error}).encode())
        else:
            self.send(200, {}, json.dumps(self.completion(body, fault)).encode())

    def completion(self, body, fault):
        content, refusal, finish = json.dumps(self.server.answer(body)), None, "stop"
        if fault == "refusal":
            content, refusal = None, "I cannot rate voices."
        elif fault == "filtered":
            content, finish = "", "content_filter"
        elif fault == "truncated":
            content, finish = content[: len(content) // 2], "length"
        elif fault == "no choices":
            return {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
        else:
            content = twisted(content, fault)
        message = {"role": "assistant", "content": content, "refusal": refusal}
        return {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": f"{body['model']}-2026-11",
            "choices": [{"index": 0, "finish_reason": finish, "message": message}],
            "usage": USAGE,
        }

    def send(self, status, headers, payload, kind="application/json"):
        try:
            self.send_response(status)
            for name, value in {**headers, "Content-Type": kind}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)
        except OSError:  # the client has given up waiting
            self.close_connection = True

    def log_message(self, *_):
        pass


def twisted(content, fault):
    """An answer made wrong in the way that the fault names."""
    said = json.loads(content)
    changed = {
        "out of range": lambda: said | {"score": 6},
        "off the steps": lambda: said | {"score": 3.3},
        "huge": lambda: said | {"score": 10**400},
        "score as text": lambda: said | {"score": "4"},
        "no score": lambda: {k: v for k, v in said.items() if k != "score"},
        "more fields": lambda: said | {"mood": "good"},
        "a list": lambda: [said],
    }
    texts = {
        "refusal text": "I am sorry, but I cannot judge people's voices.",
        "half JSON": content[:-3],
        "talk around it": f"Here you are: {content}",
        "fenced": f"```json\n{content}\n```",
        "NaN": '{"score": NaN}',
        "twice": content.replace("{", '{"score": 1, ', 1),
        "empty": "",
    }
    return json.dumps(changed[fault]()) if fault in changed else texts.get(fault, content)


def answer(body):
    """What the model says: scores by level, the sound present before the last word."""
    schema = schema_of(body)
    levels = [score_of_level(w) for w in waves_of(body)]
    if "ratings" in schema["properties"]:
        row = schema["properties"]["ratings"]["items"]
        letters = re.findall(r"Clip ([A-Z]):", text_of(body))
        return {
            "ratings": [
                filled(row, body, level) | {"letter": letter}
                for letter, level in zip(letters, levels, strict=True)
            ]
        }
    return filled(schema, body, levels[0])


def filled(schema, body, level):
    found = {}
    for name, part in schema["properties"].items():
        if name == "marked_text":
            found[name] = marked(body)
        elif part["type"] == "number":
            found[name] = min(part["enum"], key=lambda step: (abs(step - level), step))
        elif part["type"] == "object":
            found[name] = filled(part, body, level)
        elif "enum" in part:
            found[name] = part["enum"][0]
        else:
            found[name] = {"string": "heard", "boolean": True, "array": []}[part["type"]]
    return found


def marked(body):
    """The text with the marker before its last word."""
    text = re.search(r"<text>\n(.*?)\n</text>", text_of(body), flags=re.DOTALL).group(1)
    target = re.search(r"to look for is: (.*)", text_of(body)).group(1)
    words = text.split(" ")
    return " ".join([*words[:-1], f"<{target}>", words[-1]])


def schema_of(body):
    if "response_format" in body:
        return body["response_format"]["json_schema"]["schema"]
    return json.loads(body["messages"][0]["content"].splitlines()[-1])


def text_of(body):
    return "\n".join(part["text"] for part in body["messages"][-1]["content"] if "text" in part)


def waves_of(body):
    """The clips of a request in order, (samples,) float64."""
    found = []
    for part in body["messages"][-1]["content"]:
        if part["type"] == "input_audio":
            assert part["input_audio"]["format"] == "wav"
            with wave.open(io.BytesIO(base64.b64decode(part["input_audio"]["data"]))) as file:
                assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (
                    16_000,
                    1,
                    2,
                )
                found.append(np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32768)
    return found


def score_of_level(samples):
    """1 at -60 dB of full scale, 5 at -20 dB, not rounded."""
    rms = math.sqrt(float(np.mean(np.square(samples)))) or 1e-9
    return min(5.0, max(1.0, 1 + (20 * math.log10(rms) + 60) / 10))
