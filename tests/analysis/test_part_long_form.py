"""The part `long_form`: Clark et al.'s figures and tables of a simulated study."""

import gzip
import json

import pytest

from analysis.ratings.metric_scores import scores_from_file
from analysis.ratings.table import from_csv
from analysis.report.build import report_of
from analysis.report.content import Content
from analysis.report.part import PartInput
from analysis.report.parts.long_form import LongForm
from analysis.statistics.options import Options
from analysis.statistics.paragraph_prediction import MODELS
from analysis.statistics.screening.screened import screen
from tests.analysis import longform_study
from tests.analysis.reference import heard_on_headphones
from tests.analysis.shown_by import in_keys

PARTS = ("long_form",)
pytestmark = pytest.mark.usefixtures("answer_alone")

PLAIN = Options(rules=(), preset="long_form", replicates=100)
TRUTH = longform_study.TRUTH["mos"]


def shown(table, scores=None, options=PLAIN) -> Content:
    screened = screen(table, options.rules)
    return in_keys(
        LongForm().make(PartInput(screened.kept(options.rules), screened, options, scores))
    )


def rows_of(found: Content, key: str) -> list[dict]:
    (table,) = [table for table in found.tables if table.key == key]
    return list(table.rows)


@pytest.fixture(scope="module")
def study():
    return from_csv(longform_study.FOLDER / longform_study.RATINGS)


@pytest.fixture(scope="module")
def words():
    return scores_from_file(longform_study.FOLDER / longform_study.WORDS)


@pytest.fixture(scope="module")
def found(study, words):
    return shown(study, words)


@pytest.mark.slow
def test_the_study_is_what_its_generator_makes():
    folder = longform_study.FOLDER
    ratings = gzip.decompress((folder / longform_study.RATINGS).read_bytes()).decode()
    assert ratings == longform_study.csv_text()
    assert (folder / longform_study.WORDS).read_text("utf-8") == longform_study.words_text()
    assert (folder / longform_study.TRUTH_FILE).read_text("utf-8") == longform_study.truth_text()


@pytest.mark.medium
def test_every_stimulus_of_the_study_has_eight_ratings_of_different_raters(study):
    each = study.groupby("stimulus")["rater"].agg(["size", "nunique"])
    assert (each == longform_study.PER_STIMULUS).all().all()
    assert study.groupby("task")["rater"].nunique().min() >= 35


@pytest.mark.medium
def test_figure_2_puts_the_conditions_in_the_order_they_were_made_in(found):
    (figure,) = [figure for figure in found.figures if figure.key == "long_form_conditions_1"]
    mos = {row["name"]: row for row in figure.rows}
    values = [row["value"] for row in figure.rows]
    assert values == sorted(values, reverse=True)
    assert set(mos) == {name for name in TRUTH if " " not in name}
    assert {row["name"] for row in figure.rows[:3]} == {"R1R1", "Rp", "Ri"}
    assert [row["name"] for row in figure.rows[-3:]] == ["Ti", "Tp", "R1T1"]
    for name, row in mos.items():
        assert abs(row["value"] - TRUTH[name]) < 0.15  # few raters and paragraphs were drawn
        assert row["low"] < row["naive_low"] < row["naive_high"] < row["high"]


@pytest.mark.medium
def test_figure_3_has_each_turn_of_a_conversation_apart(found):
    for place, key in ((2, "F1M1"), (3, "M2F2")):
        (figure,) = [f for f in found.figures if f.key == f"long_form_conditions_{place}"]
        assert figure.title.endswith(f"(MOS · {key})")
        names = {row["name"] for row in figure.rows}
        assert names >= {"Ri line 1", "Ri line 2", "Ti line 1", "Ti line 2", "R1T1", "T1T1"}


@pytest.mark.medium
def test_the_papers_t_tests_stand_beside_clustered_ones(found):
    rows = rows_of(found, "long_form_tests_1")
    assert len(rows) == 45
    wider = [row["p"] > row["student_p"] for row in rows if row["student_p"] > 1e-12]
    assert sum(wider) > 0.8 * len(wider)
    for unit in ("student", "stimuli"):
        assert {row[f"{unit}_df"] for row in rows if row["name"] == "Rp − Tp"} == {
            (103 * 2 - 2) if unit == "stimuli" else 103 * 2 * 8 - 2
        }
        clear = sum(row[f"{unit}_p"] < 0.05 for row in rows)
        named = {"student": "by ratings", "stimuli": "by the means of stimuli"}[unit]
        assert any(
            f"{clear} so {named}" in text or f"{clear} {named}" in text for text in found.sentences
        )


@pytest.mark.medium
def test_the_same_lines_score_less_after_real_speech_than_after_synthetic(found):
    rows = {row["name"]: row for row in rows_of(found, "context_effects_1")}
    effect = rows["R1T1 − T1T1"]
    assert effect["low"] < TRUTH["R1T1"] - TRUTH["T1T1"] < effect["high"]
    assert effect["n_lines"] == 103
    assert effect["p"] < 0.001
    assert effect["same_question"]
    assert not rows["T1T1 − Ti"]["same_question"]
    assert any("after 1 line of real speech than" in text for text in found.sentences)


