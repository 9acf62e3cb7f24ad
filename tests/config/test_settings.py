"""A wrong variable stops the start with a sentence that names it and says what is expected."""

import contextlib
import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config import environment, variables
from config.run import commands, embedded_servers, running_instance, supervisor
from config.run.shared_server import Use
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


# Any text is right for these: secrets, names, addresses of mail. A new such setting goes here.
FREE = {"EARNEST_JUDGE_MODEL", "EARNEST_JUDGE_KEY", "EARNEST_METRICS_TOKEN", "MEDIA_STORE"}
FREE |= {"EARNEST_MAIL_FROM", "EARNEST_FILE_GROUP", "EARNEST_OIDC", "EARNEST_TOKEN"}
READ = [v.name for v in variables.TABLE if v.of in (variables.SERVER, variables.CLIENT)]
READ = [name for name in READ if name not in FREE and not name.startswith("EARNEST_OIDC_")]


@pytest.mark.parametrize("name", READ)
def test_a_value_that_no_setting_can_have_is_named(name: str, tmp_path: Path):
    (tmp_path / "file").touch()
    given = {name: str(tmp_path / "file") + " ?"}
    if name in ("EARNEST_VAR", "EARNEST_MODELS", "EARNEST_RUBRICS"):
        given = {name: str(tmp_path / "file")}  # no folder
    with pytest.raises(ImproperlyConfigured, match=rf"^{name} (is|may) .*[.)]$"):
        variables.Variables(given)[name]


@pytest.mark.parametrize("value", ["~no-such-account/x", "x" * 300])
@pytest.mark.parametrize("name", ["EARNEST_VAR", "EARNEST_MODELS"])
def test_a_path_that_no_folder_can_have_is_named(name: str, value: str):
    with pytest.raises(ImproperlyConfigured, match=rf"^{name} is .*(no account|no path)[^\n]*\.$"):
        variables.Variables({name: value})[name]
    with pytest.raises(ImproperlyConfigured, match=r"^MEDIA_STORE is "):
        environment.media_storage(value, 0o600, 0o700)


@pytest.mark.parametrize("value", ["lab.mos", "lab.mos, lab.asr,", " a,b "])
def test_modules_of_metrics_stand_between_commas(value: str):
    name = "EARNEST_METRIC_MODULES"
    assert variables.Variables({name: value})[name] == value.strip()
    with pytest.raises(ImproperlyConfigured, match=name):  # at once, however long it is
        variables.Variables({name: "a" * 3000 + "?"})[name]
    with pytest.raises(ImproperlyConfigured, match=name):
        variables.Variables({name: "a b"})[name]


MORE = {
    "EARNEST_PUBLIC_URL": ("https://example.org/a?b=c", "host, and maybe port and path"),
    "EARNEST_JUDGE_BUDGET": ("20", "set EARNEST_JUDGE_PRICES"),
    "EARNEST_JUDGE_PRICES": ("1", "IN,OUT"),
    "EARNEST_SENTRY_DSN": ("https://sentry.example.org", "https://KEY@sentry.example.org/1"),
    "EARNEST_MAIL": ("smtp://mail.example.org", "EARNEST_MAIL_FROM is ''"),
    "EARNEST_POTR": ("8000", "EARNEST_POTR is not a setting .*did you mean EARNEST_PORT"),
    "EARNEST_STRANGE": ("1", "EARNEST_STRANGE is not a setting .*docs/running.md"),
    "EARNEST_OIDC_UNI_ISSUER": ("https://a", "EARNEST_OIDC names no provider"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MORE)
def test_what_does_not_fit_together_stops_the_start_in_a_sentence(tmp_path: Path, name: str):
    value, expected = MORE[name]
    done = start(tmp_path, "manage.py", "check", **{name: value})
    assert done.returncode == 1
    assert re.match(rf"Earnest cannot start\. [^\n]*{expected}[^\n]*\n$", done.stderr), done.stderr


def no_space(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_key_that_a_full_disk_refuses_is_a_sentence_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(environment.os, "link", no_space)
    with pytest.raises(ImproperlyConfigured, match=r"secret_key cannot be written: No space left"):
        environment.kept_secret(tmp_path / "secret_key")
    assert list(tmp_path.iterdir()) == []


def test_a_first_start_on_a_disk_that_is_too_small_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        embedded_servers.shutil, "disk_usage", lambda path: SimpleNamespace(free=2**20)
    )
    with pytest.raises(
        embedded_servers.EmbeddedError, match=r"has 1 MB of free space, .* EARNEST_VAR to"
    ):
        Use(tmp_path, embedded_servers.POSTGRES).ensure_kept()
    (tmp_path / "postgres" / "data").mkdir(parents=True)
    embedded_servers.check_space(
        embedded_servers.POSTGRES, tmp_path
    )  # a later start waits for space
    embedded_servers.check_space(embedded_servers.VALKEY, tmp_path)


@pytest.mark.parametrize("start", [supervisor.main, commands.main])
def test_a_disk_that_fills_up_during_a_start_is_a_sentence(
    start: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(supervisor, "Supervisor", no_space)
    monkeypatch.setattr(running_instance, "follow", no_space)
    monkeypatch.setattr(sys, "argv", ["manage.py", "study_status"])
    try:
        said = capsys.readouterr().err if start() else ""
    except SystemExit as ended:
        said = str(ended.code)
    assert re.match(r"Earnest cannot start\. .* cannot be written: No space left .*\.\s*$", said)


def test_names_that_a_cluster_adds_are_no_settings():
    added = {"EARNEST_WEB_SERVICE_HOST": "10.0.0.1", "EARNEST_WEB_PORT": "tcp://10.0.0.1:80"}
    added |= {"EARNEST_WEB_PORT_80_TCP_ADDR": "10.0.0.1", "EARNEST_WEB_SERVICE_PORT_HTTP": "80"}
    variables.check_names(added | {"EARNEST_PORT_FILE": "/run/port", "PATH": "/bin"})


@pytest.mark.medium
def test_every_setting_that_is_read_anywhere_is_in_the_table():
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=BASE_DIR, capture_output=True, text=True, check=True
    )
    read: dict[str, str] = {}
    for name in tracked.stdout.splitlines():
        if not name.startswith(("docs/adr/", "tests/config/test_settings.py", "CHANGELOG")):
            with contextlib.suppress(UnicodeDecodeError, FileNotFoundError):
                text = (BASE_DIR / name).read_text("utf-8")
                read |= dict.fromkeys(re.findall(r"\bEARNEST_[A-Z0-9_]+\b(?!…)", text), name)
    unknown = {name: file for name, file in read.items() if not hasattr(settings, name)}
    for name, file in unknown.items():
        known = name.removesuffix("_FILE") in variables.BY_NAME or name.startswith("EARNEST_OIDC_")
        assert known, f"{name} in {file} is not in config/variables.py"


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
    assert "-c tcp_keepalives_idle=5" in options["options"]  # nor are locks of lost hosts held
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
