"""The judges of the suite, end to end against a local server that judges by the audio's level."""

import dataclasses
import re

import pytest

from metrics.core.lazy_torch import torch
from metrics.core.metric import Material, ParameterError, make_metric
from metrics.core.vocalisations import Vocalisation
from metrics.core.weights import Unavailable
from metrics.judges import judge as judge_module
from metrics.judges.client import Endpoint, configure_endpoint, current_endpoint
from metrics.judges.cost import Prices
from metrics.judges.question import MalformedAnswer
from metrics.judges.rubric import configure, names, rubric
from metrics.suite.judge_nvv import check_marked, other_types
from tests.metrics.judge_server import answer, score_of_level, text_of

TEXT = "she laughed and then she left"
SPOKEN = Material(text=TEXT, language="en", attributes={"nvv_target": "laugh@5"})


def tone(seconds, db):
    """A sine with this RMS in dB of full scale."""
    return 2**0.5 * 10 ** (db / 20) * torch.sin(torch.arange(round(seconds * 16_000)) / 5)


@pytest.fixture
def server(judge_server, tmp_path):
    judge_server.reset()
    before = current_endpoint()
    prices = Prices(1.0, 10.0, 5.0)
    configure_endpoint(
        Endpoint(judge_server.url, "tester", cache=tmp_path, prices=prices, retries=1)
    )
    yield judge_server
    configure_endpoint(before)
    judge_server.reset()


def judge(key, **parameters):
    made = make_metric(key, parameters)
    made.load("cpu")
    return made


def measured(metric, wave, material=SPOKEN):
    (score,) = metric.measure([wave], [material])
    return score


@pytest.mark.medium
def test_coherence_is_the_mean_of_ten_answers_with_seeds_of_their_own(server):
    server.answer = lambda body: answer(body) | {"score": 3.0 + body["seed"] % 2}
    score = measured(judge("judge_prosodic_coherence"), tone(2, -30))
    assert score.value == 3.5
    assert score.also == {"judge_prosodic_coherence_sd": pytest.approx(0.5270, abs=1e-4)}
    assert sorted(request["seed"] for request in server.requests) == list(range(10))
    assert TEXT in text_of(server.requests[0])
    details = score.details
    assert (details["n_asked"], details["n_failed"], details["n_cached"]) == (10, 0, 0)
    assert details["repeats"] == [3.0, 4.0] * 5
    assert (details["tokens_in"], details["tokens_out"]) == (3000, 400)
    assert details["cost"] == pytest.approx(10 * (100 * 1 + 200 * 5 + 40 * 10) / 1e6)
    assert details["models"] == ["tester-2026-11"]


@pytest.mark.medium
def test_the_repeats_share_one_file_of_audio(server, monkeypatch):
    made = []
    real = judge_module.sound
    monkeypatch.setattr(judge_module, "sound", lambda wave: made.append(1) or real(wave))
    measured(judge("judge_prosodic_coherence", repeats=5), tone(2, -30))
    assert (len(made), len(server.requests)) == (1, 5)


@pytest.mark.medium
def test_a_second_run_and_more_repeats_ask_only_what_is_new(server):
    first = measured(judge("judge_prosodic_coherence", repeats=3), tone(2, -30))
    again = measured(judge("judge_prosodic_coherence", repeats=5), tone(2, -30))
    assert len(server.requests) == 5
    assert again.details["n_cached"] == 3
    assert again.value == first.value


@pytest.mark.medium
def test_failed_answers_are_counted_and_left_out_of_the_mean(server):
    server.answer = lambda body: answer(body) | ({"score": 6} if body["seed"] < 4 else {})
    score = measured(judge("judge_prosodic_coherence", repeats=8), tone(2, -33))
    assert score.value == pytest.approx(round(2 * score_of_level(tone(2, -33).numpy())) / 2)
    assert score.details["n_failed"] == 4
    assert score.details["n_asked_again"] == 4
    assert score.details["reasons"] == {"score out of range": 4}


@pytest.mark.medium
def test_with_fewer_than_half_of_the_answers_the_clip_has_failed(server):
    server.faults = ["refusal"] * 5
    score = measured(judge("judge_prosodic_coherence", repeats=8), tone(2, -33))
    assert (score.value, score.failed) == (None, True)
    assert score.reason == "the judge failed on 5 of 8 (refused: 5)"
    # The next run asks again for what failed, and only for that.
    assert measured(judge("judge_prosodic_coherence", repeats=8), tone(2, -33)).value
    assert len(server.requests) == 13


