"""A receiver of messages that runs, and what the beat does, for tests of messages."""

import re
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from listening.models import Block, Channel, Delivery, Study
from listening.notifications import channels, sending
from listening.notifications.kinds import KINDS
from tests.factories import answer_all, arrive, make_user

MAIL_KEPT = {"backend": "django.core.mail.backends.locmem.EmailBackend"}


class MessageReceiver(ThreadingHTTPServer):
    """A receiver: keeps what came, and answers what it is told to."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Receiver)
        self.came: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[tuple[int, dict[str, str]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook"


class Receiver(BaseHTTPRequestHandler):
    server: MessageReceiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.came.append(({k.lower(): v for k, v in self.headers.items()}, body))
        status, headers = self.server.answers.pop(0) if self.server.answers else (204, {})
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


def channel_to(url: str, kind: str = "webhook", *, user=None, events=tuple(KINDS)) -> Channel:
    """One that is told of everything of all its owner's studies."""
    made = channels.add_channel(user or make_user(), kind, "", url)
    channels.choose(made, events)
    return made


def tell() -> list[str]:
    """What the beat does every 30 seconds; the states of what was tried."""
    sending.dispatch()
    return [sending.deliver(pk) for pk in sending.due_deliveries()]


def fill(study: Study) -> None:
    while Block.objects.filter(task__study=study, state=0).exists():
        answer_all(arrive(study))


def later(**by: float) -> None:
    """Everything that has happened is so much longer ago."""
    gone = timedelta(**by)
    for row in Delivery.objects.all():
        Delivery.objects.filter(pk=row.pk).update(
            created_at=row.created_at - gone, next_at=row.next_at - gone
        )


def verify(secret: str, headers: dict[str, str], body: bytes) -> None:
    """By the lines that the guide gives to who receives webhooks."""
    guide = (Path(__file__).parents[2] / "docs/researcher-guide.md").read_text()
    (code,) = re.findall(r"```python\n(import base64.*?)```", guide, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["verified"](secret, headers, body)
    assert not names["verified"](secret, headers, body + b" ")


class Killed(BaseException):
    """Nothing catches it, as nothing catches a signal."""


def killed(*args: object, **options: object) -> None:
    raise Killed
