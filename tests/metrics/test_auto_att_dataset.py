"""Labelled clips from ratings: majority, ties, sets, splits, sampler, files; counts of the rest."""

import csv
import gzip
import json
from pathlib import Path

import pytest

from metrics.auto_att import dataset
from metrics.auto_att.dataset import DatasetError, Rating, Rule, Source, batches, build
from metrics.auto_att.model import final_label, mean_score
from tests.factories import answer_all, arrive, make_study

COLUMNS = ("stimulus", "rater", "label", "session", "block", "trap", "trap_passed", "dimension")


def source(clip, system="a", voice="v1", dimension="d1", trap="", **rest):
    return Source(clip, f"{clip}.flac", rest.get("sha256", f"sha-{clip}"), system, voice,
                  rest.get("item", "i"), dimension, trap)  # fmt: skip


def ratings(clip, labels, **rest):
    return [Rating(clip, f"r{k}", label, **rest) for k, label in enumerate(labels)]


def small(n_voices=3, n_items=4, systems="ab"):
    found = [
        source(f"{s}{v}{i}", s, f"{s}{v}", "odd" if i % 2 else "even")
        for s in systems
        for v in range(n_voices)
        for i in range(n_items)
    ]
    labels = ["Human", "Machine", "Human"]
    return [r for s in found for r in ratings(s.clip, labels)], found


@pytest.mark.parametrize(
    ("human", "unclear", "machine", "label", "tie"),
    [
        (3, 0, 0, "Human", False),
        (2, 0, 1, "Human", False),
        (0, 1, 2, "Machine", False),
        (1, 1, 1, "Unclear", True),  # mean 0.5
        (2, 2, 0, "Unclear", True),  # mean 0.75: as near to Human, so Unclear
        (2, 0, 2, "Unclear", True),  # mean 0.5
        (0, 2, 2, "Unclear", True),
    ],
)
def test_the_final_label_is_the_majority_and_ties_go_to_the_mean(
    human, unclear, machine, label, tie
):
    counts = {"Human": human, "Unclear": unclear, "Machine": machine}
    assert final_label(counts) == (label, tie)
    assert mean_score(counts) == (human + unclear / 2) / (human + unclear + machine)


def test_a_clip_with_fewer_labels_than_asked_is_left_out_and_counted():
    rows = ratings("x", ["Human"] * 3) + ratings("y", ["Human", "Machine"])
    made = build(rows, [source("x"), source("y"), source("z")], Rule())
    assert [clip.clip for clip in made.clips] == ["x"]
    assert made.summary["clips_left_out"] == {"fewer than 3 labels": 2}
    two = build(rows, [source("x"), source("y")], Rule(labels_per_clip=2))
    assert {c.clip: (c.label, c.score) for c in two.clips} == {
        "x": ("Human", 1.0),
        "y": ("Unclear", 0.5),
    }
    assert two.summary["ties"] == 1
    strict = build(rows, [source("x"), source("y")], Rule(labels_per_clip=2, ties="leave_out"))
    assert strict.summary["clips_left_out"] == {"tie": 1}


def test_failed_sets_other_scales_repeats_and_unfit_reasons_do_not_label():
    rows = ratings("x", ["Human"] * 3, set="s1/b1")
    rows += [Rating("x", "bad", "Machine", set="s2/b1")]
    rows += [Rating("t", "bad", "Human", set="s2/b1", trap="flawed", trap_passed=False)]
    rows += [Rating("h", "bad", "Machine", set="s3/b1", trap="human", trap_passed=False)]
    rows += [Rating("k", "bad", "Human", set="s3/b1", trap="human", trap_passed=True)]
    rows += [Rating("x", "half", "Unclear", set="s3/b1")]  # 1 of 2 human ones passed: valid
    rows += [Rating("x", "r0", "Machine"), Rating("x", "m", "4"), Rating("x", "u", "Machine",
             review="unfit"), Rating("x", "n", "Human", method="mos")]  # fmt: skip
    rows += [Rating("x", "t", "Machine", trap="training")]
    made = build(rows, [source("x")], Rule())
    assert made.clips[0].labels == {"Human": 3, "Unclear": 1}
    assert made.summary["ratings_left_out"] == {
        "its set failed the traps": 2,
        "the rater had labelled the clip before": 1,
        "not one of Human, Unclear, Machine": 2,
        "experts called its reason unfit": 1,
        "training trial": 1,
    }
    all_sets = build(rows, [source("x")], Rule(valid_sets_only=False))
    assert all_sets.clips[0].labels == {"Human": 3, "Unclear": 1, "Machine": 1}


