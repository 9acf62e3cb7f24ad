"""A question of each clip's own: read from stimuli.csv, asked with the clip, checked at import."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from listening.design.studyfile import read_folder
from listening.models import Stimulus, Study
from listening.sessions.task_rules import task_rules
from listening.studies import create_study, open_study
from tests.factories import make_user
from tests.listening.test_studies import kept_in

DEMO = Path(__file__).resolve().parents[2] / "demo"


def folder(tmp_path: Path) -> Path:
    made = tmp_path / "study"
    shutil.copytree(DEMO / "presets" / "intelligibility", made)
    (made / "audio").mkdir()
    for sound in (DEMO / "audio").glob("masked-*"):
        shutil.copy(sound, made / "audio")
    return made


def test_a_clip_without_a_question_is_named(tmp_path: Path) -> None:
    made = folder(tmp_path)
    table = (made / "stimuli.csv").read_text("utf-8")
    (made / "stimuli.csv").write_text(
        table.replace("What is said of the young man?", "", 1), "utf-8"
    )
    (problem,) = map(str, read_folder(made).problems)
    assert "row 2" in problem
    assert "has no question" in problem
    assert "column question" in problem


@pytest.mark.medium
@pytest.mark.django_db
def test_a_clip_brings_its_question_where_its_task_asks_it(tmp_path: Path, settings: Any) -> None:
    settings.STORAGES = kept_in(tmp_path / "media")
    study: Study = create_study(folder(tmp_path), make_user("ada"))
    open_study(study)
    content = study.tasks.get(key="content-question")
    rules = task_rules(content.pk)
    clip = Stimulus.objects.get(study=study, key="masked-human-s0890")
    assert rules.question_of(clip.pk) == "Which two qualities are named?"
    words = task_rules(study.tasks.get(key="in-noise").pk)
    assert words.question_of(clip.pk) == ""
    assert rules.scale_of(rules.criteria[0], clip.pk).labels[0] == "Cold-hearted and selfish"
