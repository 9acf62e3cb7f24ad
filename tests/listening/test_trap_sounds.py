"""Traps that sound like a clip of the same session are drawn last: hearing it again would tell."""

import pytest

from listening.models import Condition, Item, Stimulus, Study
from tests.factories import ATT_TRAPS, arrive, make_stimulus, make_study

pytestmark = pytest.mark.django_db
TASK = {"method": "att", "block_size": 10, "traps": ATT_TRAPS, "ratings_per_stimulus": 6}


def same_sound(study: Study) -> None:
    """Each `human` trap is the same file as the rated clip of one item and the first condition."""
    traps = study.stimuli.filter(trap="human").order_by("pk")
    rated = study.stimuli.filter(condition__key="cond-0").order_by("pk")
    for trap, stimulus in zip(traps, rated, strict=False):
        Stimulus.objects.filter(pk=trap.pk).update(sha256=stimulus.sha256)


def sounds(session) -> list[str]:
    return list(session.trials.order_by("position").values_list("stimulus__sha256", flat=True))


@pytest.mark.medium
def test_a_trap_is_never_the_sound_of_a_rated_clip_beside_it():
    study = make_study(conditions=2, items=10, traps={"flawed": 2, "human": 10}, task=TASK)
    same_sound(study)
    for _ in range(8):
        heard = sounds(arrive(study))
        assert len(heard) == 13
        assert len(set(heard)) == 13


@pytest.mark.medium
def test_a_trap_has_a_sentence_that_its_block_lacks_where_there_is_one():
    study = make_study(conditions=2, items=20, traps={"flawed": 20, "human": 20}, task=TASK)
    items = list(study.items.order_by("pk")[:20])
    for kind in ("flawed", "human"):
        traps = study.stimuli.filter(trap=kind).order_by("pk")
        for trap, item in zip(traps, items, strict=True):
            Stimulus.objects.filter(pk=trap.pk).update(item=item)
    for _ in range(4):
        sentences = arrive(study).trials.values_list("item_id", flat=True)
        assert len(set(sentences)) == len(sentences) == 13


def test_two_blocks_of_one_session_share_no_trap():
    task = {**TASK, "blocks_per_session": 2, "blocks_per_rater": 2}
    study = make_study(conditions=2, items=20, traps={"flawed": 2, "human": 4}, task=task)
    heard = sounds(arrive(study))
    assert len(heard) == 26
    assert len(set(heard)) == 26


def test_where_no_other_trap_is_left_a_known_one_serves():
    study = make_study(conditions=1, items=10, traps={"flawed": 1, "human": 2}, task=TASK)
    same_sound(study)
    session = arrive(study)
    assert session.trials.filter(trap="human").count() == 2


@pytest.mark.medium
def test_the_order_of_traps_is_still_a_matter_of_chance():
    study = make_study(conditions=2, items=10, traps={"flawed": 2, "human": 10}, task=TASK)
    extra = Condition.objects.get(study=study, key="trap")
    make_stimulus(study, extra, Item.objects.create(study=study, key="more"), trap="human")
    drawn = [
        tuple(arrive(study).trials.exclude(trap="").values_list("stimulus_id", flat=True))
        for _ in range(6)
    ]
    assert len(set(drawn)) > 1
