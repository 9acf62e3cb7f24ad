"""The guides say of checks and of sessions.csv what the code does."""

from pathlib import Path

import pytest

from listening.checks import Check, check_named
from listening.checks.check import names_of
from listening.selectors import SessionRow

DOCS = Path(__file__).resolve().parents[2] / "docs"
FOLDER = (DOCS / "study-folder.md").read_text("utf-8")
SECTION = FOLDER.partition("**`[[study.checks]]`**")[2].partition("### [[conditions]]")[0]
COLUMNS = (DOCS / "files-and-columns.md").read_text("utf-8")


@pytest.mark.parametrize("key", sorted(Check.registry))
def test_every_setting_of_a_check_has_its_line(key: str) -> None:
    settings = SECTION.partition("| field |")[2]
    for name in names_of(check_named(key)):
        assert f"`{name}`" in settings


def test_every_column_of_sessions_csv_has_its_line() -> None:
    table = COLUMNS.partition("## sessions.csv")[2]
    for name in SessionRow.__annotations__:
        if name not in ("checks", "answers"):
            assert f"`{name}`" in table, name
    assert "`check_KEY_passed`" in table
    assert "`question_QUESTIONNAIRE_KEY`" in table
