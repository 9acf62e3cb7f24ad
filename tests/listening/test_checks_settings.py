"""What a study may set about a check, and how a wrong value is refused."""

import pytest

from listening.checks import Check, Unfit, check_named

KEYS = sorted(Check.registry)
ASKED = [key for key in KEYS if check_named(key).trials]


def test_a_study_may_word_and_set_its_checks_itself():
    given = {"key": "huggins", "title": "耳机", "trials": 8, "pass_at_least": 7, "attempts": 1}
    settings = check_named("huggins").settings({**given, "on_fail": "continue", "feedback": False})
    assert settings.title == "耳机"
    assert (settings.trials, settings.pass_at_least, settings.attempts) == (8, 7, 1)
    assert settings.on_fail == "continue"
    assert not settings.feedback
    assert len(check_named("huggins").plan(settings, "s")) == 8


@pytest.mark.parametrize(
    ("key", "trials", "mark"), [("huggins", 8, 8), ("antiphase", 12, 10), ("environment", 6, 3)]
)
def test_without_a_mark_the_share_of_the_usual_one_stands(key, trials, mark):
    assert check_named(key).settings({"trials": trials}).pass_at_least == mark


@pytest.mark.parametrize("key", KEYS)
def test_an_unknown_setting_is_refused_with_the_known_ones(key):
    with pytest.raises(Unfit, match=r"no setting “trails”") as refused:
        check_named(key).settings({"trails": 3})
    assert refused.value.field == "trails"
    assert refused.value.remedy.endswith("title, text.")


@pytest.mark.parametrize("key", ASKED)
@pytest.mark.parametrize(
    ("field", "value", "remedy"),
    [
        ("trials", 0, "from 1 to 20"),
        ("trials", "6", "from 1 to 20"),
        ("trials", True, "from 1 to 20"),
        ("pass_at_least", 0, "from 1"),
        ("pass_at_least", 19, "from 1 to"),
        ("attempts", 11, "from 1 to 10"),
        ("on_fail", "reject", "screen_out, continue"),
        ("feedback", "yes", "true or false"),
        ("title", " ", "leave it out"),
        ("text", 3, "leave it out"),
    ],
)
def test_a_wrong_value_is_refused_with_field_and_remedy(key, field, value, remedy):
    with pytest.raises(Unfit, match=remedy) as refused:
        check_named(key).settings({field: value})
    assert refused.value.field == field
    assert refused.value.problem.endswith(".")


@pytest.mark.parametrize("value", [-21, 20.5, "loud", None, float("nan"), True])
def test_the_ratio_of_the_digits_stays_within_bounds(value):
    with pytest.raises(Unfit, match="from -20 to 20"):
        check_named("digits_in_noise").settings({"snr_db": value})


def test_the_cleaner_of_two_sounds_must_be_cleaner():
    with pytest.raises(Unfit, match="more than worse_db, which is 40") as refused:
        check_named("environment").settings({"better_db": 40})
    assert refused.value.field == "better_db"


def test_the_volume_check_takes_words_only():
    with pytest.raises(Unfit, match=r"It has: title, text\."):
        check_named("volume").settings({"attempts": 2})


@pytest.mark.parametrize(
    ("study", "spoken"), [("zh-hans", "zh"), ("zh_CN", "zh"), ("en-GB", "en"), ("fi", "en")]
)
def test_digits_are_spoken_in_the_language_of_the_study_where_there_are_some(study, spoken):
    assert check_named("digits_in_noise").settings({}, language=study).language == spoken


def test_a_language_asked_for_must_be_there():
    assert check_named("stereo").settings({"language": "zh"}).language == "zh"
    with pytest.raises(Unfit, match=r"spoken in “fi”\. Write one of: en, zh"):
        check_named("stereo").settings({"language": "fi"})


def test_a_check_that_is_silent_about_language_takes_none():
    with pytest.raises(Unfit, match="no setting “language”"):
        check_named("huggins").settings({"language": "en"})