@pytest.mark.medium
def test_failed_sets_are_those_of_the_reference_analysis():
    data = Path(__file__).parent.parent / "data" / "analysis"
    with gzip.open(data / "att_s1.csv.gz", "rt") as source_file:
        rows = [
            Rating(
                row["stimulus"],
                row["rater"],
                row["label"],
                set=f"{row['rater']}/{row['batch']}",
                trap=row["trap_kind"],
                trap_passed=row["label"] == row["expected_label"] if row["trap_kind"] else None,
            )
            for row in csv.DictReader(source_file)
        ]
    told = json.loads((data / "att_s1.ref.json").read_text())["screening"]
    failed = dataset.failed_sets(rows)
    assert len(failed) == told["invalid_batches"] == 317
    assert {f"{each['rater']}/{each['batch']}" for each in told["invalid"]} == failed
    kept, _ = dataset.usable_ratings([row for row in rows if not row.trap], Rule())
    assert len(kept) == told["labels_before"]  # without the traps no set can fail
    kept, _ = dataset.usable_ratings(rows, Rule())
    assert sum(not row.trap for row in kept) == told["labels_after"]


def test_one_voice_of_each_system_is_held_out_and_no_clip_of_it_is_trained_on():
    rows, clips = small()
    clips.append(source("lone", "c", "only"))
    rows += ratings("lone", ["Human"] * 3)
    made = build(rows, clips, Rule(seed=3))
    held_out = set(made.summary["held_out_voices"])
    assert {name.split("/")[0] for name in held_out} == {"a", "b"}
    assert len(held_out) == 2
    assert made.summary["systems_with_one_voice"] == ["c"]
    for clip in made.clips:
        assert (clip.split == "test") == ("/".join(clip.speaker) in held_out)
    drawn = {tuple(build(rows, clips, Rule(seed=s)).summary["held_out_voices"]) for s in range(9)}
    assert len(drawn) > 1
    named = build(rows, clips, Rule(held_out=(("c", "only"),)))
    assert [clip.clip for clip in named.split("test")] == ["lone"]
    with pytest.raises(DatasetError, match="no rated voice c/other; there are a/a0"):
        build(rows, clips, Rule(held_out=(("c", "other"),)))


def test_unseen_dimensions_are_tested_and_shared_audio_is_not_trained_on():
    rows, clips = small()
    made = build(rows, clips, Rule(unseen_dimensions=("odd",)))
    assert {clip.dimension for clip in made.split("train")} == {"even"}
    held_out = made.split("test")[0]
    clips.append(source("again", "c", "w", sha256=held_out.sha256))
    rows += ratings("again", ["Human"] * 3)
    leaky = build(rows, clips, Rule(unseen_dimensions=("odd",)))
    assert leaky.summary["clips_left_out"] == {"the same audio is a test clip": 1}


def test_traps_are_kept_apart_whatever_their_labels():
    rows, clips = small()
    clips += [source("t1", trap="flawed"), source("t2", trap="human"), source("t3", trap="gold")]
    made = build(rows, clips, Rule())
    assert {clip.clip: (clip.trap, clip.score) for clip in made.split("trap")} == {
        "t1": ("flawed", None),
        "t2": ("human", None),
    }


def test_a_dataset_comes_back_from_disk_with_its_fingerprint(tmp_path):
    rows, clips = small()
    made = build(rows, clips, Rule())
    dataset.write(made, tmp_path)
    back = dataset.read(tmp_path)
    assert back.fingerprint() == made.fingerprint()
    told = json.loads((tmp_path / "dataset.json").read_text())
    assert told["fingerprint"] == made.fingerprint()
    assert sum(told["clips"].values()) == len(made.clips)
    with pytest.raises(DatasetError, match="auto_att dataset"):
        dataset.read(tmp_path / "nowhere")


