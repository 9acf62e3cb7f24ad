"""The real web process on the test database: for tests that go through pages, clips and sockets."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from urllib.parse import quote

import httpx
from django.conf import settings
from django.db import connection

from config.services import web_command
from tests.config.helpers import free_port, wait_for


def database_url() -> str:
    given = connection.settings_dict  # names the test database by now
    host, port = given["HOST"], f":{given['PORT']}" if given.get("PORT") else ""
    user = quote(given["USER"]) + (f":{quote(given['PASSWORD'])}" if given["PASSWORD"] else "")
    return f"postgresql://{user}@{quote(host, safe='')}{port}/{given['NAME']}"


@contextlib.contextmanager
def web_process() -> Iterator[str]:
    """Granian with pages, clips and WebSockets, as in production; yields its address."""
    port = free_port()
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": database_url(),
        "MEDIA_STORE": str(settings.MEDIA_ROOT),
        "EARNEST_VAR": str(settings.EARNEST_VAR),
        "EARNEST_PORT": str(port),
        "EARNEST_DEBUG": "1",
    }
    command = web_command("127.0.0.1", port, 1, "config.web:application")
    process = subprocess.Popen(
        command,
        cwd=settings.BASE_DIR,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    url = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        assert process.poll() is None, "the web process ended"
        with contextlib.suppress(httpx.HTTPError):
            return httpx.get(f"{url}/healthz").status_code == 200
        return False

    try:
        wait_for(answers)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
