"""F1 on traps and Kendall distance: by hand, against the published p, and the odd cases."""

import itertools

import pytest

from analysis.statistics.correlations import fisher_interval
from metrics.auto_att import evaluate, predict, report
from metrics.auto_att.dataset import Dataset, LabelledClip
from metrics.auto_att.evaluate import ClipResult, Evaluation, Ranking, TrapResult
from metrics.auto_att.predict import Prediction
from metrics.auto_att.report import markdown, table4
from metrics.auto_att.train import rate_share


def clip(name, split="test", voice="v", score=0.5, dimension="d", trap=""):
    return LabelledClip(name, "", f"sha-{name}", "s", voice, "", dimension, split, trap, {}, "",
                        score)  # fmt: skip


def said(name, score, **rest):
    return Prediction(name, f"sha-{name}", score, **rest)


# Wang et al. (2025), Table 4: 20 voices, so 190 pairs; distance and p as printed.
@pytest.mark.parametrize(
    ("discordant", "distance", "p"),
    [
        (63, 0.3316, 0.0398),
        (66, 0.3474, 0.0638),
        (52, 0.2737, 0.0047),
        (59, 0.3105, 0.0198),
        (64, 0.3368, 0.0468),
        (71, 0.3737, 0.1284),
        (53, 0.2789, 0.0059),
        (65, 0.3421, 0.0548),
        (67, 0.3526, 0.0740),
    ],
)
def test_distance_and_p_are_those_of_the_paper(discordant, distance, p):
    order, left = list(range(20)), discordant
    for _, start in itertools.product(range(20), range(19)):  # swap neighbours: one pair each
        if left and order[start] < order[start + 1]:
            order[start], order[start + 1] = order[start + 1], order[start]
            left -= 1
    human = [float(k) for k in range(20)]
    predicted = [float(k) for k in order]
    assert evaluate.kendall_distance(human, predicted) == pytest.approx(distance, abs=5e-5)
    assert evaluate.kendall_p(human, predicted) == pytest.approx(p, abs=5.1e-5)


def test_ties_count_half_when_one_ranking_has_them():
    assert evaluate.kendall_distance([1, 2, 3], [1, 2, 3]) == 0
    assert evaluate.kendall_distance([1, 2, 3], [3, 2, 1]) == 1
    assert evaluate.kendall_distance([1, 2, 3], [1, 1, 3]) == pytest.approx(0.5 / 3)
    assert evaluate.kendall_distance([1, 1, 3], [1, 1, 3]) == 0
    assert evaluate.kendall_p([1, 2, 3], [1, 1, 1]) is None


def test_f1_of_traps_by_hand():
    traps = [clip(f"h{k}", "trap", trap="human") for k in range(3)]
    traps += [clip(f"f{k}", "trap", trap="flawed") for k in range(2)]
    known = [said("h0", 0.9), said("h1", 0.6), said("h2", 0.5), said("f0", 0.7), said("f1", 0.1)]
    result = evaluate.evaluate(Dataset(tuple(traps), {}), known).traps
    assert (result.human, result.flawed) == (3, 2)
    assert (result.precision, result.recall, result.f1) == (3 / 4, 1, pytest.approx(6 / 7))
    assert result.f1_always_human == pytest.approx(0.75)
    higher = evaluate.evaluate(Dataset(tuple(traps), {}), known, threshold=0.51).traps
    assert higher.f1 == pytest.approx(2 / 3)  # 0.5 itself counts as human at 0.5


def test_traps_that_training_heard_do_not_count_and_none_left_is_said():
    traps = (clip("h", "trap", trap="human"), clip("f", "trap", trap="flawed"))
    known = [said("h", 0.9, heard_clip=True), said("f", 0.2)]
    result = evaluate.evaluate(Dataset(traps, {}), known).traps
    assert result.f1 is None
    assert result.reason == "no human trap clip that can be used"
    assert result.left_out == {"the same audio was trained on": 1}


def test_voices_are_ranked_overall_and_by_dimension_new_and_all():
    clips, known = [], []
    for k, (human, machine) in enumerate([(0.1, 0.2), (0.5, 0.9), (0.9, 0.4), (0.3, 0.3)]):
        for dimension in ("p", "q"):
            name = f"{k}{dimension}"
            clips.append(clip(name, voice=f"v{k}", score=human, dimension=dimension))
            known.append(said(name, machine, heard_voice=k == 1, heard_dimension=dimension == "p"))
    result = evaluate.evaluate(Dataset(tuple(clips), {}), known)
    found = {(r.voices_are, r.dimension): r for r in result.rankings}
    assert found["new", ""].distance == 0
    assert found["new", ""].voices == 3
    assert found["all", ""].distance == pytest.approx(1 / 6)
    assert (found["all", "p"].seen, found["all", "q"].seen, found["all", ""].seen) == (
        True,
        False,
        None,
    )
    assert result.clips.clips == 8
    assert result.clips.mean_absolute_error == pytest.approx((0.1 + 0.4 + 0.5 + 0) / 4)