@pytest.mark.medium
def test_table_1_has_the_eight_correlates_within_each_speaker(found):
    rows = rows_of(found, "correlates_1")
    assert [row["speaker"] for row in rows] == ["T"] * 8 + ["R"] * 8
    assert all(row["r"] is not None and row["n"] == 103 for row in rows)
    mean = rows[0]
    assert 0 < mean["low"] < mean["r"] < mean["ceiling"] < 1  # weights make it weak and there
    assert not any("pooling" in text for text in found.sentences)  # one synthetic voice: no trap


@pytest.mark.medium
def test_table_2_has_a_regression_per_number_of_sentences(found):
    fits = [row for row in rows_of(found, "position_fits_1") if row["speaker"] == "T"]
    assert [(row["sentences"], row["n"]) for row in fits] == [(2, 46), (3, 31), (4, 15)]
    slopes = [row for row in rows_of(found, "positions_1") if row["speaker"] == "T"]
    terms = [(row["sentences"], row["term"]) for row in slopes]
    assert terms[:3] == [(2, "intercept"), (2, "s1"), (2, "s2")]
    assert len(terms) == 3 + 4 + 5


@pytest.mark.medium
def test_paragraphs_of_any_length_are_predicted_from_their_sentences(found):
    errors = [row for row in rows_of(found, "prediction_1") if row["speaker"] == "T"]
    assert [row["model"] for row in errors] == list(MODELS)
    assert {row["n_paragraphs"] for row in errors} == {103}
    plain, *fitted = errors
    assert plain["value"] is None
    assert all(row["mae"] < plain["mae"] for row in fitted)  # paragraphs score 0.15 below sentences
    weights = {row["term"]: row for row in rows_of(found, "prediction_weights_1")}
    assert list(weights) == ["mean", "first", "last", "min"]
    assert any("misses paragraph MOS of synthetic speech by" in text for text in found.sentences)


@pytest.mark.medium
def test_other_questions_side_by_side_are_warned_of_once(found):
    told = [text for text in found.warnings if "different questions" in text]
    assert len(told) == 1


@pytest.mark.slow
def test_a_report_with_the_preset_holds_it(study, words, without_models):
    few = study[study["paragraph"].isin([f"n{i:03d}" for i in range(1, 13)])]
    report = report_of(few, words, PLAIN, made_at="now")
    (made,) = [part for part in report["parts"] if part["key"] == "long_form"]
    assert not made["problem"]
    json.dumps(made, allow_nan=False)
    assert {table["key"] for table in made["tables"]} >= {"correlates", "positions"}


@pytest.mark.medium
def test_it_is_made_for_the_preset_alone_and_where_there_are_paragraphs(study):
    assert not LongForm.always
    table = study.iloc[:200]
    screened = screen(table, ())
    assert LongForm().applies(PartInput(table, screened, PLAIN))
    bare = table.assign(paragraph="", condition="a system")
    assert not LongForm().applies(PartInput(bare, screened, PLAIN))


@pytest.mark.slow
def test_systems_in_tasks_are_understood_and_the_pooled_trap_is_told():
    """mos_s1: conditions are systems, tasks are called isolation, paragraph and context."""
    options = Options(rules=(), preset="long_form", reference="natural")
    found = shown(heard_on_headphones("mos_s1"), options=options)
    (trap,) = [text for text in found.sentences if "pooling" in text]
    assert "is 0.75" in trap  # R: 0.7468
    assert "is 0.21" in trap
    rows = rows_of(found, "correlates")
    own = {row["correlate"]: row["r"] for row in rows if row["speaker"] == "sysB"}
    assert own["mean"] == pytest.approx(0.233268557536698)  # R, clark_table1
    (words,) = {row["note"] for row in rows if row["correlate"] == "n_words"}
    assert "metric n_words" in words
    assert len(rows_of(found, "long_form_tests")) == 12 * 3  # settings within a system only


@pytest.mark.medium
def test_paragraphs_that_are_not_named_are_asked_for(study):
    found = shown(study[study["task"].isin(["isolation", "paragraphs"])].assign(paragraph=""))
    assert any("fill it for sentences" in text for text in found.warnings)
    assert rows_of(found, "long_form_conditions")


@pytest.mark.medium
def test_a_table_without_long_form_is_refused_with_a_remedy(study):
    bare = study.assign(paragraph="", condition="a", context="", task="t", method="mos")
    with pytest.raises(ValueError, match="fill the column paragraph"):
        shown(bare)


@pytest.mark.medium
def test_one_rater_gets_no_interval_and_words_instead(study):
    one = study[study["rater"] == study["rater"].iloc[0]]
    found = shown(one)
    for row in rows_of(found, "long_form_conditions"):
        assert row["low"] is None
        assert "one rater only" in row["note"]


@pytest.mark.medium
def test_too_few_paragraphs_get_words_instead_of_correlations(study):
    found = shown(study[study["paragraph"].isin(["n001", "n002", "n003"])])
    assert any("Correlations need at least 4" in text for text in found.warnings)
    assert not any(table.key == "correlates" for table in found.tables)
