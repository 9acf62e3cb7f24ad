"""Presets in a real Chromium that hears them: from consent over every stage to the code.

Every method and widget, and a study with training, checks and four tasks, are walked in each run;
the presets that hold no more than these, in `make soak`.
"""

from __future__ import annotations

import pytest

from listening.models import Study
from tests.browser.conftest import PHONE
from tests.browser.taken import Take, everything_is_stored


@pytest.mark.soak
def test_att_asks_for_reasons_and_offers_breaks(take: Take) -> None:
    walk, session = take("att")
    everything_is_stored(walk, session)
    assert walk.breaks == 1
    assert all(given.reason for given in walk.answered)
    assert session.trials.filter(trap="human").count() == 2
    assert session.trials.filter(trap="flawed").count() == 1


@pytest.mark.soak
def test_long_form_joins_lines_and_checks_for_headphones(take: Take) -> None:
    walk, session = take("long_form")
    everything_is_stored(walk, session)
    assert len(walk.tasks) == 5
    assert walk.checks["huggins"][0]
    assert session.trials.filter(stimulus__derived=True).count() == 5


@pytest.mark.soak
def test_dialogue_plays_turns_with_what_overlaps_them(take: Take) -> None:
    walk, session = take("dialogue")
    everything_is_stored(walk, session)
    assert {len(given.labels) for given in walk.answered} == {2, 3}
    turns = session.trials.filter(task__key="turns")
    assert {trial.stimulus.channels for trial in turns} == {2}


@pytest.mark.soak
def test_intelligibility_asks_each_clip_its_question(take: Take) -> None:
    walk, session = take("intelligibility")
    everything_is_stored(walk, session)
    asked = {text for given in walk.answered for text in given.questions}
    assert not any("{" in text for text in asked)


@pytest.mark.soak
def test_lfs_compares_long_recordings(take: Take) -> None:
    walk, session = take("lfs")
    everything_is_stored(walk, session)
    assert walk.breaks
    assert session.trials.filter(versus__isnull=False).count() == 1


@pytest.mark.soak
def test_nvv_asks_up_to_five_questions_about_a_clip(take: Take) -> None:
    walk, session = take("nvv")
    everything_is_stored(walk, session)
    assert {len(given.labels) for given in walk.answered} == {5, 3}
    assert session.trials.exclude(trap="").count() == 2
    asked = " ".join(text for given in walk.answered for text in given.questions)
    assert "How convincing is this sound: " in asked
    assert "and no other sound? Asked for: " in asked
    assert "{" not in asked
    kinds = set(session.trials.values_list("item__dimension", flat=True))
    assert any(f"How convincing is this sound: {kind}?" in asked for kind in kinds)


@pytest.mark.soak
def test_mushra_rates_seven_clips_against_a_reference(take: Take) -> None:
    walk, session = take("mushra")
    everything_is_stored(walk, session)
    assert {len(given.labels) for given in walk.answered} == {7}
    assert all(trial.playback["switches"] >= 7 for trial in session.trials.all())


@pytest.mark.soak
def test_mushra_without_a_reference_asks_for_three_scales(take: Take) -> None:
    walk, session = take("mushra_nmr")
    everything_is_stored(walk, session)
    assert {len(given.labels) for given in walk.answered} == {18}
    assert not session.trials.filter(versus__isnull=False).exists()


@pytest.mark.soak
@pytest.mark.parametrize("phone", [False, True])
def test_error_marking_takes_marks_and_says_in_practice_which_word_is_wrong(
    take: Take, phone: bool
) -> None:
    walk, session = take("error_marking", **(PHONE if phone else {}))
    everything_is_stored(walk, session)
    marks = [label for given in walk.answered for label in given.labels.values()]
    assert len(marks) == 5  # practice, three clips, a trap
    assert set(marks) == {"1:mispronounced 2-3:mispronounced"}
    assert "last word stutters" in walk.feedback[0]
    assert session.trials.get(trap="training").trap_passed is False
    assert session.trials.get(trap="glitch").trap_passed is False


@pytest.mark.soak
def test_codec_is_graded_by_mushra_and_by_bs1116(take: Take) -> None:
    walk, session = take("codec")
    everything_is_stored(walk, session)
    assert [len(given.labels) for given in walk.answered] == [8, 2]


@pytest.mark.slow
def test_p808_trains_checks_and_asks_in_four_ways(take: Take) -> None:
    walk, session = take("p808")
    everything_is_stored(walk, session)
    assert len(walk.feedback) == 3
    assert walk.checks.keys() == {"volume", "stereo", "digits_in_noise", "environment"}
    assert [len(given.labels) for given in walk.answered].count(3) == 1


@pytest.mark.slow
def test_a_phone_answers_every_method_and_every_widget(take: Take) -> None:
    walk, session = take("gallery", **PHONE, reduced_motion="no-preference")
    stored = Study.objects.get(pk=session.study_id)
    assert {t.method for t in stored.tasks.all()} == {
        t.task.method for t in session.trials.select_related("task")
    }
    everything_is_stored(walk, session)
