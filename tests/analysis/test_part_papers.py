"""The preset reports of the papers: their tables from simulated studies with known truth."""

import csv
import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from django.core.management import call_command

from analysis.ratings.breakdowns import families
from analysis.ratings.metric_scores import scores_from_rows
from analysis.ratings.table import from_rows, read_csv
from analysis.report import pipeline
from analysis.report.content import Content, Table
from analysis.report.emphasis import BEST, SECOND
from analysis.report.html.part_html import cell
from analysis.report.part import Part, PartInput
from analysis.report.parts.att import Att, Labels, by_voice
from analysis.report.parts.lfs import Lfs
from analysis.report.parts.nvv import (
    UNRATED,
    UNSUPPORTED,
    Nvv,
    by_criterion,
    cmos,
    heading_of,
    heatmaps,
    inventories,
    judge_tables,
    means_table,
)
from analysis.report.pipeline import chosen_parts
from analysis.statistics.agreement.versus_rest import versus_rest
from analysis.statistics.options import Options, OptionsError
from analysis.statistics.screening.screened import DEFAULT, screen
from tests.analysis import att_study, simulated_nvv
from tests.analysis.reference import BLANK, DATA, expected, rows_of, table_of
from tests.analysis.shown_by import in_keys

ROOT = Path(__file__).resolve().parents[2]
LATER = ("long_form", "nvv")  # of more ratings; their parts are made in `make test` all the same


def given(table: pd.DataFrame, scores: pd.DataFrame | None = None) -> PartInput:
    screened = screen(table)
    return PartInput(screened.kept(DEFAULT), screened, Options(seed=1, replicates=200), scores)


def tables(shown: Content) -> dict[str, Table]:
    found = {table.key: table for table in shown.tables}
    assert len(found) == len(shown.tables)
    return found


@pytest.fixture(scope="module")
def att() -> Content:
    return in_keys(Att().make(given(table_of("att_s1"))))


@pytest.mark.slow
def test_the_systems_of_the_turing_test_are_those_of_r_and_brms(att: Content) -> None:
    rows = {row["condition"]: row for row in tables(att)["table3"].rows}
    told = {row["system"]: row for row in expected("att_s1")["hls"]["system"]}
    brms = json.loads((DATA / "att_s1.bayes.json").read_text("utf-8"))
    assert rows.keys() == told.keys()
    for name, row in rows.items():
        assert row["hls"] == pytest.approx(told[name]["mean"], rel=1e-9)
        assert row["labels"] == told[name]["n"]
    assert [row["tier"] for row in tables(att)["tiers"].rows] == list("11234")
    assert rows["Seed-TTS"]["posterior_text"] == "0.417 (0.010)"
    assert [row["posterior_text_mark"] for row in tables(att)["table3"].rows[:2]] == [BEST, SECOND]
    assert rows["Seed-TTS"]["posterior_mean"] == pytest.approx(0.417, abs=0.002)
    assert rows["GPT-4o"]["posterior_mean"] == pytest.approx(0.157, abs=0.002)
    assert rows["Seed-TTS"]["posterior_sd"] == pytest.approx(0.0104, abs=0.0004)
    spreads = {row["what"]: row["sd"] for row in tables(att)["spreads"].rows}
    assert spreads["Raters (how lenient)"] == pytest.approx(0.226, abs=0.003)
    assert spreads["Raters by system"] == pytest.approx(0.106, abs=0.003)
    assert brms


@pytest.mark.slow
def test_voices_by_dimension_are_means_of_labels(att: Content) -> None:
    table = tables(att)["table6"]
    assert len(table.rows) == 20
    kept = given(table_of("att_s1")).ratings
    mine = kept[(kept["voice"] == "echo") & (kept["dimension"] == "polyphonic")]
    row = next(row for row in table.rows if row["voice"] == "echo")
    assert row["polyphonic"] == pytest.approx(mine["score"].mean())
    figure = next(figure for figure in att.figures if figure.key == "voices")
    assert figure.drawing == "heatmap"
    assert len(figure.rows) == 100


