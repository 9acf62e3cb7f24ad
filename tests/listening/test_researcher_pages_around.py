"""The study page on what stands around the trials: odds of guessing, who passed, who said what."""

from typing import Any

import pytest

from listening.checks import Check, check_named
from listening.models import Session, Stimulus, Study
from listening.selectors import study_progress
from listening.sessions import lifecycle, stages
from listening.web.researcher.checks_and_traps import chance_text
from tests.factories import ATT_TRAPS, an_answer, answer_all, arrive, current, make_study
from tests.listening.test_researcher_pages import page_of, words_of
from tests.listening.test_stages import all_wrong, questionnaire, truths
from tests.own_cache import empty_cache

pytestmark = pytest.mark.django_db

HUGGINS = {"key": "huggins", "attempts": 1}
STEREO = {"key": "stereo", "attempts": 1, "on_fail": "continue"}
ABOUT = questionnaire("about", "before", screen_out=["no"])


@pytest.fixture(autouse=True)
def _empty_cache():
    empty_cache()


@pytest.fixture
def study() -> Study:
    return make_study(
        key="around",
        checks=[{"key": "volume"}, HUGGINS, STEREO],
        questionnaires=[ABOUT, questionnaire("after", "after")],
        texts={"consent_version": "3.0"},
    )


@pytest.fixture
def owner(client, study):
    client.force_login(study.owner)
    return client


def checked(session: Session, key: str, *, right: bool) -> None:
    session.refresh_from_db()
    answers = truths(session, key) if right else all_wrong(session, key)
    stages.record_check(session, key, {"answers": answers})


def come(study: Study, *, huggins: bool = True, stereo: bool = True) -> Session:
    session = arrive(study)
    stages.record_questionnaire(session, "about", {"hearing": "yes"})
    stages.record_check(session, "volume", {"comfortable": True})
    checked(session, "huggins", right=huggins)
    if huggins:
        checked(session, "stereo", right=stereo)
    session.refresh_from_db()
    return session


def page(client: Any) -> str:
    return words_of(page_of(client, "/studies/around/"))


# --- Before the trials ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chance", "text"),
    [
        (0, "0 %"),
        (1e-9, "below 0.0001 %"),
        (0.0000021, "0.00021 %"),
        (0.00137174, "0.14 %"),
        (0.0027416, "0.27 %"),
        (0.0178, "1.8 %"),
        (0.1, "10 %"),
        (0.185, "18 %"),
        (0.69, "69 %"),
        (0.9908, "99 %"),
        (0.9996, "99.9 %"),
        (1, "100 %"),
    ],
)
def test_a_chance_is_written_so_that_it_can_be_read(chance, text):
    assert chance_text(chance) == text


@pytest.mark.slow
@pytest.mark.parametrize("key", sorted(Check.registry))
def test_every_check_can_be_shown_with_its_odds(client, key):
    make_study(key="around", checks=[{"key": key}])
    client.force_login(Study.objects.get().owner)
    check = check_named(key)
    text = page(client)
    assert check.title in text
    if check.trials:
        assert chance_text(check.odds(check.settings({}))) in text


@pytest.mark.medium
def test_checks_are_shown_with_settings_odds_and_how_raters_fared(owner, study):
    come(study)
    come(study, stereo=False)
    come(study, huggins=False)
    text = page(owner)
    assert "huggins 6 of 6 right, 1 attempt screened out 0.14 % 0.14 % 2 0 1" in text
    assert "stereo 4 of 4 right, 1 attempt, language en continues 1.2 % 1.2 % 1 1 0" in text
    assert "volume confirmed by the rater; cannot be failed – – – 3 0 0" in text


@pytest.mark.medium
def test_a_check_that_is_easy_to_guess_is_marked_where_it_selects(owner, study):
    assert "easy to guess" not in page(owner)
    easy = {"trials": 2, "pass_at_least": 1}
    Study.objects.update(checks=[{"key": "huggins", **easy}])
    assert "easy to guess" in page(owner)
    Study.objects.update(checks=[{"key": "huggins", **easy, "on_fail": "continue"}])
    assert "easy to guess" not in page(owner)


@pytest.mark.medium
def test_questionnaires_are_shown_with_how_many_answered(owner, study):
    come(study)
    stages.record_questionnaire(arrive(study), "about", {"hearing": "no"})
    text = page(owner)
    assert "about about before the trials 1 2 1" in text
    assert "after after after the trials 1 0 –" in text


@pytest.mark.medium
def test_a_study_with_nothing_around_has_no_such_section(client):
    make_study(key="around")
    client.force_login(Study.objects.get().owner)
    assert "Before the trials" not in page(client)


def trapped(client: Any, **fields: Any) -> str:
    kinds = [{"kind": "gold", "count": 2, "expected": ["5"], "pass_at_least": 2, **fields}]
    task = {"traps": {"placement": "outside", "per": 5, "kinds": kinds}}
    make_study(key="around", traps={"gold": 2}, task=task)
    client.force_login(Study.objects.get().owner)
    return page(client)


