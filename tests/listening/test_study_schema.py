"""The schema of study.toml, as a file for editors, and what else is declared by it."""

import dataclasses
import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from listening.design.studyfile.entries import OUTCOMES, ConditionEntry, StudyFile, TaskEntry
from listening.design.studyfile.reader import fields_of
from listening.design.studyfile.schema import (
    TABLES,
    Codes,
    Condition,
    Study,
    Task,
    json_schema,
    label_at,
    own,
)
from tests.listening.folders import TOML

ROOT = Path(__file__).resolve().parents[2]
STUDIES = sorted((ROOT / "demo").rglob("study.toml"))


@cache
def validator() -> Any:
    import jsonschema  # half a second

    return jsonschema.Draft202012Validator(json_schema())


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.parent.name)
def test_editors_find_no_mistake_in_the_studies_that_come_with_earnest(path):
    validator().validate(tomllib.loads(path.read_text("utf-8")))


@pytest.mark.parametrize(
    ("way", "name", "value"),
    [
        (["tasks", 0], "blok_size", 3),
        (["study"], "lease_minutes", -1),
        (["tasks", 0], "method", "moss"),
        (["study"], "language", "english!"),
        (["study"], "erase_reasons", "yes"),
    ],
)
def test_editors_mark_what_the_import_refuses(way, name, value):
    table = top = tomllib.loads(TOML)
    for each in way:
        table = table[each]
    table[name] = value
    (error,) = validator().iter_errors(top)
    assert list(error.absolute_path) in (way, [*way, name])


def test_every_field_says_what_it_is_and_how_it_is_called():
    for path, table in TABLES.items():
        for key, field in table.model_fields.items():
            inside = path.startswith(("study.translations", "tasks.translations")) or path == ""
            nested = field.annotation in TABLES.values() or f"{path}.{key}" in TABLES
            assert field.title, f"{path}.{key}"
            assert field.description or inside or nested or path == "sources.return_urls", key
            assert own(field)["kind"] or nested or f"{path}.{key}.*" in TABLES or path == "", key


@pytest.mark.parametrize(
    ("entry", "table"), [(StudyFile, Study), (ConditionEntry, Condition), (TaskEntry, Task)]
)
def test_a_study_as_objects_has_the_defaults_of_the_schema(entry, table):
    for each in dataclasses.fields(entry):
        field = table.model_fields.get(each.name)
        if field and not field.is_required() and each.default is not dataclasses.MISSING:
            derived = {"ends": "alike", "blocks_per_rater": 1}  # of other fields, where not given
            assert (field.default or each.default) == derived.get(each.name, each.default)
            assert field.default is not None or each.default in (None, *derived.values())


def test_each_outcome_has_its_code():
    assert set(Codes.model_fields) == set(OUTCOMES)
    assert set(fields_of("sources.return_urls")) == {*OUTCOMES, "quota_full"}


@pytest.mark.parametrize(
    ("place", "label"),
    [
        ("study.lease_minutes", "Minutes away until others get the rest"),
        ("tasks[2].traps.kinds[1].count", "Traps in a set"),
        ("tasks[1].options.points", "Highest point"),
        ("study.translations.zh.checks.volume.title", "Further languages"),
        ("nowhere", ""),
    ],
)
def test_the_label_of_a_place_is_that_of_its_innermost_field(place, label):
    assert label_at(place) == label


@pytest.mark.medium
def test_the_address_and_the_command_give_the_same_schema(client, capsys):
    call_command("schema")
    written = json.loads(capsys.readouterr().out)
    response = client.get("/schema/study.json")
    assert response.json() == written == json_schema()
    assert response.headers["Content-Type"] == "application/schema+json"
    assert "public" in response.headers["Cache-Control"]
    again = client.get("/schema/study.json", headers={"If-None-Match": response.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.post("/schema/study.json").status_code == 405


@pytest.mark.medium
def test_a_process_that_reads_no_study_does_not_load_the_schema():
    """Pydantic and the tables take 0.4 s of each start."""
    top = re.compile(r"^(from|import) (pydantic|.*studyfile(\.| import )schema)\b", re.MULTILINE)
    found = {
        path.relative_to(ROOT).as_posix()
        for app in ("config", "listening", "rest", "metrics", "analysis")
        for path in (ROOT / app).rglob("*.py")
        if top.search(path.read_text("utf-8"))
    }
    assert found - {"listening/management/commands/schema.py"} == {
        "listening/design/studyfile/schema.py"
    }