@pytest.mark.medium
def test_richness_is_the_mean_over_pieces_of_ten_seconds(server):
    wave = torch.cat([tone(10, -50), tone(10, -30), tone(6, -40)])
    score = measured(judge("judge_expressive_richness"), wave)
    assert score.details["scores"] == [[2.0, 4.0, 3.0]]
    assert score.value == 3.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seconds", "rest_s", "pieces"),
    [(4, 5, 1), (10, 5, 1), (14.9, 5, 1), (15, 5, 2), (20, 5, 2), (11, 1, 2)],
)
def test_the_rest_of_a_clip_is_a_piece_when_it_is_long_enough(server, seconds, rest_s, pieces):
    metric = judge("judge_expressive_richness", rest_s=rest_s)
    assert measured(metric, tone(seconds, -40)).details["n_asked"] == pieces


@pytest.mark.medium
def test_silent_pieces_are_not_sent(server):
    wave = torch.cat([tone(10, -50), torch.zeros(160_000), tone(10, -30)])
    assert measured(judge("judge_expressive_richness"), wave).details["scores"] == [[2.0, 4.0]]


@pytest.mark.medium
def test_hierarchy_is_one_question_about_the_whole_clip(server):
    score = measured(judge("judge_expressive_hierarchy"), tone(25, -40))
    assert (score.value, len(server.requests)) == (3.0, 1)


