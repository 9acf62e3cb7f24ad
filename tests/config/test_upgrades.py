"""A house of an earlier version comes up to date with all that it holds, also from a backup."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.postgres.fields import ArrayField
from django.core.management import call_command
from django.db import connection, models
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from config.backups.database_move import connected_to
from tests.config.helpers import own_folder

FIRST = [  # before the first migration that changes rows
    *(
        ("auth", "0012_alter_user_first_name_max_length"),
        ("listening", "0005_own_words_in_languages"),
    ),
    *(("analysis", "0002_runs_and_files"), ("metrics", "0001_metric_scores")),
]
PLAIN = "5f0000000000000000000001"


class Filler:
    """Makes one row of each model of an earlier state, with what its fields cannot do without."""

    def __init__(self, apps: Any) -> None:
        self.apps, self.made = apps, {}  # type: ignore[var-annotated]

    def row(self, name: str, **given: Any) -> Any:
        if name not in self.made:
            model = self.apps.get_model(name)
            fields = [f for f in model._meta.concrete_fields if f.name not in given]
            values = {f.name: self.value(f) for f in fields if self.is_needed(f)}
            self.made[name] = model._base_manager.create(**values, **given)
        return self.made[name]

    @staticmethod
    def is_needed(field: Any) -> bool:
        optional = field.null or field.has_default() or field.primary_key
        return not optional and not getattr(field, "auto_now_add", False)

    def value(self, field: Any) -> Any:
        if field.is_relation:
            return self.row(field.related_model._meta.label)
        kinds = (
            (models.DateTimeField, timezone.now()),
            (models.BooleanField, False),
            (models.FloatField, 1.0),
            (models.IntegerField, 1),
            (models.DurationField, timedelta(seconds=1)),
            (models.JSONField, {}),
            (models.BinaryField, b"x"),
            (ArrayField, [1]),
        )
        of_kind = [value for kind, value in kinds if isinstance(field, kind)]
        return of_kind[0] if of_kind else (field.choices[0][0] if field.choices else field.name[:8])


@pytest.fixture
def empty_database(transactional_db: None) -> Iterator[str]:
    """One beside the tests' own, to which Django's connection leads."""
    name = f"{connection.settings_dict['NAME']}_old"
    with connection.creation._nodb_cursor() as cursor:
        cursor.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
    with connected_to({"NAME": name}):
        yield name
    with connection.creation._nodb_cursor() as cursor:
        cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def counted() -> dict[str, int]:
    names = [n for n in connection.introspection.table_names() if not n.startswith("django_")]
    with connection.cursor() as cursor:
        found = {}
        for name in names:
            cursor.execute(f'SELECT count(*) FROM "{name}"')
            found[name] = cursor.fetchone()[0]
    return found


def fill(apps: Any) -> None:
    """One row of every model of the rooms, and what later migrations change."""
    filler = Filler(apps)
    filler.row("listening.Rater", prolific_id=PLAIN)
    filler.row("listening.Slot", replicate=0)
    filler.row("listening.Session", prolific_session="a session", prolific_study="a study")
    filler.row("analysis.AnalysisRun", state="stale", result="", error="")
    filler.row("analysis.RunFile", error="")
    for label in ("listening", "metrics", "analysis"):
        for model in apps.get_app_config(label).get_models():
            filler.row(model._meta.label)


@pytest.mark.soak
def test_an_old_house_and_its_backup_come_up_to_date(
    empty_database: str, settings: Any, monkeypatch: pytest.MonkeyPatch
):
    with own_folder() as var:
        settings.EARNEST_VAR = var
        (var / "secret_key").write_text(settings.SECRET_KEY)
        location = {"OPTIONS": {"location": str(var / "media")}}
        storage = {"BACKEND": "django.core.files.storage.FileSystemStorage", **location}
        settings.STORAGES = {**settings.STORAGES, "default": storage}
        monkeypatch.setattr("config.backups.restore.cache.clear", lambda: None)
        executor = MigrationExecutor(connection)
        executor.migrate(FIRST)
        fill(executor.loader.project_state(FIRST).apps)
        before = counted()
        call_command("backup", str(var / "old.tar"))
        call_command("migrate", verbosity=0)
        is_up_to_date(before)
        call_command("restore", str(var / "old.tar"), replace=True)
        is_up_to_date(before)


def is_up_to_date(before: dict[str, int]) -> None:
    from analysis.models import AnalysisRun
    from listening.models import Rater, Session, Trial

    after, filled = counted(), {name for name, count in before.items() if count}
    assert {name: after.get(name) for name in filled} == {name: before[name] for name in filled}
    assert len(filled) > 15
    assert Rater.objects.get().prolific_id == PLAIN
    session = Session.objects.get()
    assert (session.prolific_session, session.prolific_study) == ("a session", "a study")
    with connection.cursor() as cursor:
        cursor.execute("SELECT prolific_id FROM listening_rater")
        assert PLAIN not in cursor.fetchone()[0]  # it is sealed now
    assert Trial.objects.get().fetched == -1  # a browser may hold its clips already
    run = AnalysisRun.objects.get()
    assert (run.raters_gone, run.stale_because) == (1, "raters")