def test_odd_cases_have_a_reason_and_never_a_nan():
    clips = (clip("a", voice="v1"), clip("b", voice="v2"), clip("c", "train", voice="v3"))
    known = [said("a", 0.4), said("b", None, reason="silent"), said("c", 0.1, heard_clip=True)]
    result = evaluate.evaluate(Dataset(clips, {}), known)
    assert result.rankings[0].distance is None
    assert result.rankings[0].reason == "1 voice: two are needed for an order"
    assert result.left_out == {"silent": 1, "the same audio was trained on": 1}
    assert result.clips.spearman is None
    nothing = evaluate.evaluate(Dataset(clips, {}), [])
    assert nothing.left_out == {"no prediction": 3}
    assert nothing.clips.mean_absolute_error is None


@pytest.mark.parametrize(("r", "n"), [(0.3, 20), (-0.8, 9), (0.0, 4), (0.999, 200)])
def test_the_interval_of_a_correlation_is_that_of_the_reports(r, n):
    assert evaluate.spearman_interval(r, n) == pytest.approx(
        fisher_interval("spearman", r, n, 0.95)
    )


@pytest.mark.parametrize(("r", "n"), [(0.5, 3), (1.0, 20), (-1.0, 20)])
def test_a_correlation_without_an_interval_has_none(r, n):
    assert evaluate.spearman_interval(r, n) == (None, None)
    assert report.correlation(evaluate.ClipResult(n, 0.1, r)) == f"{r:.3f}"


def test_a_correlation_is_told_with_its_interval():
    told = evaluate.ClipResult(20, 0.1, 0.3, *evaluate.spearman_interval(0.3, 20))
    assert report.correlation(told) == "0.300 [-0.175, 0.661]"


def test_predictions_come_back_from_a_file(tmp_path):
    known = [said("a", 0.25, heard_voice=True), said("b", None, reason="silent")]
    predict.write(known, tmp_path / "p.jsonl")
    assert predict.read(tmp_path / "p.jsonl") == known
    (tmp_path / "q.jsonl").write_text('{"clip": "a", "score": 0.5}\n{"score": 1}\n')
    with pytest.raises(ValueError, match="line 2"):
        predict.read(tmp_path / "q.jsonl")


def test_the_rate_warms_up_from_its_first_step_and_ends_near_zero():
    shares = [rate_share(step, 4, 20) for step in range(20)]
    assert shares[:5] == [0.25, 0.5, 0.75, 1.0, 1.0]
    assert shares == sorted(shares[:4]) + sorted(shares[4:], reverse=True)
    assert 0 < shares[-1] < 0.02
    assert rate_share(0, 0, 1) == 1.0


def test_our_distances_stand_in_the_rows_of_the_papers_table():
    def ranking(dimension, distance, voices="new"):
        p = None if distance is None else 0.04
        return Ranking(voices, dimension, None, 4, 40, distance, p, "too few" * (p is None))

    empty = TrapResult(0.5, 0, 0, None, None, None, None, {})
    made = (ranking("", 0.25), ranking("polyphonic characters", 0.5), ranking("mood", None))
    result = Evaluation(empty, (*made, ranking("", 0.3, "all")), ClipResult(0, None, None), {})
    head, all_, poly, mood = table4({"p.jsonl": result})
    assert head[1:] == ["p.jsonl", "paper: Auto-ATT", "paper: Qwen2-Audio"]
    assert all_ == ["All", "0.2500 (0.0400)", "0.3316 (0.0398)", "0.3474 (0.0638)"]
    assert poly[1:3] == ["0.5000 (0.0400)", "0.3316 (0.0398)"]
    assert mood[1:] == ["– (too few)", "–", "–"]


def test_the_page_has_our_numbers_beside_the_papers_and_every_reason():
    clips = [
        clip(f"{k}{d}", voice=f"v{k}", score=k / 4, dimension=d) for k in range(4) for d in "pq"
    ]
    clips += [clip("h", "trap", trap="human"), clip("f", "trap", trap="flawed")]
    known = [said(each.clip, 0.9 - each.score / 2) for each in clips[:7]]
    known += [said("1|q", 0.5), said("h", 0.8), said("f", 0.6)]
    good = evaluate.evaluate(Dataset(tuple(clips), {}), known)
    page = markdown({"ours": good, "a|b": evaluate.evaluate(Dataset(tuple(clips), {}), [])})
    assert "| ours | 0.667 | 0.500 | 1.000 | 1 / 1 | 0.667 |" in page
    assert "| a\\|b | – (no human trap clip that can be used) | - | - | 0 / 0 | - |" in page
    assert "| paper: Auto-ATT | 0.92 |" in page
    assert page.count("| All | 1.0000 (0.0833) |") == 2  # new voices, and all
    assert "| 0.3316 (0.0398) | 0.3474 (0.0638) |" in page
    assert "- ours, clips: 1 (no prediction)" in page
    lines = [line for line in page.splitlines() if line.startswith("|")]
    assert all(line.endswith(" |") for line in lines)
