"""Prompts: heard first and called so, never rated, and the reference voice of metrics."""

from __future__ import annotations

from pathlib import Path

import pytest

from listening.design.presets import presets, write_preset
from listening.methods import method_named
from listening.models import Slot, Study, Trial
from listening.selectors.stimuli import stimulus_rows
from listening.sessions.simulated_raters.knowledge import rater_knowledge
from listening.sessions.task_rules import parts_of
from listening.studies import check_study, create_study, open_study
from tests import factories

DEMO = Path(__file__).resolve().parents[2] / "demo"


def opened(name: str, folder: Path) -> Study:
    write_preset(presets(DEMO)[name], DEMO, folder / name)
    study = create_study(folder / name, factories.make_user())
    open_study(study)
    return study


def met(study: Study) -> list[Trial]:
    """All trials of one rater after the other, until each task had some."""
    trials: list[Trial] = []
    tasks = set(study.tasks.values_list("key", flat=True))
    while tasks:
        session = factories.arrive(study)
        trials += session.trials.select_related("task", "stimulus", "versus__condition")
        tasks -= {trial.task.key for trial in trials}
    return trials


@pytest.mark.slow
@pytest.mark.django_db
def test_converted_voices_are_set_against_the_prompt_that_the_task_names(tmp_path: Path) -> None:
    study = opened("voice_conversion", tmp_path)
    prompts = study.stimuli.filter(condition__role="prompt").values_list("pk", flat=True)
    assert not Slot.objects.filter(stimulus__in=prompts).exists()
    for task in study.tasks.filter(method="speaker_similarity"):
        versus = Slot.objects.filter(task=task).values_list("versus__condition__key", flat=True)
        assert set(versus) == {task.options["reference"]}
    for row in stimulus_rows(study.key):
        own = study.stimuli.get(condition__key="target-voice", item__key=row["item"])
        assert row["prompt_sha256"] == own.sha256  # the first of the two conditions with prompts
    said = " ".join(str(each) for each in check_study(study))
    assert "target-voice" not in said  # one prompt may stand before many sentences
    assert rater_knowledge(study)


@pytest.mark.slow
@pytest.mark.django_db
def test_a_trap_is_heard_after_itself_or_after_the_prompt_of_somebody_else(tmp_path: Path) -> None:
    study = opened("voice_cloning", tmp_path)
    of_prompts = [trial for trial in met(study) if trial.task.method == "smos"]
    kinds = {trial.trap for trial in of_prompts}
    assert kinds == {"", "same-recording", "other-speaker"}
    for trial in of_prompts:
        first, second = parts_of(method_named(trial.task.method), trial)
        assert (first.name, first.role, second.name) == ("Prompt", "reference", "Clip")
        assert second.stimulus == trial.stimulus_id
        if trial.trap == "same-recording":
            assert first.stimulus == second.stimulus
            assert trial.expected == ["4", "5"]
        else:
            assert trial.versus is not None
            assert trial.versus.condition.key == "prompt"
            assert first.stimulus == trial.versus_id
