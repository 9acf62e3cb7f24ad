"""The user guide names every field that a study folder may hold, and no limit that is not so."""

import re
from pathlib import Path

import pytest

from listening.audio import probe
from listening.checks import Check, check_named
from listening.checks.check import names_of
from listening.common.input_limits import DRAFT_ROWS, TOML_BYTES, TOML_VALUES
from listening.design.questionnaires import READY_MADE
from listening.design.settings import form_named
from listening.design.studyfile import Limits, fit, schema, stimuli_csv, values
from listening.design.studyfile.archive import FROM_THE_WEB
from listening.methods import Method
from listening.selectors import SessionRow
from tools import doc_tables

DOCS = Path(__file__).resolve().parents[2] / "docs"
GUIDE = (DOCS / "study-folder.md").read_text("utf-8")
METHODS = (DOCS / "methods.md").read_text("utf-8")
COLUMNS = (DOCS / "files-and-columns.md").read_text("utf-8")


@pytest.mark.medium
def test_every_field_is_in_the_guides() -> None:
    """The tables are made from the schema; what they leave out stands in a sentence.

    Options are in the guide of methods.
    """
    guides = GUIDE + METHODS
    for path, table in schema.TABLES.items():
        for field in table.model_fields:
            words = (
                rf"`(\[*(study|tasks|questionnaires|tasks\.traps)\.)?{field}\]*[`.]|[.[]{field}\]"
            )
            assert re.search(words, guides) or f"{field} = " in guides, f"{path}.{field}"
    for column in stimuli_csv.COLUMNS:
        assert f"`{column}`" in GUIDE


@pytest.mark.medium
@pytest.mark.parametrize("page", doc_tables.PAGES)
def test_tables_are_those_of_the_code(page: str) -> None:
    text = (doc_tables.ROOT / page).read_text("utf-8")
    assert doc_tables.MARK.search(text)
    assert doc_tables.rewrite_page(text) == text, "run python -m tools.doc_tables"


@pytest.mark.parametrize("key", sorted([*Method.registry, *Check.registry]))
def test_every_method_and_check_is_in_the_guide(key: str) -> None:
    assert re.search(f"^###? `{key}`", METHODS, re.M), "add a heading to docs/methods.md"
    assert f"\n| `{key}` |" in METHODS or key == "volume", "add a row to docs/methods.md"


@pytest.mark.parametrize("name", sorted(READY_MADE))
def test_every_ready_made_question_and_answer_is_in_the_guide(name: str) -> None:
    section = GUIDE[GUIDE.index("### [[questionnaires]]") : GUIDE.index("## stimuli.csv")]
    assert f'`"{name}"`' in section
    for question in READY_MADE[name]:
        assert f"`{question['key']}`" in section
        for option in question.get("options", ()):
            assert option["value"] in section


def test_the_limits_of_the_guide_are_those_of_the_code() -> None:
    limits = Limits()
    assert f"more than {limits.entries:,} entries or {limits.total_bytes // 1024**3} GB" in GUIDE
    assert f"(over the web {FROM_THE_WEB.entries:,} entries and " in GUIDE
    assert f"{FROM_THE_WEB.total_bytes // 1024**3} GB" in GUIDE
    assert f"| `study.toml` | {TOML_BYTES // 1024**2} MB, {TOML_VALUES:,} values" in GUIDE
    assert f"that pages can change | {DRAFT_ROWS:,} |" in GUIDE
    assert limits.ratio == 100
    assert "a hundred times" in GUIDE
    assert f"| rows of `stimuli.csv` | {stimuli_csv.TABLE_ROWS:,} |" in GUIDE
    assert f"| characters of a text | {values.LONGEST_TEXT:,} |" in GUIDE
    assert (
        f"| characters of an attribute | {stimuli_csv.ATTRIBUTE.keywords['longest']:,} |" in GUIDE
    )
    assert f"| {fit.MAX_PLANNED // 10**6} million |" in GUIDE
    rates = f"{probe.MIN_RATE_HZ // 1000} to {probe.MAX_RATE_HZ // 1000} kHz"
    size = f"{probe.CLIP_DURATION_S // 60} minutes and {probe.CLIP_BYTES // 1024**2} MB"
    assert rates in GUIDE
    assert size in GUIDE


def test_the_names_of_long_form_conditions_in_the_guide_can_be_made() -> None:
    section = GUIDE.partition("### [[settings]]")[2].partition("### [[tasks]]")[0]
    names = re.findall(r"`((?:[RT]|Text)(?:[0-9ip])(?:[RT][0-9])?)`", section)
    assert len(names) >= 12
    assert {form_named(name).setting for name in names} == {"isolation", "paragraph", "context"}
    assert f"at most {schema.LONGEST_GAP_S} |" in section


@pytest.mark.parametrize("key", sorted(Check.registry))
def test_every_setting_of_a_check_has_its_line(key: str) -> None:
    settings = GUIDE.partition("**`[[study.checks]]`**")[2].partition("### [[conditions]]")[0]
    for name in names_of(check_named(key)):
        declared = "declare it in the class Check of listening/design/studyfile/schema.py"
        assert f"`{name}`" in settings, f"{declared}, then run python -m tools.doc_tables"


def test_the_guide_lists_every_check() -> None:
    (line,) = re.findall(r"which check, each once: (.*)", GUIDE)
    listed = "add its key to the class Check of listening/design/studyfile/schema.py"
    assert sorted(re.findall(r"`(\w+)`", line)) == sorted(Check.registry), listed


def test_every_column_of_sessions_csv_has_its_line() -> None:
    table = COLUMNS.partition("## sessions.csv")[2]
    for name in SessionRow.__annotations__:
        if name not in ("checks", "answers"):
            assert f"`{name}`" in table, name
    assert "`check_KEY_passed`" in table
    assert "`question_QUESTIONNAIRE_KEY`" in table