def test_audio_can_be_copied_into_the_folder_which_may_then_move(tmp_path):
    rows, clips = ratings("x", ["Human"] * 3), [source("x")]
    (tmp_path / "x.flac").write_bytes(b"sound")
    clips = [Source("x", str(tmp_path / "x.flac"), "abc", "a", "v")]
    made = dataset.copy_audio_into(build(rows, clips, Rule()), tmp_path / "set")
    dataset.write(made, tmp_path / "set")
    (tmp_path / "set").rename(tmp_path / "moved")
    (clip,) = dataset.read(tmp_path / "moved").clips
    assert clip.path == str(tmp_path / "moved" / "audio" / "abc.flac")


def test_each_batch_is_of_one_dimension_and_an_epoch_holds_every_clip_once():
    rows, clips = small(n_items=5)
    train = build(rows, clips, Rule()).split("train")
    found = batches(train, 4, seed=1, epoch=0)
    assert all(len({clip.dimension for clip in batch}) == 1 for batch in found)
    assert sorted(c.clip for batch in found for c in batch) == sorted(c.clip for c in train)
    assert max(map(len, found)) == 4
    assert found == batches(train[::-1], 4, seed=1, epoch=0)
    assert found != batches(train, 4, seed=1, epoch=1)


def test_ratings_and_a_manifest_make_the_same_dataset_as_rows(tmp_path):
    (tmp_path / "x.flac").write_bytes(b"sound")
    with (tmp_path / "ratings.csv").open("w", newline="") as out:
        table = csv.writer(out)
        table.writerow((*COLUMNS, "voice"))
        for k, label in enumerate(["Human", "Human", "Machine"]):
            table.writerow(["x", f"r{k}", label, f"s{k}", "1", "", "", "d", "v"])
        table.writerow(["f", "r0", "Machine", "s0", "1", "flawed", "true", "", ""])
    (tmp_path / "clips.csv").write_text("stimulus,path,system\nx,x.flac,a\nf,f.flac,flawed\n")
    rows, clips = dataset.from_csv(tmp_path / "ratings.csv", tmp_path / "clips.csv")
    made = build(rows, clips, Rule())
    (clip,) = made.clips
    assert (clip.system, clip.voice, clip.dimension, clip.label) == ("a", "v", "d", "Human")
    assert clip.score == pytest.approx(2 / 3)
    assert made.summary["clips_left_out"] == {"no audio file": 1}
    (tmp_path / "clips.csv").write_text("stimulus\nx\n")
    with pytest.raises(DatasetError, match="x has no path"):
        dataset.from_csv(tmp_path / "ratings.csv", tmp_path / "clips.csv")


def test_several_criteria_must_be_chosen_from():
    rows = ratings("x", ["Human"] * 3, criterion="p") + ratings("x", ["Machine"] * 3, criterion="q")
    with pytest.raises(DatasetError, match="several criteria: p, q"):
        build(rows, [source("x")], Rule())
    assert build(rows, [source("x")], Rule(criterion="q")).clips[0].label == "Machine"
    with pytest.raises(DatasetError, match="no clip is left to train on"):
        build([], [source("x")], Rule())


@pytest.mark.django_db
@pytest.mark.medium
def test_a_study_of_this_installation_makes_a_dataset():
    kinds = [
        {"kind": "flawed", "count": 1, "expected": ["Machine"], "pass_at_least": 1},
        {"kind": "human", "count": 2, "expected": ["Human"], "pass_at_least": 1},
    ]
    task = {"method": "att", "block_size": 4, "ratings_per_stimulus": 3}
    task["traps"] = {"placement": "outside", "per": 4, "kinds": kinds}
    study = make_study(conditions=2, items=2, traps={"flawed": 1, "human": 2}, task=task)
    for k in range(3):
        answer_all(arrive(study), pass_traps=k != 1)
    rows, clips = dataset.from_study(study.key)
    made = build(rows, clips, Rule(labels_per_clip=1))
    failed = {row.set for row in rows if row.trap_passed is False}
    assert len(failed) == 1
    assert len({row.set for row in rows}) == 3
    out = sum(row.set in failed for row in rows)
    assert made.summary["ratings_left_out"] == {"its set failed the traps": out}
    kept = sum(not row.trap and row.set not in failed for row in rows)
    assert sum(sum(clip.labels.values()) for clip in made.split("train")) == kept > 0
    for clip in made.split("train"):
        assert (clip.label, clip.voice) == ("Human", clip.clip.split("_")[0])
    assert sorted(clip.trap for clip in made.split("trap")) == ["flawed", "human", "human"]