@pytest.mark.medium
def test_traps_are_shown_with_the_odds_of_guessing(client):
    text = trapped(client)
    assert "Traps in addition to every 5 clips: 2 “gold” (at least 2 correct)" in text
    assert "Random guessing passes 4 % of these sets" in text
    assert "Random guessing passes more than" not in text
    assert "Giving the same answer every time passes every set" in text


@pytest.mark.medium
def test_traps_that_a_guess_often_passes_are_warned_of(client):
    text = trapped(client, tolerance=1.0)
    assert "within 1" in text
    assert "Random guessing passes 16 % of these sets" in text
    assert "Random guessing passes more than" in text


@pytest.mark.medium
def test_what_single_traps_expect_is_reckoned_with(client):
    trapped(client)
    Stimulus.objects.filter(key="trap_gold-0").update(attributes={"expected": "1|2|3"})
    text = page(client)
    assert "Random guessing passes 16 % of these sets" in text  # (3/5 + 1/5) / 2 each
    assert "Giving the same answer every time" not in text


@pytest.mark.medium
def test_the_audio_turing_test_is_shown_with_its_known_odds(client):
    make_study(
        key="around",
        traps={"flawed": 1, "human": 2},
        task={"method": "att", "traps": ATT_TRAPS, "repeats": 2, "training": [{"stimulus": "x"}]},
    )
    client.force_login(Study.objects.get().owner)
    text = page(client)
    assert "1 “flawed” (at least 1 correct); 2 “human” (at least 1 correct)" in text
    assert "passes 19 % of these sets" in text  # 1/3 of (1 - 4/9)
    assert "1 practice trial before the first clip. 2 clips repeated" in text


@pytest.mark.medium
def test_traps_whose_answers_are_not_on_the_scale_do_not_stop_the_page(client):
    text = trapped(client, expected=["perfect"])
    assert "The guess rate cannot be computed: “perfect” is not on this scale" in text


# --- One rater -----------------------------------------------------------------------------------


def of_rater(client: Any, session: Session) -> str:
    return words_of(page_of(client, f"/studies/around/raters/{session.pk}/"))


@pytest.mark.medium
def test_who_was_screened_out_is_counted_and_shown_with_the_reason(owner, study):
    session = come(study, huggins=False)
    assert study_progress("around")["sessions"]["screened"] == 1
    assert 'data-live="sessions/screened">1<' in page_of(owner, "/studies/around/")
    right = session.checks["huggins"]["right"]
    assert f"Screened out: check huggins: {right} of 6 right" in of_rater(owner, session)
    assert "No decision is needed: the session is screened out" in of_rater(owner, session)


@pytest.mark.medium
def test_one_raters_page_holds_consent_checks_with_odds_answers_and_the_comment(owner, study):
    session = come(study, stereo=False)
    answer_all(session)
    stages.record_questionnaire(session, "after", {"hearing": "no"})
    stages.record_comment(session, "All fine.")
    text = of_rater(owner, session)
    assert f"Started {session.started_at:%Y-%m-%d %H:%M:%S} UTC , consent version 3.0" in text
    huggins, stereo = (check_named(key).title for key in ("huggins", "stereo"))
    assert f"{huggins} passed, 6 of 6 correct, attempt 1 (guess rate 0.14 %)" in text
    assert f"{stereo} failed , 0 of 4 correct, attempt 1 (guess rate 1.2 %)" in text
    assert "hearing? Yes hearing? No Comment at the end All fine." in text


@pytest.mark.medium
def test_what_raters_write_is_never_markup(owner, study):
    session = come(study)
    answer_all(session)
    stages.record_comment(session, "<script>alert(1)</script>")
    Session.objects.update(
        questionnaires={"about": {"answers": {"hearing": "<img src=x onerror=alert(2)>"}, "at": ""}}
    )
    html = page_of(owner, f"/studies/around/raters/{session.pk}/")
    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert "&lt;img src=x onerror=alert(2)&gt;" in html


@pytest.mark.medium
def test_practice_is_no_trap_on_the_page(client):
    kinds = [{"kind": "gold", "count": 1, "expected": ["5"], "pass_at_least": 1}]
    task = {
        "traps": {"placement": "outside", "per": 5, "kinds": kinds},
        "training": [{"stimulus": "trap_training-0", "expected": ["5"]}],
    }
    study = make_study(key="around", traps={"gold": 1, "training": 1}, task=task)
    session = arrive(study)
    while (trial := current(session)) is not None:
        label = "5" if trial.trap == "training" else "1"
        lifecycle.record_answer(session, an_answer(trial, label))
    (progress,) = study_progress("around")["tasks"]
    assert progress["traps"] == [{"kind": "gold", "answered": 1, "passed": 0}]
    client.force_login(study.owner)
    text = words_of(page_of(client, "/studies/around/raters/"))
    assert "7 / 7 1 / 1" in text  # trials, traps failed


@pytest.mark.slow
def test_the_number_of_queries_does_not_grow_with_what_stands_around(
    owner, study, django_assert_max_num_queries
):
    for _ in range(6):
        answer_all(come(study))
    empty_cache()
    with django_assert_max_num_queries(32):
        page_of(owner, "/studies/around/")
