"""A report as who has only a link to it may see it: without single raters and their own words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.report.html.view import titles
from analysis.report.report_schema import (
    FigureRecord,
    PartRecord,
    PlaceRow,
    Report,
    TableRecord,
)

RATER_PARTS = frozenset({"raters", "rater_models", "rater_answers"})  # whose subject are raters
# Parts made of raters' own words.
COMMENT_PARTS = frozenset({"justifications", "example_reasons", "transcription"})
# A part that stands in none of the three is shown to nobody.
SYSTEM_PARTS = frozenset(
    {
        *("answer", "comparisons", "models", "ordinal", "general_model", "general_gaussian"),
        *("named_tests", "pairs", "pair_covariates", "rankings", "agreement", "screening"),
        *("trap_detection", "recommendation", "against_people", "prediction_powered"),
        *("clip_scores", "att", "lfs", "long_form", "nvv", "vocalisations", "criteria"),
        *("voice_cloning", "voice_conversion", "rate_curve", "choices", "languages", "marking"),
        *("stop_rule", "participants", "versions", "robustness", "hypotheses", "clip_validation"),
    }
)
A_RATER = "(a rater)"
RATER_COLUMNS = frozenset({"rater", "session"})


@dataclass(frozen=True)
class Private:
    """What a shared report must not tell.

    ``code`` matches a rater's code wherever it stands in a text. ``words`` says whether raters'
    own words are held back; ``questions`` are the tasks and criteria that are answered in words.
    """

    code: re.Pattern[str]
    words: bool = True
    questions: frozenset[tuple[str, str]] = frozenset()


def shared_report(report: Report, private: Private) -> Report:
    """The report without what names a rater, and without raters' own words unless they may be read.

    Parts that are about single raters go; of the others every table with a column of raters or
    sessions, every row and every sentence with a rater's code; with ``private.words`` also the
    parts that quote reasons, and all that is told of questions that are answered in words.
    """
    redactor = _Redactor(report, private)
    shown = SYSTEM_PARTS | (frozenset() if private.words else COMMENT_PARTS)
    return {
        **report,
        "titles": redactor.texts(titles(report)),
        "warnings": redactor.texts(report["warnings"]),
        "input": {"notes": [], "columns_not_used": []},  # of a file; a study has none
        "estimates": redactor.rows(report["estimates"]),
        "contrasts": redactor.rows(report["contrasts"]),
        "shares": redactor.rows(report["shares"]),
        "screening": redactor.rows(report["screening"]),
        "left_out": {},  # it names sessions
        "parts": [
            redactor.part(part)
            for part in report.get("parts", ())
            if part["key"] in shown and not redactor.nothing_else
        ],
    }


def held_back(report: Report, private: Private) -> list[str]:
    """The titles of the parts that `shared_report` leaves out."""
    shown = {part["key"] for part in shared_report(report, private)["parts"]}
    return [part["title"] for part in report.get("parts", ()) if part["key"] not in shown]


def without_codes(text: str, private: Private) -> str:
    """The text with each rater's code replaced: what a part says in a way that nobody foresaw."""
    return private.code.sub(A_RATER, text)


class _Redactor:
    """Takes out of a report's pieces what is private."""

    def __init__(self, report: Report, private: Private) -> None:
        self.code = private.code
        self.questions = private.questions if private.words else frozenset()
        every = {
            (row["task"], row["criterion"]) for row in (*report["estimates"], *report["shares"])
        }
        self.nothing_else = bool(every) and every <= self.questions
        # as titles and as warnings name a task and criterion
        joints = (" · ", ", ")
        self.names = tuple(joint.join(each) for each in self.questions for joint in joints)

    def _is_in_words(self, row: PlaceRow) -> bool:
        return (row["task"], row["criterion"]) in self.questions

    def rows(self, rows: Iterable[Any]) -> list[Any]:
        return [row for row in rows if not self._is_in_words(row)]

    def is_private(self, value: Any) -> bool:
        """Whether a cell or a sentence holds a code, or is about a question answered in words."""
        if not isinstance(value, str):
            return False
        return bool(self.code.search(value)) or any(name in value for name in self.names)

    def texts(self, texts: Iterable[str]) -> list[str]:
        return [text for text in texts if not self.is_private(text)]

    def part(self, part: PartRecord) -> PartRecord:
        if part["problem"]:
            return {**part, "problem": self.code.sub(A_RATER, part["problem"])}
        tables = [self._table(each) for each in part["tables"] if self._may_show(each)]
        figures = [self._figure(each) for each in part["figures"] if self._may_show(each)]
        return {
            **part,
            "sentences": self.texts(part["sentences"]),
            "warnings": self.texts(part["warnings"]),
            "methods": self.texts(part["methods"]),
            "tables": [table for table in tables if table["rows"]],
            "figures": [figure for figure in figures if figure["rows"]],
            "files": {},
        }

    def _may_show(self, each: TableRecord | FigureRecord) -> bool:
        columns: Sequence[Mapping[str, Any]] = each.get("columns", ())  # type: ignore[assignment]  # of figures none
        of_raters = any(column["key"] in RATER_COLUMNS for column in columns)
        return not of_raters and not self.is_private(each["about"])

    def _table(self, table: TableRecord) -> TableRecord:
        return {**table, "rows": self._public(table["rows"]), "note": self._note(table["note"])}

    def _figure(self, figure: FigureRecord) -> FigureRecord:
        return {**figure, "rows": self._public(figure["rows"]), "note": self._note(figure["note"])}

    def _public(self, rows: Collection[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return [row for row in rows if not any(map(self.is_private, row.values()))]

    def _note(self, note: str) -> str:
        return "" if self.is_private(note) else note
