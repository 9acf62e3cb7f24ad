"""A fake house for the rater's pages: real templates and files, scripted answers and failures."""

from __future__ import annotations

import json
import mimetypes
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.middleware.csrf import get_token
from django.template.loader import render_to_string
from django.test import RequestFactory

from listening.common.languages import page_words, speaking
from tests.browser.sounds import tone
from tests.browser.story import Story

ROOT = Path(__file__).resolve().parents[2]
POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "media-src 'self' blob:; worker-src 'self' blob:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
AHEAD = 3


@dataclass
class Fault:
    """The next requests to a path that fail: drop, lose (done, but not told), or a status."""

    path: str
    kind: str | int
    times: int = 1
    body: Any = None


@dataclass
class House:
    """One fake study with one session; everything that came in is kept for the test to look at."""

    story: Story
    stored: dict[str, dict[str, Any]] = field(default_factory=dict)
    posts: list[dict[str, Any]] = field(default_factory=list)
    repeats: int = 0
    faults: list[Fault] = field(default_factory=list)
    checked: dict[str, Any] = field(default_factory=dict)
    withdrawn: bool = False
    outcome: str = "complete"
    skipped: set[str] = field(default_factory=set)
    skips: list[dict[str, Any]] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    preview: bool = False
    held: dict[str, threading.Event] = field(default_factory=dict)  # clips that hesitate
    language: str = "en"
    landing: dict[str, Any] = field(default_factory=dict)
    clip_requests: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def fail(self, path: str, kind: str | int, times: int = 1, body: Any = None) -> None:
        self.faults.append(Fault(path, kind, times, body))

    def hold(self, path: str) -> threading.Event:
        """Half of this clip comes, the rest when the test says so (`set`)."""
        return self.held.setdefault(path, threading.Event())

    def fault(self, path: str) -> Fault | None:
        with self.lock:
            for fault in self.faults:
                if fault.times > 0 and fault.path in path:
                    fault.times -= 1
                    return fault
        return None

    def upcoming(self) -> list[dict[str, Any]]:
        done = self.stored.keys() | self.skipped
        trials = [self.story.trial(place) for place in range(len(self.story.trials))]
        return [trial for trial in trials if trial["id"] not in done]

    def state(self) -> dict[str, Any]:
        upcoming = self.upcoming()
        over = self.withdrawn or not upcoming
        stage = "end" if over else "check" if self.story.check and not self.checked else "trial"
        check: dict[str, Any] = {"key": "volume", "kind": "volume", "title": "Set your volume"}
        check |= {"clip": "/checks/volume.wav", "attempt": 1, "attempts": 1, "feedback": ""}
        check["trials"] = []
        check["text"] = (
            "Put your headphones on if you have them. Play the sound and set the volume so that "
            "it is clear and comfortable. Please leave it there until the end."
        )
        return {
            "stage": stage,
            "preview": False,
            "study": {
                "title": self.story.title,
                "language": self.language,
                "contact": "lab@example.org",
                "break_every": self.story.break_every,
            },
            "progress": {"done": len(self.stored), "total": len(self.story.trials)},
            "questionnaire": None,
            "check": check if stage == "check" else None,
            "tasks": self.story.task_list(),
            "trials": upcoming[:AHEAD] if stage == "trial" else [],
            "end": self.end() if over else None,
        }

    def end(self) -> dict[str, Any]:
        outcome = "withdrawn" if self.withdrawn else self.outcome
        code = "" if outcome == "withdrawn" else "KTRM7QXW"
        url = f"https://app.prolific.com/submissions/complete?cc={code}"
        text = {"withdrawn": "All your answers have been deleted."}
        return {
            "outcome": outcome,
            "code": code,
            "next": "This last step tells Prolific that you are done.",
            "button": "Go back and finish there",
            "return_url": url if self.story.prolific and code else None,
            "text": text.get(outcome, "Your answers are stored. You can close this page."),
            "debrief": "",
            "comment": False,
            "withdrawable": outcome != "withdrawn",
            **self.story.end,
        }

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Stores the answer as the real house would: once, and in order."""
        with self.lock:
            self.posts.append(body)
            trial = str(body.get("trial"))
            if trial in self.stored:
                self.repeats += 1
                return 200, {"stored": True, "repeat": True, "state": self.state()}
            upcoming = self.upcoming()
            if not upcoming or trial != upcoming[0]["id"]:
                return 409, self.error("wrong_order", "Another clip comes first.")
            if body["plays"] < 1 or (body["heard_fraction"] < 0.99 and self.story.strict):
                return 422, self.error("not_heard", "Please listen to the whole clip.")
            self.stored[trial] = body
            feedback = self.story.feedback.get(int(trial[1:]))
            reply = {"stored": True, "repeat": False, "feedback": feedback}
            return 201, {**reply, "state": self.state()}

    def form(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]] | None:
        """For houses with questionnaires and checks (forms.py)."""
        return None

    def error(self, code: str, message: str) -> dict[str, Any]:
        return {"error": code, "message": message, "state": self.state()}


class Handler(BaseHTTPRequestHandler):
    """Translates requests to the house; HTTP/1.1, with ranges for clips."""

    protocol_version = "HTTP/1.1"
    house: House

    def log_message(self, *args: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        self.route({})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        is_json = "json" in (self.headers.get("Content-Type") or "")
        self.route(
            json.loads(raw) if is_json else {k: v[0] for k, v in parse_qs(raw.decode()).items()}
        )

    def route(self, body: dict[str, Any]) -> None:
        path = urlsplit(self.path).path
        fault = self.house.fault(path)
        if fault and fault.kind != "lose" and not (fault.kind == "csrf" and self.command == "GET"):
            return self.fail(fault)
        lost = fault is not None
        if path.startswith("/static/"):
            return self.file(ROOT / path.lstrip("/"))
        if path.startswith(("/c/", "/checks/")):
            return self.clip(path)
        if path.startswith("/api/"):
            return self.api(path, body, lost=lost)
        return self.page(path, body)

    def fail(self, fault: Fault) -> None:
        if fault.kind == "drop":
            self.close_connection = True
            self.connection.close()
        elif fault.kind == "csrf":
            self.send(403, b"<h1>Please load the page again</h1>", "text/html")
        else:
            broken = {"error": "broken", "message": "", "state": None}
            reply = broken if fault.body is None else fault.body
            self.send(int(fault.kind), json.dumps(reply).encode(), "application/json")

    def api(self, path: str, body: dict[str, Any], *, lost: bool) -> None:
        if "/s/lost/" in path:
            reply: dict[str, Any] = {"error": "unknown_session", "message": "", "state": None}
            return self.send(404, json.dumps(reply).encode(), "application/json")
        if self.command == "POST" and not self.headers.get("X-CSRFToken"):
            return self.send(403, b"<h1>csrf</h1>", "text/html")
        status = 200
        if path.endswith("/answers/"):
            status, reply = self.house.answer(body)
        elif (form := self.house.form(path, body)) is not None:
            status, reply = form
        else:
            if path.endswith("/checks/"):
                self.house.checked[body["key"]] = body["answer"]
            elif path.endswith("/skips/"):
                self.house.skips.append(body)
                self.house.skipped.add(body["trial"])
            elif path.endswith("/comments/"):
                self.house.comments.append(body["text"])
            elif path.endswith("/withdraw/"):
                self.house.withdrawn = True
                self.house.stored.clear()
            reply = self.house.state()
        if lost:
            self.close_connection = True
            self.connection.close()
        else:
            self.send(status, json.dumps(reply).encode(), "application/json")

    def page(self, path: str, body: dict[str, Any]) -> None:
        if path == "/favicon.ico":
            return self.send(404, b"", "text/plain")
        if path.startswith("/r/") and self.command == "POST" and body.get("consent") == "yes":
            return self.send(302, b"", "text/html", Location="/s/demo/")
        if path.startswith("/r/"):
            context = {**landing_context(), **self.house.landing}
            context["study"] |= {"language": self.house.language}
            return self.html("rater/landing.html", context)
        if path.startswith("/s/demo"):
            state = self.house.state()
            if self.house.preview:
                stages = [{"stage": "trial"}]
                if state["check"]:
                    stages.insert(0, {"stage": "check", "check": state["check"]})
                state |= {"preview": True, "preview_trials": self.house.upcoming()}
                state |= {"preview_stages": stages, "preview_end": self.house.end()}
            return self.html("rater/session.html", {"state": state, "tasks": state["tasks"]})
        name = path.strip("/").replace("/", "_") or "404"
        known = {"problem": "rater/problem.html", "lost": "rater/lost.html"}
        template = known.get(name, f"{name}.html" if name in ("500", "403_csrf") else "404.html")
        return self.html(template, {}, 404)

    def html(self, template: str, context: dict[str, Any], status: int = 200) -> None:
        request = RequestFactory().get(self.path)
        get_token(request)
        with speaking(self.house.language):
            words = page_words(self.house.language)
            text = render_to_string(template, words | context, request=request)
        self.send(status, text.encode(), "text/html; charset=utf-8")

    def file(self, path: Path) -> None:
        if not path.is_file():
            return self.send(404, b"", "text/plain")
        kind = "text/javascript" if path.suffix == ".js" else mimetypes.guess_type(path)[0]
        return self.send(200, path.read_bytes(), kind or "application/octet-stream")

    def clip(self, path: str) -> None:
        """A clip, whole or a range."""
        self.house.clip_requests.append(path)
        key = path.rsplit("/", 1)[-1]
        data = tone(4.0, 180.0) if path.startswith("/checks/") else self.house.story.clips.get(key)
        if data is None:
            return self.send(404, b"", "text/plain")
        wanted = self.headers.get("Range")
        if wanted:
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            start, stop = int(first), int(last) + 1 if last else len(data)
            span = f"bytes {start}-{stop - 1}/{len(data)}"
            more = {"Content-Range": span, "Accept-Ranges": "bytes"}
            return self.send(206, data[start:stop], "audio/wav", **more)
        return self.send(200, data, "audio/wav", **{"Accept-Ranges": "bytes"})

    def send(self, status: int, body: bytes, kind: str, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", POLICY)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(self.hesitate(body))

    def hesitate(self, body: bytes) -> bytes:
        """What is left of a clip that is held back, when it may come; else all."""
        released = self.house.held.get(urlsplit(self.path).path)
        at = len(body) // 2 if released else 0
        self.wfile.write(body[:at])
        while released and not released.wait(0.5):  # a byte at a time: the page must not give up
            self.wfile.write(body[at : at + 1])
            at += 1
        return body[at:]


def landing_context() -> dict[str, Any]:
    return {
        "study": {"title": "How do these voices sound?", "language": "en", "contact": ""},
        "welcome_paragraphs": ["You will hear short clips of read speech and rate them."],
        "consent_paragraphs": ["We keep your answers under a random code.", "You may stop."],
        "problem": "",
        "error": "",
        "minutes": 12,
        "screens": 18,
        "headphones": "may",
        "arrival": {"PROLIFIC_PID": "5f0c", "STUDY_ID": "s1", "SESSION_ID": "x1"},
    }


class QuietServer(ThreadingHTTPServer):
    """A browser that goes away in the middle of a clip is no error."""

    daemon_threads = True
    request_queue_size = 128  # a page asks for all its modules at once

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Quiet."""


class FakeServer:
    """The house behind a port of this machine, for as long as the with-block lasts."""

    def __init__(self, house: House, port: int = 0) -> None:
        handler = type("BoundHandler", (Handler,), {"house": house})
        self.house = house
        self.server = QuietServer(("127.0.0.1", port), handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> FakeServer:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.server.shutdown()
        self.server.server_close()