@pytest.mark.slow
def test_the_splits_order_the_systems_alike(att: Content) -> None:
    (sentence,) = [text for text in att.sentences if "splits" in text]
    assert "black and white order the 5 systems" in sentence
    assert "distance of 0.000" in sentence
    kept = given(table_of("att_s1")).ratings
    for row in tables(att)["splits"].rows:
        mine = kept[kept["condition"] == row["condition"]]
        both = mine.groupby("split")["score"].mean()
        assert row["overall"] == pytest.approx(mine["score"].mean())
        assert (row["split1"], row["split2"]) == pytest.approx((both["black"], both["white"]))
        assert row["difference"] == pytest.approx(both["black"] - both["white"])
        assert row["difference_low"] < row["difference"] < row["difference_high"]
        assert row["rank1"] == row["rank2"]
    figure = next(figure for figure in att.figures if figure.key == "figure2a")
    assert [row["name"] for row in figure.rows[:3]] == ["Overall", "black", "white"]
    assert len(figure.rows) == 15


@pytest.mark.slow
def test_systems_stand_in_each_dimension_as_overall(att: Content) -> None:
    (sentence,) = [text for text in att.sentences if text.startswith("In ")]
    figure = next(figure for figure in att.figures if figure.key == "figure2b")
    assert len(figure.rows) == 25
    order = [row["condition"] for row in tables(att)["dimensions"].rows]
    means = [row["overall"] for row in tables(att)["dimensions"].rows]
    assert means == sorted(means, reverse=True)
    assert [row["name"] for row in figure.rows[:5]] == order
    same = sum(
        [row["value"] for row in rows] == sorted((row["value"] for row in rows), reverse=True)
        for rows in (figure.rows[n : n + 5] for n in range(0, 25, 5))
    )
    assert sentence.startswith(f"In {same} of 5 dimensions")


@pytest.mark.medium
def test_the_published_table_of_voices_comes_out() -> None:
    """Labels of which every cell has the published mean; the paper's order, best and second."""
    published = rows_from(DATA / "published" / "att_table6_hls_by_voice.csv")
    order = {
        name: list(dict.fromkeys(row[name] for row in published))
        for name in ("system", "voice", "dimension")
    }
    table = from_rows(row for cell in published for row in labels_of(cell))
    (family,) = families(table)
    inputs = PartInput(table, screen(table), Options(), order=order)
    shown = by_voice(Labels(family, "system", inputs, "HLS", ""))
    (made,) = shown.tables
    assert [column.heading for column in made.columns] == ["Voice", *order["dimension"]]
    assert [heading for heading, _ in made.grouped()] == order["system"]
    assert [row["voice"] for row in made.rows] == order["voice"]
    cells = [[cell(column, row) for column in made.columns[1:]] for row in made.rows]
    printed = [f"{float(row['hls']):.4f}" for row in published]
    assert [text for row in cells for text in row] == printed
    best = {
        name: [row["voice"] for row in made.rows if row.get(f"{name}_mark") == BEST]
        for name in order["dimension"]
    }
    assert best == {
        "Special Characters and Numerals": ["xinyue"],
        "Chinese-English Code-switching": ["skye"],
        "Paralinguistic Features and Emotions": ["skye"],
        "Classical Chinese Poetry/Prose": ["xinyue"],
        "Polyphonic Characters": ["skye"],
    }
    assert "Seed-TTS 0.35 (moon) to 0.47 (skye)" in in_keys(shown.sentences[0])  # as printed