@pytest.mark.parametrize(
    ("seconds_and_level", "material", "reason"),
    [
        ((2, -30), Material(language="en"), "no text"),
        ((2, -90), SPOKEN, "silent"),
        ((0.3, -30), SPOKEN, "too short"),
        ((3, -30), SPOKEN, "too long"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_judged_is_not_sent(server, seconds_and_level, material, reason):
    wave = tone(*seconds_and_level)
    score = measured(judge("judge_prosodic_coherence", longest_s=2.5), wave, material)
    assert (score.value, score.reason[: len(reason)], score.failed) == (None, reason, False)
    assert server.requests == []


@pytest.mark.medium
def test_many_clips_at_once_are_the_clips_one_by_one(server):
    metric = judge("judge_expressive_richness", repeats=2)
    waves = [tone(12, -50), torch.zeros(16_000), tone(21, -35), tone(3, -20)]
    together = metric.measure(waves, [SPOKEN] * 4)
    alone = [measured(metric, wave) for wave in waves]
    assert [score.value for score in together] == [score.value for score in alone]
    assert together[1].reason == "silent"
    assert all(
        score.details["n_cached"] == score.details["n_asked"] for score in alone if score.value
    )


@pytest.mark.parametrize("key", ["judge_expressive_richness", "judge_nvv"])
def test_without_a_server_the_missing_setting_is_named(key):
    before = current_endpoint()
    try:
        configure_endpoint(Endpoint())
        with pytest.raises(Unavailable, match="EARNEST_JUDGE_URL"):
            judge(key)
        configure_endpoint(Endpoint("http://localhost:1/v1"))
        with pytest.raises(Unavailable, match="EARNEST_JUDGE_MODEL"):
            judge(key)
    finally:
        configure_endpoint(before)


def test_model_and_rubric_are_stored_with_the_score(server):
    metric = judge("judge_expressive_hierarchy")
    assert metric.parameters_dict()["model"] == "tester"
    assert metric.parameters_dict()["rubric"] == "expressive_hierarchy.v1"
    assert set(metric.weights) == {"expressive_hierarchy.v1.toml"}
    assert metric.asked_only
    assert metric.costs
    with pytest.raises(ParameterError, match=r"expressive_hierarchy\.v1"):
        judge("judge_expressive_hierarchy", rubric="expressive_richness.v1")
    with pytest.raises(ParameterError, match="repeats"):
        judge("judge_expressive_hierarchy", repeats=0)


@pytest.mark.medium
def test_the_papers_thresholds_need_the_papers_judge_and_prompt(server):
    assert judge("judge_prosodic_coherence").hints() == []
    theirs = {"model": "SpeechJudge-GRM", "rubric": "prosodic_coherence.lfs_figure_12"}
    assert judge("judge_prosodic_coherence", model="SpeechJudge-GRM").hints() == []
    hints = judge("judge_prosodic_coherence", **theirs).hints()
    assert [hint.at for hint in hints] == [4.0, 4.5]


@pytest.mark.parametrize(
    ("key", "rubric", "first"),
    [
        ("judge_prosodic_coherence", "prosodic_coherence.lfs_figure_12", "**Role:** Senior Ling"),
        ("judge_expressive_hierarchy", "expressive_hierarchy.lfs_figure_13", "**Role:** Senior V"),
        ("judge_expressive_richness", "expressive_richness.lfs_figure_14", "**Role:** You are a"),
    ],
)
@pytest.mark.medium
def test_the_papers_prompts_are_asked_as_printed_and_their_answers_read(server, key, rubric, first):
    score = measured(judge(key, rubric=rubric), tone(10, -30))
    assert score.value == 4.0
    (asked, *_) = server.requests
    assert [message["role"] for message in asked["messages"]] == ["user"]
    assert text_of(asked).startswith(first)
    assert ("Target Text:\n" + TEXT in text_of(asked)) == (key == "judge_prosodic_coherence")


OWN = """
system = "You listen."
user = "How is $text?"
[[fields]]
name = "score"
kind = "score"
"""


@pytest.fixture
def own_rubrics(tmp_path):
    (tmp_path / "own").mkdir()
    configure(tmp_path / "own")
    yield tmp_path / "own"
    configure(None)


@pytest.mark.medium
def test_a_rubric_of_ones_own_is_kept_under_the_hash_of_its_file(server, own_rubrics):
    file = own_rubrics / "prosodic_coherence.lab.toml"
    file.write_text(OWN)
    metric = judge("judge_prosodic_coherence", rubric="prosodic_coherence.lab", repeats=1)
    stored = metric.parameters_dict()
    assert re.fullmatch(r"prosodic_coherence\.lab@[0-9a-f]{12}", stored["rubric"])
    assert make_metric(metric.key, stored).parameters_dict() == stored
    assert measured(metric, tone(2, -30)).value == 4.0
    assert text_of(server.requests[0]) == f"How is {TEXT}?"
    file.write_text(OWN.replace("How", "And how"))
    changed = judge("judge_prosodic_coherence", rubric="prosodic_coherence.lab")
    assert changed.parameters_dict()["rubric"] != stored["rubric"]
    with pytest.raises(ParameterError, match="the file has changed and is prosodic_coherence"):
        make_metric(metric.key, stored)


def test_a_file_of_ones_own_spoils_no_rubric_that_is_shipped(own_rubrics):
    (own_rubrics / "prosodic_coherence.v1.toml").write_text("broken")
    assert make_metric("judge_prosodic_coherence").parameters.rubric == "prosodic_coherence.v1"
    (own_rubrics / "prosodic_coherence.gone.toml").symlink_to(own_rubrics / "nowhere")
    with pytest.raises(ParameterError, match="cannot be read"):
        make_metric("judge_prosodic_coherence", {"rubric": "prosodic_coherence.gone"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("system = ", "cannot be used"),
        (OWN.replace('user = "How is $text?"', ""), "lacks user"),
        (OWN + "lowest = 1", "field score: lowest is not known"),
        (OWN.replace('"score"\n', '"number"\n'), "kind 'number' is not one of"),
        (OWN + "step = 0", "step above 0"),
    ],
)
def test_a_rubric_that_cannot_be_used_is_named_with_what_is_wrong(own_rubrics, text, said):
    (own_rubrics / "prosodic_coherence.lab.toml").write_text(text)
    with pytest.raises(ParameterError, match=said) as raised:
        make_metric("judge_prosodic_coherence", {"rubric": "prosodic_coherence.lab"})
    assert "prosodic_coherence.lab" in str(raised.value)


@pytest.mark.medium
def test_another_server_is_used_as_soon_as_it_is_configured(server, tmp_path):
    metric = judge("judge_expressive_hierarchy")
    now = dataclasses.replace(current_endpoint(), url="http://127.0.0.1:9/v1", retries=0)
    configure_endpoint(dataclasses.replace(now, cache=tmp_path / "other"))
    assert measured(metric, tone(2, -40)).details["reasons"] == {"connection lost": 1}


@pytest.mark.parametrize("name", names())
def test_each_rubric_can_be_filled_and_its_version_is_in_its_name(name):
    told = rubric(name)
    known = dict.fromkeys(
        (
            *("text", "language", "target", "line", "caption", "letters", "n_clips", "kind"),
            *("codebook", "labels", "reason"),
        ),
        "FILLED",
    )
    assert "$" not in told.prompt(**known)
    assert len(told.sha256) == 64
    assert any(field.kind in ("score", "yes_no") for field in told.fields)
    assert {cap.criterion for cap in told.caps} <= {field.name for field in told.fields}


def test_a_vocalisation_at_its_place_is_a_hit(server):
    score = measured(judge("judge_nvv"), tone(2, -30))
    assert (score.value, score.also["judge_nvv_present"]) == (1.0, 1.0)
    assert score.also["judge_nvv_distance"] == 0.0
    assert score.details["predicted"] == [["laugh", 5]]


@pytest.mark.parametrize(
    ("said", "counts", "present"),
    [
        ({"present": False, "marked_text": TEXT}, (0, 0, 1), 0.0),
        ({"marked_text": "<laugh> " + TEXT}, (0, 1, 1), 1.0),
        ({"marked_text": TEXT.replace("she left", "she <laugh> left")}, (1, 0, 0), 1.0),
        ({"others": ["sighs", "Sigh", "laughter", "cough"]}, (1, 2, 0), 1.0),
    ],
    ids=["absent", "elsewhere", "at its place", "others too"],
)
def test_misses_and_what_was_not_asked_for_are_counted(server, said, counts, present):
    server.answer = lambda body: answer(body) | said
    metric = judge("judge_nvv")
    score = measured(metric, tone(2, -30))
    assert tuple(score.details[name] for name in ("tp", "fp", "fn")) == counts
    assert tuple(score.also[f"judge_nvv_{name}"] for name in ("tp", "fp", "fn")) == counts
    assert score.also["judge_nvv_present"] == present
    tp, fp, fn = counts
    assert score.value == pytest.approx(2 * tp / (2 * tp + fp + fn))


def test_a_changed_transcript_is_a_failure_and_not_an_absent_sound(server):
    server.answer = lambda body: answer(body) | {"marked_text": "she laughed and <laugh> left"}
    score = measured(judge("judge_nvv"), tone(2, -30))
    assert (score.value, score.failed) == (None, True)
    assert score.details["reasons"] == {"transcript changed": 1}


@pytest.mark.medium
def test_a_marked_text_says_what_was_asked_for(server):
    marked = Material(text="[laughs] she laughed and left", language="en")
    score = measured(judge("judge_nvv"), tone(2, -30), marked)
    assert "<text>\nshe laughed and left\n</text>" in text_of(server.requests[0])
    assert (score.details["missed"], score.details["predicted"]) == ([["laugh", 0]], [["laugh", 3]])


@pytest.mark.medium
def test_counts_are_pooled_over_clips(server):
    metric = judge("judge_nvv")
    hit = measured(metric, tone(2, -30))
    server.answer = lambda body: answer(body) | {"present": False, "marked_text": TEXT}
    miss = measured(metric, tone(2, -31))
    pooled = metric.pooled([hit.details, miss.details])
    assert pooled == {
        "judge_nvv_precision_pooled": 1.0,
        "judge_nvv_recall_pooled": 0.5,
        "judge_nvv_f1_pooled": pytest.approx(2 / 3),
        "judge_nvv_distance_pooled": 0.0,
    }


@pytest.mark.medium
def test_each_type_asked_for_is_a_question(server):
    material = dataclasses.replace(SPOKEN, attributes={"nvv_target": "laugh@5; sigh@5; laugh@0"})
    score = measured(judge("judge_nvv"), tone(2, -30), material)
    assert len(server.requests) == 2
    assert tuple(score.details[name] for name in ("tp", "fp", "fn")) == (2, 0, 1)


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({}, "the clip has no attribute nvv_target, and its text no marker"),
        ({"nvv_target": TEXT}, "no vocalisation was asked for"),
        ({"nvv_target": "laugh@x; sigh@2"}, "'laugh@x' is not TYPE@PLACE, such as laugh@3"),
    ],
)
def test_a_clip_without_a_target_has_no_value(server, attributes, reason):
    material = dataclasses.replace(SPOKEN, attributes=attributes)
    assert measured(judge("judge_nvv"), tone(2, -30), material).reason == reason


@pytest.mark.parametrize(
    ("marked", "present", "reason"),
    [
        ("Hello <laugh>, there.", True, ""),
        ("Hello, there. <laughs>", True, ""),
        ("Hello,<laugh> there.", True, ""),
        ("Hello, there.", False, ""),
        ("Hello,  there.\n", False, ""),
        ("Hello, there.", True, "no marker"),
        ("Hello, <laugh> there. <laugh>", True, "several markers"),
        ("Hello, <sigh> there.", True, "another marker"),
        ("Hello, <laugh> there.", False, "marker although absent"),
        ("Hello, <laugh> here.", True, "transcript changed"),
        ("hello, <laugh> there.", True, "transcript changed"),
        ("", False, "transcript changed"),
    ],
)
def test_exactly_one_marker_in_the_unchanged_transcript(marked, present, reason):
    said = {"marked_text": marked, "present": present}
    if not reason:
        check_marked(said, "Hello, there.", "laugh", "en")
        return
    with pytest.raises(MalformedAnswer, match=f"^{reason}$"):
        check_marked(said, "Hello, there.", "laugh", "en")


def test_a_marker_in_chinese_stands_between_characters():
    check_marked({"marked_text": "你好<laugh>吗？", "present": True}, "你好吗？", "laugh", "zh")


def test_other_types_are_named_once_and_targets_are_none():
    answers = [{"others": ["Sighs", "none", " "]}, {"others": ["sigh\x00", "laughter", "\ud800"]}]
    assert other_types(answers, ["laugh"]) == [Vocalisation("sigh", None)]
