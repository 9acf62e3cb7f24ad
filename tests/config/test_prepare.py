"""The start names the study that raters enter, and prepares again only what may have changed."""

import importlib
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.contrib.auth import get_user_model
from django.db import connection
from django.urls import reverse

from config.run import preparation
from config.run.preparation import rater_entry
from listening.models import Study

pytestmark = [pytest.mark.django_db]


def study(key: str, state: str, day: int) -> Study:
    opened = datetime(2026, 1, day, tzinfo=UTC)
    owner, _ = get_user_model().objects.get_or_create(username="ada")
    facts = {"key": key, "title": key, "state": state, "opened_at": opened}
    made: Study = Study.objects.create(owner=owner, **facts)
    return made


def test_without_an_open_study_raters_get_the_front_page():
    study("closed", Study.State.CLOSED, 1)
    assert rater_entry() == {"path": "/", "study": ""}


def test_of_several_open_studies_the_newest_is_named():
    study("older", Study.State.OPEN, 1)
    newest = study("newest", Study.State.OPEN, 3)
    study("middle", Study.State.OPEN, 2)
    study("closed", Study.State.CLOSED, 4)
    assert rater_entry() == {"path": f"/r/{newest.link}/", "study": "newest"}


@pytest.mark.parametrize("left_by_a_kill", [None, "", "user: researcher\n"])
def test_a_first_login_that_was_cut_off_is_made_again(
    settings: LazySettings, tmp_path: Path, left_by_a_kill: str | None
):
    settings.EARNEST_VAR = tmp_path
    if left_by_a_kill is not None:
        preparation.login_file().write_text(left_by_a_kill)
    preparation.ensure_researcher()
    user = get_user_model().objects.get(username=preparation.RESEARCHER)
    password = preparation.login_file().read_text().split("password: ")[1].strip()
    assert user.check_password(password)
    assert preparation.login_file().stat().st_mode & 0o777 == 0o600


# --- What need not be prepared again -------------------------------------------------------------


@pytest.fixture
def left(settings: LazySettings, tmp_path: Path) -> None:
    """A start has prepared this database, with a study."""
    settings.EARNEST_VAR = tmp_path
    get_user_model().objects.create_superuser(username=preparation.RESEARCHER)
    study("first", Study.State.OPEN, 1)
    landing = reverse("landing", args=[preparation.LINK])
    with connection.cursor() as cursor:
        preparation.write_stamp("a fingerprint", preparation.applied_migrations(cursor), landing)


def entry_as_left() -> dict[str, str] | None:
    with connection.cursor() as cursor:
        return preparation.entry_as_left(cursor)


def test_a_database_as_it_was_left_names_the_same_study_as_a_preparation(left: None):
    study("newest", Study.State.OPEN, 3)
    assert entry_as_left() == rater_entry()
    Study.objects.update(state=Study.State.CLOSED)
    assert entry_as_left() == rater_entry() == {"path": "/", "study": ""}


def forget_a_migration() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM django_migrations WHERE id = (SELECT max(id) FROM django_migrations)"
        )


CHANGES: dict[str, Callable[[], object]] = {
    "a migration is missing": forget_a_migration,
    "nobody can log in": lambda: get_user_model().objects.exclude(username="ada").delete(),
    "there is no study for the demo": lambda: Study.objects.all().delete(),
    "no start has ended well": lambda: preparation.stamp_file().unlink(),
    "its note is damaged": lambda: preparation.stamp_file().write_text("{"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_database_that_may_need_it_is_prepared(left: None, change: Callable[[], object]):
    change()
    assert entry_as_left() is None


def test_tables_of_a_newer_version_are_left_alone(tmp_path: Path, capsys):
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO django_migrations VALUES (9999, 'rest', '9999_later', now())")
    assert preparation.main(tmp_path / "prepared.json") == preparation.REFUSED_STATUS
    assert capsys.readouterr().out.endswith(
        "does not know rest.9999_later. Update Earnest, then try again.\n"
    )


def test_a_package_that_is_missing_is_named(tmp_path: Path, capsys, monkeypatch):
    def prepare(*_: object) -> None:
        importlib.import_module("no_such_package")

    monkeypatch.setattr(preparation, "prepare", prepare)
    assert preparation.main(tmp_path / "prepared.json") == preparation.REFUSED_STATUS
    assert "The package no_such_package is missing." in capsys.readouterr().out


@pytest.fixture
def code(settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small house of files, prepared by a start."""
    monkeypatch.setattr(preparation, "CODE", tmp_path)
    for name in (*preparation.ROOMS, "static/js", "made"):
        (tmp_path / name).mkdir(parents=True)
    settings.EARNEST_VAR, settings.STATIC_ROOT = tmp_path, tmp_path / "made"
    settings.STATICFILES_DIRS = [tmp_path / "static"]
    for name in (
        "config/web.py",
        "static/js/page.js",
        *(f"made/{each}" for each in preparation.MADE),
    ):
        (tmp_path / name).write_text("old")
    preparation.write_stamp(preparation.start_fingerprint(), [], "")
    return tmp_path


def as_left() -> bool:
    return preparation.is_as_left(preparation.start_fingerprint())


def test_what_has_not_changed_is_as_left(code: Path):
    (code / "config" / "__pycache__").mkdir()
    (code / "config" / "__pycache__" / "web.pyc").write_text("made by Python")
    assert as_left()


@pytest.mark.parametrize("name", ["config/web.py", "static/js/page.js", "rest/new.py"])
def test_changed_and_new_files_are_seen(code: Path, name: str):
    (code / name).write_text("new")
    os.utime(code / name, (1, 1))
    assert not as_left()


def test_changed_settings_are_seen(code: Path, settings: LazySettings):
    settings.EARNEST_MAX_UPLOAD_BYTES = 5
    assert not as_left()


def test_other_packages_are_seen(code: Path, monkeypatch: pytest.MonkeyPatch):
    (code / "site" / "django-9.dist-info").mkdir(parents=True)
    monkeypatch.syspath_prepend(code / "site")
    assert not as_left()


def test_a_cleared_folder_of_static_files_is_seen(code: Path):
    (code / "made" / preparation.MADE[0]).unlink()
    assert not as_left()


def test_an_editors_lock_in_the_code_stops_no_start(tmp_path):
    (tmp_path / ".#page.css").symlink_to("somebody@somewhere.1234")
    (tmp_path / "page.css").write_text("body {}")
    assert [Path(found.split()[0]).name for found in preparation._files(str(tmp_path))] == [
        "page.css"
    ]