def rows_from(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def labels_of(published: dict[str, str]) -> Iterator[dict[str, Any]]:
    """As few labels as have the published mean."""
    twice = 2 * Fraction(published["hls"])
    n, halves = twice.denominator, twice.numerator
    for place in range(n):
        score = min(2, max(0, halves - 2 * place)) / 2
        yield BLANK | {
            "method": "att", "estimand": "hls", "criterion": "human", "task": "att",
            "system": published["system"], "voice": published["voice"],
            "condition": published["voice"], "dimension": published["dimension"],
            "item": f"{published['dimension']} {place % 20}",
            "stimulus": f"{published['voice']} {published['dimension']} {place % 20}",
            "rater": f"r{place}", "session": f"s{place}",
            "label": {1.0: "Human", 0.5: "Unclear", 0.0: "Machine"}[score], "score": score,
        }  # fmt: skip


@pytest.mark.medium
def test_without_voices_dimensions_and_splits_only_the_systems_are_told() -> None:
    scores = {
        (system, f"r{r}", f"i{i}"): (r + i) % 3 / 2
        for system in "AB"
        for r in range(6)
        for i in range(4)
    }
    shown = in_keys(Att().make(given(rows_of(scores, estimand="hls", method="att"))))
    assert set(tables(shown)) <= {"table3", "tiers", "spreads"}
    assert [figure.key for figure in shown.figures] == ["figure2a"]
    told = " ".join(shown.sentences)
    assert "no check between splits, which takes two (column split); named: none" in told
    assert "no dimensions are named" in told
    assert "no rating names a voice and dimension" in told
    assert not Att().applies(given(rows_of(scores)))


def lines(name: str) -> list[dict[str, str]]:
    with gzip.open(DATA / name, "rt", encoding="utf-8") as file:
        head, *rest = [line.rstrip("\n").split(",") for line in file]
    return [dict(zip(head, each, strict=True)) for each in rest]


@pytest.fixture(scope="module")
def lfs() -> Content:
    predictors = [
        {"stimulus": row["stimulus"], "metric": name, "version": "1", "value": float(value)}
        for row in lines("align_s1.pred.csv.gz")
        for name, value in row.items()
        if name != "stimulus"
    ]
    return in_keys(Lfs().make(given(table_of("align_s1"), scores_from_rows(predictors))))


@pytest.mark.slow
def test_automatic_scores_against_people_are_those_of_r(lfs: Content) -> None:
    rows = {row["who"]: row for row in tables(lfs)["alignment"].rows}
    for name, told in expected("align_s1")["predictors"].items():
        if told["pearson"] is None:
            assert rows[name]["plcc"] is None
            continue
        assert rows[name]["plcc"] == pytest.approx(told["pearson"], rel=1e-9)
        assert rows[name]["srcc"] == pytest.approx(told["spearman"], rel=1e-9)
        assert rows[name]["krcc"] == pytest.approx(told["kendall_b"], rel=1e-9)
        assert rows[name]["qwk"] == pytest.approx(told["qwk"], rel=1e-9)
        assert rows[name]["mae"] == pytest.approx(told["mae"], rel=1e-9)
        assert rows[name]["kind"] == ("judge" if name.startswith("judge_") else "metric")
    assert next(iter(rows)) == "judge_best"
    assert "judge_best correlates most closely with human ratings" in lfs.sentences[0]
    versus = {row["versus"]: row for row in tables(lfs)["williams"].rows}
    told = expected("align_s1")["dependent_correlation_best_vs_mid"]
    assert versus["judge_mid"]["p"] == pytest.approx(told["p"], rel=1e-6)


@pytest.mark.slow
def test_each_rater_against_the_others_is_that_of_r(lfs: Content) -> None:
    rows = {row["who"]: row for row in tables(lfs)["alignment"].rows}
    for told in expected("align_s1")["leave_one_rater_out"]:
        for measure in ("plcc", "srcc", "krcc", "qwk", "mae"):
            assert rows[told["rater"]][measure] == pytest.approx(told[measure], rel=1e-9)


def test_half_steps_are_not_rounded_away() -> None:
    table = table_of("align_s1").assign(score=lambda t: (t["score"] - 0.5).clip(lower=1.0))
    halves = in_keys(Lfs().make(given(table))).tables[0]
    assert "(1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5)" in halves.note
    ratings = table[table["trap"] == ""]
    (first,) = [row for row in halves.rows if row["who"] == ratings["rater"].min()]
    told = versus_rest(
        *(ratings[name].tolist() for name in ("stimulus", "rater", "score")),
        categories=[1 + step / 2 for step in range(9)],
        replicates=0,
    )
    (qwk,) = [row for row in told if (row.rater, row.measure) == (first["who"], "qwk")]
    assert first["qwk"] == pytest.approx(qwk.value)


def aspect_study(
    criterion: str,
    scores: dict[str, list[float]],
    human: list[float],
    pairs: bool = False,
    rubric: str | None = None,
) -> Content:
    """Three raters of as many clips as there are means; ``scores`` by the labels of metrics."""
    about = {"task": "t", "criterion": criterion, "condition": "a"}
    if pairs:
        about |= {"method": "preference", "estimand": "preference", "versus_condition": "b"}
    table = from_rows(
        BLANK
        | about
        | {"rater": f"r{r}", "session": f"r{r}", "item": f"i{n}", "stimulus": f"a{n}"}
        | ({"versus_stimulus": f"b{n}"} if pairs else {})
        | {"score": mean, "code": f"{n} {r}"}
        for n, mean in enumerate(human)
        for r in range(3)
    )
    rows = [
        {"stimulus": f"{side}{n}", "metric": label, "version": "1", "value": value * (side == "a")}
        for label, values in scores.items()
        for n, value in enumerate(values)
        for side in ("ab" if pairs else "a")
    ]
    facts: Any = None if rubric is None else {"tasks": [{"task": "t", "rubric": rubric}]}
    return in_keys(Lfs().make(replace(given(table, scores_from_rows(rows)), facts=facts)))


HUMAN = [1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0, 4.0, 5.0, 5.0, 4.0, 2.0]
OWN = [1.5, 2.0, 2.5, 2.0, 3.0, 3.5, 4.0, 3.0, 4.5, 5.0, 3.5, 2.5]
RICHNESS = "judge_expressive_richness[model=g,rubric=expressive_richness.lfs_figure_14]"


@pytest.mark.medium
def test_the_headline_of_an_aspect_is_about_its_own_measure() -> None:
    """Fidelity follows richness of these clips more closely; the paper holds the judge's to it."""
    scores = {"squim_pesq": HUMAN, RICHNESS: OWN}
    (sentence,) = aspect_study("expressive_richness", scores, HUMAN).sentences[-1:]
    assert f"{RICHNESS} correlates with human ratings: SRCC" in sentence
    assert "squim_pesq" not in sentence
    (sentence,) = aspect_study("timbre_stability", scores, HUMAN).sentences[-1:]
    assert "no clip that was rated here has a score of timbre" in sentence
    (sentence,) = aspect_study("my_own", scores, HUMAN).sentences[-1:]
    assert "of 2 automatic scores, squim_pesq correlates most closely" in sentence


@pytest.mark.medium
@pytest.mark.parametrize("pairs", [False, True])
def test_raters_and_judges_with_two_rubrics_are_said_to_have_two_instruments(pairs: bool) -> None:
    criterion = "prosodic_coherence" if pairs else "expressive_richness"
    figure = "prosodic_coherence.lfs_figure_12" if pairs else "expressive_richness.lfs_figure_14"
    human = [each - 3 for each in HUMAN] if pairs else HUMAN
    scores = {f"judge_{criterion}[model=g,rubric={figure}]": OWN, "utmos": OWN}

    def warned(rubric: str | None) -> str:
        return " ".join(aspect_study(criterion, scores, human, pairs, rubric).warnings)

    assert "two instruments" not in warned(figure)
    assert "two instruments" not in warned(None)  # of a file, nothing is known of what raters read
    other = f"{criterion}.v1"
    assert f"raters read the rubric {other}, judges {figure}: two instruments" in warned(other)
    assert "raters read no rubric (option rubric of the task), judges" in warned("")


@pytest.mark.medium
def test_few_clips_or_pairs_give_no_headline_number() -> None:
    few = aspect_study("expressive_richness", {RICHNESS: OWN[:6]}, HUMAN[:6])
    assert "6 clips with a score are too few to say" in few.sentences[-1]
    signs = [1.0, -1.0, 2.0]
    label = "judge_prosodic_coherence"
    pairs = aspect_study("prosodic_coherence", {label: signs}, signs, pairs=True)
    assert "prefer a side in 3 pairs only: too few" in pairs.sentences[-1]
    (row,) = tables(pairs)["preferences"].rows
    assert (row["share"], row["same"], row["n"]) == (None, 3, 3)
    assert "%" not in "".join(pairs.sentences)
    signs = [1.0, -1.0, 2.0, -2.0] * 3
    pairs = aspect_study("prosodic_coherence", {label: signs, "utmos": signs}, signs, pairs=True)
    assert f"{label} prefers the clip that people prefer in 100 %" in pairs.sentences[-1]
    assert "SRCC over both orders of each pair 1.00" in pairs.sentences[-1]


def test_without_scores_the_report_says_what_to_give() -> None:
    shown = in_keys(Lfs().make(given(table_of("align_s1"))))
    assert "give a CSV of scores" in shown.warnings[0]
    assert {row["kind"] for row in tables(shown)["alignment"].rows} == {"rater", "raters"}


@pytest.mark.slow
@pytest.mark.parametrize("made", [simulated_nvv, att_study])
def test_the_stored_study_is_the_simulated_one(made: Any) -> None:
    assert gzip.decompress(made.FILE.read_bytes()).decode() == made.text()


@pytest.mark.slow
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.soak)])
@pytest.mark.parametrize(
    "preset", ["att", "lfs", *(pytest.param(key, marks=pytest.mark.soak) for key in LATER)]
)
def test_the_command_of_the_docs_runs(
    preset: str, whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the paper's own part, and in `make soak` with those of every report too."""
    if not whole:
        monkeypatch.setattr(
            pipeline, "chosen_parts", lambda options: [Part.registry[options.preset]]
        )
    text = " ".join((ROOT / "docs" / "estimators.md").read_text("utf-8").split())
    (command,) = re.findall(rf"`manage.py analyse ([^`]*--preset {preset}) --out DIR`", text)
    quick = ["--replicates", "200", "--figures", "none", "--out", str(tmp_path)]
    call_command("analyse", *command.split(), "--everything", *quick)
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    (part,) = [part for part in report["parts"] if part["key"] == preset]
    assert part["problem"] == ""
    assert part["tables"]


@pytest.fixture(scope="module")
def nvv() -> Content:
    reading = read_csv(simulated_nvv.FILE)
    return in_keys(Nvv().make(replace(given(reading.table), order=reading.order)))


@pytest.mark.medium
def test_means_by_system_language_and_criterion_come_near_the_truth(nvv: Content) -> None:
    table = tables(nvv)["table4"]
    assert [heading for heading, _ in table.grouped()] == ["tags", "captions"]
    rows = {(row["task"], row["language"], row["condition"]): row for row in table.rows}
    for task, systems in simulated_nvv.MEANS.items():
        for (language, system), means in systems.items():
            row = rows[task, language, system]
            criteria = simulated_nvv.TAGS if task == "tags" else simulated_nvv.CAPTIONS
            for criterion, mean in zip(criteria, means, strict=True):
                assert row[criterion] == pytest.approx(mean, abs=0.35)
                assert row[f"{criterion}_low"] < row[criterion]
                assert f"±\u00a0{row[f'{criterion}_half']:.2f}" in row[f"{criterion}_text"]


def published(name: str) -> list[dict[str, str]]:
    with (DATA / "published" / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.medium
def test_table_4_of_nvv_superbench_comes_out_as_printed() -> None:
    """Two ratings a cell that have its mean and its interval: names, order and marks are printed.

    Marks of the paper are of its printed numbers, where ties share a place.
    """
    printed = published("nvv_table4_subjective.csv")
    rows = []
    for cell_ in printed:
        far = float(cell_["ci95_half_width"]) / 12.7062  # the t quantile with one degree of freedom
        for n, sign in enumerate((-1, 1)):
            rows.append(
                BLANK
                | {"task": cell_["control"], "criterion": cell_["criterion"]}
                | {"language": cell_["language"], "condition": cell_["system"], "rater": f"r{n}"}
                | {"item": f"i{n}", "stimulus": f"{cell_['system']}{cell_['language']}{n}"}
                | {"score": float(cell_["mos"]) + sign * far, "session": f"s{n}", "code": len(rows)}
            )
    columns = {"task": "control", "condition": "system"}
    order = {
        name: list(dict.fromkeys(cell_[columns.get(name, name)] for cell_ in printed))
        for name in ("task", "condition", "language", "criterion")
    }
    shown = means_table(
        by_task(from_rows(rows), order), replace(given(from_rows(rows)), order=order)
    )
    (table,) = shown.tables
    called = [heading_of(name) for name in order["criterion"]]
    assert [c.heading for c in table.columns] == ["System", "Language", *called]
    texts = {
        (row["language"], row["condition"], name): row[f"{name}_text"]
        for row in table.rows
        for name in order["criterion"]
        if f"{name}_text" in row
    }
    assert texts == {
        (
            c["language"],
            c["system"],
            c["criterion"],
        ): f"{c['mos']}\u00a0±\u00a0{c['ci95_half_width']}"
        for c in printed
    }
    marks = {
        row["condition"]: [row[f"{name}_text_mark"] for name in order["criterion"] if name in row]
        for row in table.rows
        if row["language"] == "ZH"
    }
    assert marks["ElevenLabs"] == [BEST, SECOND, BEST, BEST, BEST]
    assert marks["CosyVoice 2"] == [SECOND, BEST, "", "", ""]
    assert marks["Gemini 2.5 Flash"] == ["", "", BEST, "", BEST]
    assert cell(table.columns[2], table.rows[-1]).mark == BEST


@pytest.mark.medium
def test_table_5_of_nvv_superbench_comes_out_as_printed_and_beside_raters() -> None:
    """Two clips a cell whose judges' scores have its mean and its interval."""
    printed = published("nvv_table5_judges.csv")
    scores, ratings = [], []
    for c in printed:
        far = float(c["ci95_half_width"]) / 12.7062  # the t quantile with one degree of freedom
        for n, sign in enumerate((-1, 1)):
            clip = {"condition": c["system"], "language": c["language"]}
            clip["stimulus"] = f"{c['system']}{c['language']}{n}"
            score = {"metric": f"judge_panel_{c['criterion']}", "version": "nvv_tags.v1"}
            scores.append(clip | score | {"value": float(c["mos"]) + sign * far})
            own = {"task": c["control"], "criterion": c["criterion"], "rater": "r", "item": f"i{n}"}
            ratings.append(
                BLANK | clip | own | {"score": 3.0, "session": "s", "code": len(ratings)}
            )
    table = from_rows(ratings)
    columns = {"task": "control", "condition": "system"}
    order = {
        name: list(dict.fromkeys(c[columns.get(name, name)] for c in printed))
        for name in ("task", "condition", "language", "criterion")
    }
    inputs = replace(given(table, scores_from_rows(scores)), order=order)
    made, beside = judge_tables(by_task(table, order), [], inputs).tables
    called = [heading_of(name) for name in order["criterion"]]
    assert [c.heading for c in made.columns] == ["System", "Language", *called]
    assert [heading for heading, _ in made.grouped()] == ["prompt", "tag"]
    texts = {
        (row["language"], row["condition"], name): row[f"{name}_text"]
        for row in made.rows
        for name in order["criterion"]
        if f"{name}_text" in row
    }
    assert texts == {
        (
            c["language"],
            c["system"],
            c["criterion"],
        ): f"{c['mos']}\u00a0±\u00a0{c['ci95_half_width']}"
        for c in printed
    }
    best = {
        (row["task"], row["language"]): row["condition"]
        for row in made.rows
        if row.get("nvv_effect_text_mark") == BEST
    }
    assert best["prompt", "EN"] == "Gemini 2.5 Flash"  # as the paper's text says
    assert best["tag", "EN"] == best["tag", "ZH"] == "ElevenLabs"
    assert len(beside.rows) == len(printed)
    assert beside.rows[0]["difference"] == pytest.approx(float(printed[0]["mos"]) - 3)
    facts: Any = {"tasks": [{"task": "tag", "title": "tag", "rubric": "nvv_tags.v1"}]}
    assert judge_tables(by_task(table, order), [], replace(inputs, facts=facts)).warnings == []
    facts["tasks"][0]["rubric"] = "nvv_tags.v2"
    (warning,) = judge_tables(by_task(table, order), [], replace(inputs, facts=facts)).warnings
    assert in_keys(warning).startswith(
        "tag: raters read the rubric nvv_tags.v2, judges nvv_tags.v1: two"
    )
    assert (
        "Table 5 is not there" in judge_tables(by_task(table, order), [], given(table)).sentences[0]
    )


@pytest.mark.medium
def test_studies_of_two_languages_are_one_report_and_of_one_language_are_refused(
    nvv: Content, tmp_path: Path
) -> None:
    """As the docs say: one header, the rows of both files below each other."""
    head, *lines = simulated_nvv.text().splitlines()
    place = head.split(",").index("language")
    studies = [f"{line},nvv-{line.split(',')[place]}" for line in lines]
    joined = "\n".join([f"{head},study", *sorted(studies, key=lambda line: line[-2:])])
    (tmp_path / "joined.csv").write_text(joined + "\n", encoding="utf-8")
    reading = read_csv(tmp_path / "joined.csv")
    inputs = replace(given(reading.table), order=reading.order)
    (pairs, scored) = ([], {})
    for family in families(inputs.ratings):
        if family.in_pairs:
            pairs.append(family)
        else:
            scored.setdefault(family.group["task"], []).append(family)
    made = [
        means_table(scored, inputs).tables[0],
        cmos(by_criterion(pairs, inputs), inputs).tables[0],
    ]
    for table in made:
        alone = tables(nvv)[table.key]
        mine = {(row["language"], row["condition"]): row for row in table.rows}
        assert len(mine) == len(alone.rows)
        for row in alone.rows:
            assert mine[row["language"], row["condition"]]["naturalness"] == row["naturalness"]
    both = joined.replace(",nvv-zh", ",nvv-more").replace(",zh,", ",en,")
    (tmp_path / "both.csv").write_text(both + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match="both hold ratings of the language “en”"):
        in_keys(Nvv().make(given(read_csv(tmp_path / "both.csv").table)))


def by_task(table: pd.DataFrame, order: dict[str, list[str]]) -> dict[str, list[Any]]:
    inputs = replace(given(table), order=order)
    found = list(families(inputs.ratings))
    return {
        task: by_criterion([each for each in found if each.group["task"] == task], inputs)
        for task in order["task"]
    }


@pytest.mark.medium
def test_what_a_system_does_not_support_is_apart_from_what_nobody_rated(nvv: Content) -> None:
    figure = next(f for f in nvv.figures if f.key == "heatmap-tags-nvv_effect-en")
    blank = {(row["row"], row["column"]) for row in figure.rows if row["value"] is None}
    assert blank == simulated_nvv.UNSUPPORTED
    assert {row["text"] for row in figure.rows if row["value"] is None} == {UNRATED}
    assert figure.ends == (0.0, 5.0)  # the whole scale, in every panel
    assert len(nvv.figures) == 2 * (2 + 2)  # tasks by the criteria about vocalisations by languages
    types = {"Dia": "breath; Laughs; sighs; cough", "Gemini": "; ".join(simulated_nvv.KINDS)}
    facts: Any = {
        "conditions": [
            {"condition": name, "system": "", "attributes": {"nvv_types": words}}
            for name, words in types.items()
        ]
    }
    inputs = replace(given(read_csv(simulated_nvv.FILE).table), facts=facts)
    known = inventories(inputs)
    assert known["Dia"].coverage == pytest.approx(4 / 45)
    found = by_task(inputs.table, {"task": ["tags"]})
    drawn = next(f for f in heatmaps(found, known, inputs).figures if f.key == figure.key)
    texts = {(row["row"], row["column"]): row["text"] for row in drawn.rows if "text" in row}
    assert texts == {
        ("Dia", "crying"): UNSUPPORTED,
        ("Dia", "gasp"): UNSUPPORTED,
        ("Gemini", "cough"): UNRATED,
    }
    means = [sum(r["value"] or 0 for r in drawn.rows if r["row"] == s) for s in ("Dia", "Gemini")]
    assert means[0] < means[1]
    assert [row["row"] for row in drawn.rows][-1] == "Dia"  # by falling mean of the row


@pytest.mark.medium
def test_cmos_is_languages_and_systems_by_criteria_as_printed() -> None:
    printed = published("nvv_table6_cmos.csv")
    rows = [
        BLANK
        | {"task": "p", "method": "cmos", "estimand": "cmos", "criterion": criterion}
        | {"rater": f"r{n}", "item": f"{place}i{n}", "language": row["language"]}
        | {"condition": row["system"], "versus_condition": f"{row['system']} without"}
        | {"stimulus": f"{place}a{n}", "versus_stimulus": f"{place}b{n}"}
        | {"score": float(row[criterion]) + (n - 1)}
        for place, row in enumerate(printed)
        for criterion in simulated_nvv.COMPARED
        for n in range(3)
    ]
    order = {"condition": ["ElevenLabs", "Gemini 2.5 Pro"], "language": ["EN", "ZH"]}
    inputs = replace(given(from_rows(rows)), order={**order, "criterion": simulated_nvv.COMPARED})
    table = cmos(by_criterion(list(families(inputs.ratings)), inputs), inputs).tables[0]
    assert [c.key for c in table.columns] == ["language", "condition", *simulated_nvv.COMPARED]
    assert [
        {"language": row["language"], "system": row["condition"]}
        | {name: f"{row[name]:.2f}" for name in simulated_nvv.COMPARED}
        for row in table.rows
    ] == printed
    assert cell(table.columns[2], table.rows[0]) == "+0.65"


@pytest.mark.medium
def test_cmos_with_against_without(nvv: Content) -> None:
    rows = {(row["language"], row["condition"]): row for row in tables(nvv)["table6"].rows}
    for (language, system), means in simulated_nvv.CMOS.items():
        for criterion, mean in zip(simulated_nvv.COMPARED, means, strict=True):
            assert rows[language, system][criterion] == pytest.approx(mean, abs=0.4)


def test_a_preset_brings_its_parts_and_unknown_ones_are_refused() -> None:
    assert {"att"} <= {part.key for part in chosen_parts(Options(preset="att"))}
    assert "att" not in {part.key for part in chosen_parts(Options())}
    with pytest.raises(OptionsError, match="choose att"):
        chosen_parts(Options(preset="paper"))
    with pytest.raises(OptionsError, match="no part nothing"):
        chosen_parts(Options(parts=("nothing",)))
