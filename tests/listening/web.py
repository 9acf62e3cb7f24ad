"""The real web process on the test database: for tests that go through pages, clips and sockets."""

import contextlib
import os
import signal
import subprocess
from urllib.parse import quote

import httpx
from django.conf import settings
from django.db import connection

from config.run.supervisor import web_command
from tests.config.helpers import PATIENCE_S, free_port, wait_for


def database_url() -> str:
    given = connection.settings_dict  # names the test database by now
    host, port = given["HOST"], f":{given['PORT']}" if given.get("PORT") else ""
    user = quote(given["USER"]) + (f":{quote(given['PASSWORD'])}" if given["PASSWORD"] else "")
    return f"postgresql://{user}@{quote(host, safe='')}{port}/{given['NAME']}"


class WebProcess:
    """Granian with pages, clips and WebSockets, as in production; it can be stopped and started."""

    def __init__(self, **environment: str) -> None:
        self.environment = environment
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        environment = os.environ | {
            "DJANGO_SETTINGS_MODULE": "tests.web_settings",
            "DATABASE_URL": database_url(),
            "MEDIA_STORE": str(settings.MEDIA_ROOT),
            "EARNEST_VAR": str(settings.EARNEST_VAR),
            "EARNEST_PORT": str(self.port),
            "EARNEST_DEBUG": "1",
            **self.environment,
        }
        self.process = subprocess.Popen(
            web_command("127.0.0.1", self.port, 1, "config.web:application"),
            cwd=settings.BASE_DIR,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        with httpx.Client(base_url=self.url) as client:
            wait_for(lambda: self._answers(client))

    def _answers(self, client: httpx.Client) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, "the web process ended"
        with contextlib.suppress(httpx.HTTPError):
            return client.get("/readyz").status_code == 200
        return False

    def stop(self) -> None:
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process = None

    def __enter__(self) -> "WebProcess":
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
