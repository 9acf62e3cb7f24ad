"""A wrong variable stops the start with a sentence that names it and says what is expected."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.config.helpers import BASE_DIR, PATIENCE_S

SHOW = """
import json
from config import settings as s
names = ["ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS", "SESSION_COOKIE_SECURE", "DATABASES", "STORAGES",
         "CELERY_BROKER_URL", "CELERY_BROKER_TRANSPORT_OPTIONS", "CACHES", "CHANNEL_LAYERS",
         "SECRET_KEY", "EARNEST_PUBLIC_URL"]
print(json.dumps({name: getattr(s, name) for name in names} | {
    "EMBEDDED": [server.name for server in s.EMBEDDED]}))
"""


def start(var: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("EARNEST_", "DJANGO_"))}
    names = ("DATABASE_URL", "REDIS_URL", "BROKER_URL", "MEDIA_STORE", "MEDIA_ACCEL_PREFIX")
    clean = {k: v for k, v in clean.items() if k not in names}
    return subprocess.run(
        [sys.executable, *command],
        cwd=BASE_DIR,
        env=clean | {"EARNEST_VAR": str(var), **variables},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


def read(var: Path, **variables: str) -> dict[str, Any]:
    done = start(var, "-c", SHOW, **variables)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


WRONG = {
    "EARNEST_PORT": ("eighty", "a whole number from 1 to 65535"),
    "EARNEST_DEBUG": ("perhaps", "1 (on) or 0 (off)"),
    "EARNEST_PUBLIC_URL": ("listen.example.org", "https://listen.example.org"),
    "EARNEST_HOST": ("0.0.0.0", "set EARNEST_PUBLIC_URL"),
    "DATABASE_URL": ("sqlite:///db", "postgresql://user:pw@host:5432/name"),
    "REDIS_URL": ("localhost", "redis://host:6379/0"),
    "BROKER_URL": ("http://host", "amqp://user:password@host:5672/vhost"),
    "EARNEST_SCORING_SHARDS": ("0", "a whole number from 1 to 1024"),
    "EARNEST_METRIC_PRECISION": ("fp16", "float32 or tf32 or bf16"),
    "MEDIA_STORE": ("ftp://host/folder", "s3://bucket/prefix"),
    "MEDIA_ACCEL_PREFIX": ("clips", "start and end with a slash"),
    "EARNEST_FILE_GROUP": ("no-such-group", "no group of that name"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_named_with_what_is_expected(tmp_path: Path, name: str):
    value, expected = WRONG[name]
    done = start(tmp_path, "manage.py", "check", **{name: value})
    assert done.returncode == 1
    assert done.stderr.startswith(f"Earnest cannot start. {name} ")
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_path_in_the_public_url_is_refused(tmp_path: Path):
    done = start(tmp_path, "manage.py", "check", EARNEST_PUBLIC_URL="https://example.org/sub")
    assert "scheme, host and maybe port only" in done.stderr


@pytest.mark.medium
def test_a_folder_that_is_a_file_is_refused(tmp_path: Path):
    (tmp_path / "file").write_text("")
    done = start(tmp_path / "file", "manage.py", "check")
    assert done.returncode == 1
    assert "EARNEST_VAR" in done.stderr
    assert "this is a file" in done.stderr


@pytest.mark.slow
def test_a_password_in_a_wrong_url_is_not_repeated(tmp_path: Path):
    done = start(tmp_path, "manage.py", "check", DATABASE_URL="mysql://me:geheim@host/name")
    assert "DATABASE_URL" in done.stderr
    assert "geheim" not in done.stderr


@pytest.mark.medium
def test_without_urls_both_servers_are_embedded_below_the_folder(tmp_path: Path):
    found = read(tmp_path)
    assert found["EMBEDDED"] == ["postgres", "valkey"]
    assert found["EARNEST_PUBLIC_URL"] == "http://127.0.0.1:8000"
    assert found["DATABASES"]["default"]["CONN_MAX_AGE"] is None
    assert not found["SESSION_COOKIE_SECURE"]


@pytest.mark.slow
def test_urls_switch_to_real_servers_without_code_change(tmp_path: Path):
    found = read(
        tmp_path,
        DATABASE_URL="postgresql://me:p%40ss@db.example.org:6432/listen?sslmode=require&connect_timeout=3",
        REDIS_URL="rediss://:key@cache.example.org:6380/4",
        MEDIA_STORE="s3://clips/live",
        EARNEST_PUBLIC_URL="https://listen.example.org",
    )
    assert found["EMBEDDED"] == []
    database = found["DATABASES"]["default"]
    assert (database["HOST"], database["PORT"]) == ("db.example.org", 6432)
    assert database["PASSWORD"] == "p@ss"
    options = database["OPTIONS"]  # who waits for a server that vanished hears of it
    assert (options["sslmode"], int(options["connect_timeout"])) == ("require", 3)
    assert options["tcp_user_timeout"] <= 20_000
    assert found["CELERY_BROKER_URL"].endswith("/4")
    assert found["CACHES"]["default"]["LOCATION"].endswith("/5")
    assert found["CHANNEL_LAYERS"]["default"]["CONFIG"]["hosts"][0].endswith("/6")
    assert found["STORAGES"]["default"]["OPTIONS"]["bucket_name"] == "clips"
    assert found["SESSION_COOKIE_SECURE"]
    assert "listen.example.org" in found["ALLOWED_HOSTS"]
    assert found["CSRF_TRUSTED_ORIGINS"] == ["https://listen.example.org"]


@pytest.mark.slow
def test_the_broker_may_be_rabbitmq_with_the_cache_where_it_was(tmp_path: Path):
    found = read(tmp_path, BROKER_URL="amqp://me:pw@queue.example.org:5672/earnest")
    assert found["CELERY_BROKER_URL"] == "amqp://me:pw@queue.example.org:5672/earnest"
    assert found["CELERY_BROKER_TRANSPORT_OPTIONS"] == {}  # what it knows is Redis' only
    assert found["EMBEDDED"] == ["postgres", "valkey"]
    usual = read(tmp_path)
    assert usual["CELERY_BROKER_URL"].startswith("redis+socket://")
    assert usual["CELERY_BROKER_TRANSPORT_OPTIONS"]["visibility_timeout"] == 1800


@pytest.mark.slow
@pytest.mark.parametrize("form", ["{}", "file://{}"])
def test_clips_may_live_in_another_folder(tmp_path: Path, form: str):
    found = read(tmp_path, MEDIA_STORE=form.format(tmp_path / "other clips"))
    assert found["STORAGES"]["default"]["OPTIONS"]["location"] == str(tmp_path / "other clips")


@pytest.mark.slow
def test_the_key_is_random_per_folder_and_stays(tmp_path: Path):
    first, again = read(tmp_path / "a"), read(tmp_path / "a")
    other = read(tmp_path / "b")
    assert first["SECRET_KEY"] == again["SECRET_KEY"] != other["SECRET_KEY"]
    assert len(first["SECRET_KEY"]) >= 50
    assert (tmp_path / "a" / "secret_key").stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_processes_that_start_together_agree_on_the_key(tmp_path: Path):
    code = "from pathlib import Path; import sys; from config.environment import kept_secret\n"
    code += "print(kept_secret(Path(sys.argv[1])))"
    command = [sys.executable, "-c", code, str(tmp_path / "key")]
    started = [
        subprocess.Popen(command, cwd=BASE_DIR, stdout=subprocess.PIPE, text=True) for _ in range(6)
    ]
    assert len({process.communicate(timeout=PATIENCE_S)[0] for process in started}) == 1


@pytest.mark.slow
def test_a_damaged_key_file_is_not_used(tmp_path: Path):
    (tmp_path / "secret_key").write_text("short")
    done = start(tmp_path, "manage.py", "check")
    assert done.returncode == 1
    assert "secret_key is damaged" in done.stderr


@pytest.mark.slow
def test_offline_holds_for_packages_that_fetch_on_their_own(tmp_path):
    show = "import os, config.settings; print(os.environ.get('HF_HUB_OFFLINE'))"
    told = [start(tmp_path, "-c", show, EARNEST_OFFLINE=to).stdout.strip() for to in ("1", "0")]
    assert told == ["1", os.environ.get("HF_HUB_OFFLINE", "None")]
