"""Words of the standards, what options change, and options that are refused in plain words."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest

from listening.design.studyfile.fit import WatchedOptions
from listening.design.studyfile.schema import Options
from listening.design.studyfile.study_toml import default_criteria
from listening.methods import Estimand, Method, Scale, StimulusRef, method_named, phonemes
from listening.methods.item_groups import ItemsError
from tests.listening.folders import CONDITIONS, STUDY, csv_with, problems_of, the_problem


def words(key: str, **options: Any) -> list[tuple[str, str]]:
    return [(step.label, step.text) for step in method_named(key).scale(options).steps]


def refs(*cells: tuple[int, str, str]) -> list[StimulusRef]:
    return [
        StimulusRef(pk, item, condition, role) for pk, (item, condition, role) in enumerate(cells)
    ]


# --- The words of the standards -------------------------------------------------------------------


def test_absolute_categories_are_those_of_p800_annex_b() -> None:
    expected = ["Bad", "Poor", "Fair", "Good", "Excellent"]
    assert words("mos") == [(str(n), word) for n, word in enumerate(expected, start=1)]
    assert words("p835", part="overall") == words("mos")


def test_degradations_are_those_of_p800_annex_d() -> None:
    assert words("dcr")[::-1] == [
        ("5", "Degradation is inaudible"),
        ("4", "Degradation is audible but not annoying"),
        ("3", "Degradation is slightly annoying"),
        ("2", "Degradation is annoying"),
        ("1", "Degradation is very annoying"),
    ]


@pytest.mark.parametrize("key", ["cmos", "ccr"])
def test_comparisons_are_those_of_p800_annex_e(key: str) -> None:
    said = ["much worse", "worse", "slightly worse", "", "slightly better", "better", "much better"]
    shown = words(key)
    assert [label for label, _ in shown] == ["-3", "-2", "-1", "0", "1", "2", "3"]
    assert shown[3][1] == "About the same"
    assert [text.removeprefix("Second is ") for _, text in shown if text != "About the same"] == [
        word for word in said if word
    ]


def test_p835_has_the_words_of_each_of_its_three_scales() -> None:
    assert [text for _, text in words("p835", part="signal")[::-1]] == [
        "Not distorted",
        "Slightly distorted",
        "Somewhat distorted",
        "Fairly distorted",
        "Very distorted",
    ]
    assert [text for _, text in words("p835", part="background")[::-1]] == [
        "Not noticeable",
        "Slightly noticeable",
        "Noticeable but not intrusive",
        "Somewhat intrusive",
        "Very intrusive",
    ]


def test_mushra_words_stand_in_the_middle_of_each_fifth() -> None:
    scale = method_named("mushra").scale({})
    assert scale.span == (0, 100, 1)
    middles = {step.text: step.score for step in scale.steps}
    assert middles == {"Bad": 10, "Poor": 30, "Fair": 50, "Good": 70, "Excellent": 90}
    assert [scale.score(label) for label in ("0", "37", "100")] == [0, 37, 100]
    for label in ("-1", "101", "37.5", "037", "1e1"):
        with pytest.raises(ValueError, match="not on this scale"):
            scale.score(label)


def test_the_three_criteria_of_p835_have_their_own_scales_and_questions() -> None:
    method = method_named("p835")
    assert [key for key, _, _ in method.default_criteria] == ["signal", "background", "overall"]
    shown = [method.scale(options).steps[0].text for _, _, options in method.default_criteria]
    assert shown == ["Very distorted", "Very intrusive", "Bad"]
    assert len({question for _, question, _ in method.default_criteria}) == 3


# --- What options change --------------------------------------------------------------------------


def test_mos_with_half_steps_more_points_and_an_absent_answer() -> None:
    assert [s.score for s in method_named("mos").scale({"step": 0.5}).steps] == [
        *(1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5)
    ]
    assert words("mos", points=7) == [(str(n), "") for n in range(1, 8)]
    assert words("mos", points=9, names={"9": "Perfect"})[-1] == ("9", "Perfect")
    slider = method_named("mos").scale({"points": 100, "names": {"1": "Bad", "100": "Excellent"}})
    assert (slider.widget, slider.span) == ("slider", (1.0, 100.0, 1.0))
    assert [(step.label, step.text) for step in slider.steps] == [
        ("1", "Bad"),
        ("100", "Excellent"),
    ]
    scale = method_named("mos").scale({"absent": "No laughter"})
    (absent,) = [step for step in scale.steps if step.apart]
    assert (absent.label, absent.score, absent.text) == ("0", 0.0, "No laughter")
    assert scale.score("0") == 0.0
    assert [step.label for step in scale.steps if not step.apart] == ["1", "2", "3", "4", "5"]


def test_appropriateness_is_asked_in_half_steps_unless_told_otherwise() -> None:
    assert len(method_named("context_mos").scale({}).steps) == 9
    assert len(method_named("context_mos").scale({"step": 1}).steps) == 5
    assert len(method_named("mos").scale({}).steps) == 5


def test_a_preference_reaches_to_2_and_no_preference_is_0() -> None:
    assert [label for label, _ in words("preference")] == ["-2", "-1", "0", "1", "2"]
    assert dict(words("preference"))["-2"] == "I clearly prefer the first"
    assert [label for label, _ in words("preference", reach=1)] == ["-1", "0", "1"]
    assert len(words("preference", reach=3)) == len(words("cmos")) == 7


def test_ab_with_and_without_a_tie() -> None:
    assert [label for label, _ in words("ab")] == ["A", "B"]
    assert words("ab", tie=True)[2] == ("tie", "No difference")
    assert words("ab", tie="一样")[2] == ("tie", "一样")
    assert words("ab", names={"A": "甲", "B": "乙"}) == [("A", "甲"), ("B", "乙")]


def test_free_choices_have_scores_only_where_the_study_gives_them() -> None:
    method = method_named("free_choice")
    plain = method.scale({"choices": ["yes", "no"]})
    assert plain.widget == "choice"
    assert plain.score("yes") is None
    scored = method.scale(
        {"choices": [{"label": "y", "text": "Yes!", "score": 1}, {"label": "n", "score": 0.5}]}
    )
    assert [scored.score(label) for label in ("y", "n")] == [1.0, 0.5]
    assert [step.text for step in scored.steps] == ["Yes!", "n"]


def test_many_choices_come_in_the_order_of_the_list() -> None:
    scale = method_named("free_choice").scale({"choices": ["a", "b", "c"], "many": True})
    assert scale.widget == "many"
    assert [scale.score(label) for label in ("a", "a|c", "a|b|c")] == [None] * 3
    for wrong in ("c|a", "a|a", "a|d", "", "a|"):
        with pytest.raises(ValueError, match="not on this scale"):
            scale.score(wrong)


def test_a_free_slider_and_a_free_text() -> None:
    method = method_named("free_choice")
    slider = method.scale({"slider": [-1, 1, 0.1], "names": {"-1": "sad", "1": "glad"}})
    assert slider.span == (-1, 1, 0.1)
    assert [(step.score, step.text) for step in slider.steps] == [(-1, "sad"), (1, "glad")]
    assert slider.score("0.3") == 0.3
    text = method.scale({"text": True, "longest": 5})
    assert text.score("hello") is None
    for wrong in ("hello!", "  ", ""):
        with pytest.raises(ValueError, match="not on this scale"):
            text.score(wrong)


def test_places_of_a_ranking_are_a_permutation() -> None:
    method = method_named("rank")
    method.check_labels(["2", "1", "3"])
    for wrong in (["1", "1", "3"], ["1", "2", "4"], ["0", "1", "2"], ["1", "2", "x"]):
        with pytest.raises(ValueError, match="a place of its own, 1 to 3"):
            method.check_labels(wrong)
    assert method.scale({}).score("2") == 2.0


def test_an_absent_answer_stays_apart_in_the_database() -> None:
    scale = method_named("mos").scale({"absent": "nothing"})
    assert Scale.from_dict(scale.as_dict()).steps[-1].apart


# --- What is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "options", "what"),
    [
        ("mos", {"points": 1}, "points is a whole number from 2 to 100"),
        ("mos", {"points": 5.0}, "points is a whole number"),
        ("mos", {"points": 100, "absent": "No"}, "a scale of up to 11 points"),
        ("mos", {"absent": True}, "absent is the text of the answer 0"),
        ("context_mos", {"step": 0.25}, "steps of 1 or 0.5"),
        ("cmos", {"reach": 4}, "reaches to 1, 2 or 3"),
        ("att", {"order": "Human"}, "once each"),
        ("att", {"order": ["Human", "Human", "Machine"]}, "once each"),
        ("ab", {"tie": 1.5}, "tie is true, false or the words"),
        ("p835", {"part": "noise"}, "part is signal, background or overall"),
        ("free_choice", {}, "needs one of choices"),
        ("free_choice", {"choices": ["a", "b"], "text": True}, "needs one of choices"),
        ("free_choice", {"choices": "ab"}, "choices is a list"),
        ("free_choice", {"choices": ["a"]}, "2 to 50 choices"),
        ("free_choice", {"choices": ["a", "a"]}, "“a” is there twice"),
        ("free_choice", {"choices": ["a|b", "c"]}, "no |"),
        ("free_choice", {"choices": ["a", {"label": "b", "score": 1}]}, "every choice a score"),
        ("free_choice", {"choices": [{"text": "b"}, "c"]}, "choices is a list"),
        ("free_choice", {"choices": [{"label": "b", "skore": 1}, "c"]}, "choices is a list"),
        ("free_choice", {"choices": [{"label": "b", "score": "1"}, "c"]}, "is no number"),
        (
            "free_choice",
            {"choices": [{"label": "b", "score": 1}, {"label": "c", "score": 2}], "many": True},
            "a choice has no score",
        ),
        ("free_choice", {"slider": [0, 100]}, "slider is"),
        ("free_choice", {"slider": [5, 0, 1]}, "slider is"),
        ("free_choice", {"slider": [0, 10, 3]}, "steps of a slider fit it"),
        ("free_choice", {"slider": [0, 10, 0.001]}, "at most 1000"),
        ("free_choice", {"slider": [0, 10, 1], "names": {"11": "x"}}, "not on the slider"),
        ("free_choice", {"text": "yes"}, "text is true or false"),
        ("free_choice", {"text": True, "longest": 0}, "longest is a whole number"),
    ],
)
def test_options_that_make_no_scale(key: str, options: dict[str, Any], what: str) -> None:
    with pytest.raises(ValueError, match=what.replace("|", r"\|")):
        method_named(key).scale(options)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"pairs": "a b"}, "list of pairs"),
        ({"pairs": []}, "list of pairs"),
        ({"pairs": [["a"]]}, "list of pairs"),
        ({"pairs": [["a", "a"]]}, "list of pairs"),
        ({"pairs": [["a", "b"], ["b", "a"]]}, "“b” with “a” twice"),
    ],
)
def test_pairs_that_cannot_be(options: dict[str, Any], what: str) -> None:
    material = refs((1, "a", "test"), (1, "b", "test"))
    with pytest.raises(ValueError, match=what):
        list(method_named("ab").trials(material, options))


# --- References -----------------------------------------------------------------------------------


WITH_REFERENCE = refs(
    (1, "codec", "test"),
    (1, "human", "reference"),
    (1, "mnru", "anchor"),
    (2, "codec", "test"),
    (2, "human", "reference"),
    (2, "mnru", "anchor"),
)


@pytest.mark.parametrize("key", ["ccr", "dcr"])
def test_every_condition_is_compared_with_the_reference_of_its_item(key: str) -> None:
    method = method_named(key)
    trials = [(t.item, t.column, t.rated, t.versus) for t in method.trials(WITH_REFERENCE, {})]
    assert trials == [
        (1, "codec", (0,), 1),
        (1, "mnru", (2,), 1),
        (2, "codec", (3,), 4),
        (2, "mnru", (5,), 4),
    ]
    null = list(method.trials(WITH_REFERENCE, {"null_pairs": True}))
    assert [(t.rated, t.versus) for t in null if t.column == "human"] == [((1,), 1), ((4,), 4)]
    assert method.columns(WITH_REFERENCE, {"null_pairs": True}) == ["codec", "human", "mnru"]
    named = list(method.trials(WITH_REFERENCE, {"reference": "mnru"}))
    assert {t.column for t in named} == {"codec", "human"}
    assert {t.versus for t in named} == {2, 5}


def test_mushra_rates_all_conditions_with_the_hidden_reference_against_the_open_one() -> None:
    trials = list(method_named("mushra").trials(WITH_REFERENCE, {}))
    assert [(t.rated, t.versus) for t in trials] == [((0, 1, 2), 1), ((3, 4, 5), 4)]


def test_mushra_without_a_hidden_reference_rates_the_others_against_the_open_one() -> None:
    trials = list(method_named("mushra").trials(WITH_REFERENCE, {"hidden_reference": False}))
    assert [(t.rated, t.versus) for t in trials] == [((0, 2), 1), ((3, 5), 4)]
    pair = refs((1, "a", "test"), (1, "r", "reference"))
    with pytest.raises(ItemsError, match="1 of 1 items has a single clip"):
        list(method_named("mushra").trials(pair, {"hidden_reference": False}))


def test_mushra_without_an_open_reference_names_none_on_the_page() -> None:
    method, closed = method_named("mushra"), {"open_reference": False}
    trials = list(method.trials(WITH_REFERENCE, closed))
    assert [(t.rated, t.versus) for t in trials] == [((0, 1, 2), None), ((3, 4, 5), None)]
    parts = method.parts(trials[0], versus_first=False, rng=Random(1))
    assert [(p.name, p.role) for p in parts] == [(name, "rated") for name in "ABC"]
    assert "reference" not in method.question_for(closed)
    assert "reference" in method.question_for({})
    left = list(method.trials(WITH_REFERENCE, closed | {"hidden_reference": False}))
    assert [t.rated for t in left] == [(0, 2), (3, 5)]
    systems = refs((1, "a", "test"), (1, "b", "test"))
    assert [t.rated for t in method.trials(systems, closed)] == [(0, 1)]


@pytest.mark.parametrize(
    "option", [{"reference": "human"}, {"reference_first": True}, {"waveform": "reference"}]
)
def test_options_of_an_open_reference_need_one(option: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="needs an open reference"):
        method_named("mushra").playback({"open_reference": False, **option})


@pytest.mark.parametrize("key", ["ccr", "dcr", "mushra"])
def test_an_item_without_a_reference_is_named(key: str) -> None:
    material = refs((1, "a", "test"), (1, "r", "reference"), (2, "a", "test"))
    with pytest.raises(ItemsError, match="1 of 2 items has no reference") as caught:
        list(method_named(key).trials(material, {}))
    assert caught.value.items == (2,)


def test_two_references_and_unknown_references_are_refused() -> None:
    material = refs((1, "a", "test"), (1, "r", "reference"), (1, "s", "reference"))
    with pytest.raises(ItemsError, match="1 of 1 items has more than one reference"):
        list(method_named("dcr").trials(material, {}))
    assert len(list(method_named("dcr").trials(material, {"reference": "s"}))) == 2
    with pytest.raises(ValueError, match="reference names “q”, which is no condition"):
        list(method_named("dcr").trials(material, {"reference": "q"}))
    with pytest.raises(ValueError, match="null_pairs is true or false"):
        list(method_named("ccr").trials(WITH_REFERENCE, {"null_pairs": "yes"}))


@pytest.mark.parametrize("key", ["mushra", "rank"])
def test_a_screen_holds_2_to_12_clips(key: str) -> None:
    method = method_named(key)
    alone = refs((1, "r", "reference"))
    with pytest.raises(ItemsError, match="1 of 1 items has a single clip"):
        list(method.trials(alone, {}))
    twelve = refs((1, "r", "reference"), *((1, f"c{n}", "test") for n in range(11)))
    (trial,) = method.trials(twelve, {})
    assert len(trial.rated) == 12
    with pytest.raises(ItemsError, match="1 of 1 items has more than 12 clips"):
        list(method.trials([*twelve, StimulusRef(99, 1, "one more")], {}))


# --- In the guides --------------------------------------------------------------------------------


DOCS = Path(__file__).resolve().parents[2] / "docs"
ANY_SCALE: dict[str, list[dict[str, Any]]] = {
    "free_choice": [{"choices": ["a", "b"]}, {"slider": [0, 1, 1]}, {"text": True}]
}


@pytest.mark.parametrize("key", sorted(Method.registry))
def test_the_guides_name_every_option_that_a_method_reads(key: str) -> None:
    guides = "".join((DOCS / f"{n}.md").read_text("utf-8") for n in ("methods", "study-folder"))
    method = method_named(key)
    for options in ANY_SCALE.get(key, [{}]):
        watched = WatchedOptions(options)
        method.scale(watched)
        method.playback(watched)
        method.columns(WITH_REFERENCE, watched)
        list(method.trials(WITH_REFERENCE, watched))
        for option in watched.used:
            assert f"`{option}" in guides
            assert option in Options.model_fields


# --- Through a study folder -----------------------------------------------------------------------


def toml(method: str, options: str = "", conditions: str = CONDITIONS) -> str:
    task = (
        f'\n[[tasks]]\nkey = "t"\nmethod = "{method}"\nblock_size = 1\nratings_per_stimulus = 2\n'
    )
    return STUDY + conditions + task + (f"[tasks.options]\n{options}\n" if options else "")


REFERENCE = CONDITIONS.replace('key = "sys-b"', 'key = "sys-b"\nrole = "reference"')


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("mos", 'absent = "none"\npoints = 9'),
        ("context_mos", "step = 1"),
        ("cmos", "reach = 1"),
        ("preference", 'versus = "sys-b"'),
        ("ccr", "reach = 2\nnull_pairs = true"),
        ("dcr", 'reference = "sys-b"'),
        ("ab", "tie = true"),
        ("abx", 'pairs = [["sys-a", "sys-b"]]'),
        ("mushra", 'reference = "sys-a"\nnames = { "90" = "Superb" }'),
        ("mushra", 'heard = 0.5\nrestart = true\nreference_first = true\nwaveform = "reference"'),
        ("mushra", "open_reference = false"),
        ("rank", ""),
        ("rank", "heard = 0.25\nrestart = true"),
        ("p835", ""),
        ("free_choice", 'choices = [{ label = "a", score = 1 }, { label = "b", score = 0.5 }]'),
    ],
)
def test_a_study_folder_may_use_every_option(tmp_path: Path, method: str, options: str) -> None:
    found = problems_of(tmp_path, toml(method, options, REFERENCE))
    assert found == [], "\n".join(map(str, found))


@pytest.mark.parametrize(
    ("method", "option", "said"),
    [
        ("mushra", "heard = 0", "heard is a share above 0 and up to 1, like 0.5, not 0"),
        ("mushra", "heard = true", "heard is a share above 0 and up to 1, like 0.5, not True"),
        ("mushra", "heard = 50", "heard is a share above 0 and up to 1, like 0.5, not 50"),
        ("rank", 'restart = "yes"', "restart is true or false, not 'yes'"),
        ("mushra", 'waveform = "clips"', "which tell systems apart without listening"),
        ("mushra", "waveform = true", 'waveform is "none" or "reference", not True'),
        ("rank", 'waveform = "reference"', "“rank” does not use the option “waveform” here"),
        ("rank", "reference_first = true", "“rank” does not use the option “reference_first”"),
        ("mos", "heard = 0.5", "“mos” does not use the option “heard” here"),
    ],
)
def test_playback_that_cannot_be_is_refused_by_name(
    tmp_path: Path, method: str, option: str, said: str
) -> None:
    problem = the_problem(tmp_path, toml(method, option, REFERENCE))
    assert said in problem.what
    assert (problem.file, bool(problem.remedy)) == ("study.toml", True)


@pytest.mark.medium
def test_a_hidden_reference_that_is_off_is_read_and_what_it_costs_is_said(
    tmp_path: Path, db: None
) -> None:
    from listening import studies
    from tests.factories import make_user
    from tests.listening.folders import make_folder

    third = REFERENCE + '\n[[conditions]]\nkey = "sys-c"\n'
    rows = csv_with(
        *(f"{s}{i},sys-{s},i{i},audio/{s if s != 'c' else 'a'}{i}.wav" for s in "abc" for i in "12")
    )
    folder = make_folder(tmp_path, toml("mushra", "hidden_reference = false", third), rows)
    study = studies.create_study(folder, make_user())
    said = [str(each) for each in studies.check_study(study) if "hides no reference" in each.what]
    assert len(said) == 1
    assert "the post-screening of BS.1534-3 leaves nobody out" in said[0]
    assert "Remove hidden_reference = false" in said[0]


@pytest.mark.parametrize("method", ["ccr", "dcr", "mushra"])
def test_a_study_without_a_reference_is_told_so(tmp_path: Path, method: str) -> None:
    problem = the_problem(tmp_path, toml(method))
    assert "2 of 2 items have no reference" in problem.what
    assert "“i1”" in problem.what
    assert problem.row == 2


def test_a_clip_that_a_screen_lacks_is_missed(tmp_path: Path) -> None:
    both = ("a1,sys-a,i1,audio/a1.wav", "b1,sys-b,i1,audio/b1.wav")
    more = ("a2,sys-a,i2,audio/a2.wav", "b2,sys-b,i2,audio/b2.wav")
    third = CONDITIONS + '\n[[conditions]]\nkey = "sys-c"\n'
    rows = csv_with(*both, *more, "c1,sys-c,i1,audio/a1.wav")
    problem = the_problem(tmp_path / "lacks", toml("rank", "", third), rows)
    assert "The item “i2” lacks “sys-c”" in problem.what
    allowed = toml("rank", "", third).replace("block_size", "allow_missing = true\nblock_size")
    assert problems_of(tmp_path / "allowed", allowed, rows) == []


def test_an_option_of_another_method_is_a_mistake(tmp_path: Path) -> None:
    problem = the_problem(tmp_path, toml("rank", "step = 0.5"))
    assert "The method “rank” does not use the option “step” here" in problem.what


@pytest.mark.parametrize(
    ("more", "text", "keywords", "said"),
    [
        ("show_text = true\n", "Glue the sheet.", "", "show_text would show it"),
        ("", "[laugh]", "", "has no text, and answers are scored with it"),
        ("", "Glue the sheet.", "glue sheets", "the keyword “sheets” is not in the text"),
    ],
)
def test_a_transcription_needs_texts_that_raters_do_not_see(
    tmp_path: Path, more: str, text: str, keywords: str, said: str
) -> None:
    study = toml("transcription", "plays = 2").replace(
        "block_size = 1\n", f"block_size = 1\n{more}"
    )
    rows = [f"{s}{i},sys-{s},i{i},audio/{s}{i}.wav,{text},{keywords}" for s in "ab" for i in "12"]
    table = csv_with(*rows, header="stimulus,condition,item,file,text,keywords")
    found = problems_of(tmp_path, study, table)
    assert found
    assert all(said in problem.what for problem in found)


@pytest.mark.parametrize(
    ("options", "language", "place", "said"),
    [
        ('unit = "phonemes"', "zh-Hans", "stimuli.csv, row 2, language", "without spaces"),
        ('unit = "phonemes"', "xx", "stimuli.csv, row 2, language", "does not know the language"),
        (
            'unit = "phonemes"\ndialect = "de"',
            "en",
            "study.toml, tasks[1].options.dialect",
            "does not belong",
        ),
        ('dialect = "en-gb"', "en", "study.toml, tasks[1].options.dialect", "does not use"),
        ('unit = "syllables"', "en", "study.toml, tasks[1].options", "unit is"),
    ],
)
def test_phonemes_need_a_language_that_has_them(
    tmp_path: Path, options: str, language: str, place: str, said: str
) -> None:
    rows = [f"{s}{i},sys-{s},i{i},audio/{s}{i}.wav,Blue,{language}" for s in "ab" for i in "12"]
    table = csv_with(*rows, header="stimulus,condition,item,file,text,language")
    (problem,) = problems_of(tmp_path, toml("transcription", options), table)
    assert said in problem.what
    assert place in str(problem)
    assert problem.remedy


def test_phonemes_without_their_package_name_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "espeakng_loader", None)
    for each in (phonemes._library, phonemes.voices, phonemes.voice_for):
        each.cache_clear()
    rows = [f"{s}{i},sys-{s},i{i},audio/{s}{i}.wav,Blue" for s in "ab" for i in "12"]
    table = csv_with(*rows, header="stimulus,condition,item,file,text")
    (problem,) = problems_of(tmp_path, toml("transcription", 'unit = "phonemes"'), table)
    assert "tasks[1].options.unit" in str(problem)
    assert "requirements-phonemes.txt" in problem.remedy


@pytest.mark.parametrize(
    ("options", "text", "expected", "said"),
    [
        ('kinds = ["glitch", "noise"]', "Glue the sheet.", "3:noise", ""),
        ('kinds = { flat = "Flat melody" }', "Glue the sheet.", "2-3:flat", ""),
        ("", "Glue the sheet.", "[no errors]", ""),
        ("", "Glue the sheet.", "4:glitch", "the text has 3 words, and a mark is on word 4"),
        ('kinds = ["noise"]', "Glue the sheet.", "3:glitch", "is not on the scale"),
        ("kinds = []", "Glue the sheet.", "[no errors]", "kinds is a list of 1 to 9"),
        ('kinds = { "A b" = "x" }', "Glue the sheet.", "[no errors]", "needs a name of letters"),
    ],
)
def test_marks_that_traps_expect_are_of_a_kind_and_within_the_text(
    tmp_path: Path, options: str, text: str, expected: str, said: str
) -> None:
    traps = '\n[tasks.traps]\nper = 1\n[[tasks.traps.kinds]]\nkind = "known"\ncount = 1\n'
    trap = '\n[[conditions]]\nkey = "traps"\nrole = "trap"\n'
    study = toml("marking", options, CONDITIONS + trap) + traps + "pass_at_least = 1\n"
    rows = [f"{s}{i},sys-{s},i{i},audio/{s}{i}.wav,{text},," for s in "ab" for i in "12"]
    rows.append(f"t,traps,it,audio/a1.wav,{text},known,{expected}")
    table = csv_with(*rows, header="stimulus,condition,item,file,text,trap,expected")
    found = [problem.what for problem in problems_of(tmp_path, study, table)]
    assert bool(found) == bool(said)
    assert all(said in what for what in found[:1])


def test_a_screen_of_best_worst_scaling_has_one_best_and_another_worst_clip() -> None:
    method = method_named("best_worst")
    method.check_labels(["neither", "worst", "best", "neither"])
    for wrong in (["best", "best", "worst"], ["best", "neither", "neither"], ["neither"] * 3):
        with pytest.raises(ValueError, match="one best clip and one worst"):
            method.check_labels(wrong)
    for wrong_size in (2, 13, 4.0, True):
        with pytest.raises(ValueError, match="clips is a whole number from 3 to 12"):
            method.columns((), {"clips": wrong_size})


@pytest.mark.parametrize("systems", [4, 5, 6, 7, 9, 10, 12])
def test_subsets_show_each_system_equally_often_and_each_two_nearly_so(systems: int) -> None:
    items = 20
    stimuli = [
        StimulusRef(100 * item + code, item, f"s{code:02}")
        for item in range(items)
        for code in range(systems)
    ]
    method = method_named("best_worst")
    trials = list(method.trials(stimuli, {}))
    assert trials == list(method.trials(stimuli, {}))
    columns = method.columns(stimuli, {})
    assert Counter((t.item, t.column) for t in trials) == Counter(
        {(item, column): 1 for item in range(items) for column in columns}
    )
    for item in range(items):
        shown = Counter(pk for t in trials if t.item == item for pk in t.rated)
        assert len(shown) == systems
        assert len(set(shown.values())) == 1
        firsts = [t.rated[0] for t in trials if t.item == item]
        assert len(set(firsts)) == len(firsts)  # they name the screens of an item
    pairs = Counter((a % 100, b % 100) for t in trials for a, b in combinations(sorted(t.rated), 2))
    mean = len(trials) * 6 / (systems * (systems - 1) / 2)
    assert len(pairs) == systems * (systems - 1) / 2
    assert all(abs(n - mean) < 2 for n in pairs.values())


def test_items_with_two_clips_have_no_best_worst_screen() -> None:
    stimuli = [StimulusRef(k, 1, name) for k, name in enumerate("ab")]
    with pytest.raises(ItemsError, match="1 of 1 items has fewer than 3 clips"):
        list(method_named("best_worst").trials(stimuli, {}))


def test_a_method_without_criteria_asks_one_that_is_named_as_its_estimand() -> None:
    class Clarity(Method):
        estimand = Estimand("clarity", "Clarity", "the mean clarity", "Clarity: 7 clear")
        default_question = "How clear is this speech?"

    (criterion,) = default_criteria(Clarity(), {})
    assert (criterion.key, criterion.question) == ("clarity", "How clear is this speech?")
    assert [c.key for c in default_criteria(method_named("mos"), {})] == ["naturalness"]
