"""What tables and figures are about as a paper says it: "MOS for naturalness", not keys."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from analysis.name_spans import Names
from analysis.ratings.estimands import family_title, name_of
from analysis.report.condition_labels import CHOICE, condition_names
from analysis.report.report_schema import Report


class Families:
    """The words for each family of a report: what was asked, and the task where it must be told."""

    def __init__(self, report: Report) -> None:
        self.names = condition_names(report)
        every = (*report["estimates"], *report["contrasts"], *report["shares"])
        # one of thousands on the same
        rows = list({_row_texts(row): row for row in every}.values())
        self.known: dict[str, Mapping[str, Any]] = {family_title(row): row for row in rows}
        bare = [{**row, "versus_condition": ""} for row in rows]
        self.known |= {family_title(row): row for row in bare}
        chosen = [{**row, "estimand": CHOICE} for row in bare]
        self.known |= {family_title(row): row for row in chosen}
        places_of: dict[str, set[tuple[str, str]]] = {}
        for row in rows:
            places_of.setdefault(_question(row), set()).add(_place(row))
        self.several = {words for words, places in places_of.items() if len(places) > 1}

    def words(self, row: Mapping[str, Any]) -> str:
        """What a row is about: "MOS for naturalness", and against what, where it is of pairs."""
        question = _question(row)
        study, task = _place(row)
        if question in self.several:
            question += f" in the task {_key_words(task)}" if task else ""
            question += f" of {study}" if study else ""
        versus = row.get("versus_condition")
        return f"{question}, against {self.names.get(versus, versus)}" if versus else question

    def name(self, key: str) -> str:
        """A condition's label, of two that were compared both."""
        first, versus, second = key.partition(" versus ")
        if versus and key not in self.names:
            return f"{self.names.get(first, first)}{versus}{self.names.get(second, second)}"
        return self.names.get(key, key)

    def question(self, row: Mapping[str, Any]) -> str:
        """What was asked, without a quantity: the criterion or the task, and where."""
        task, criterion = _key_words(row.get("task", "")), _key_words(row.get("criterion", ""))
        where = f" in the task {task}" if criterion and task not in ("", criterion) else ""
        return f"{criterion or task or 'the question'}{where}"

    def of_title(self, title: str) -> str:
        """The words for a family's title; other titles as they are."""
        return self.words(self.known[title]) if title in self.known else title

    @cached_property
    def in_words(self) -> Names:
        """What the spans of sentences and titles are in a paper."""
        words = {title: self.words(row) for title, row in self.known.items() if " · " in title}
        return Names(self.names, words)


def _row_texts(row: Mapping[str, Any]) -> tuple[str, ...]:
    """All of a row that titles and words are made of."""
    return (
        *(row["estimand"], *_place(row), row.get("criterion", "")),
        row.get("versus_condition", ""),
    )


def _question(row: Mapping[str, Any]) -> str:
    name, criterion = name_of(row["estimand"]), _key_words(row.get("criterion", ""))
    return f"{name} for {criterion}" if criterion and criterion != name else name


def _place(row: Mapping[str, Any]) -> tuple[str, str]:
    return row.get("study", ""), row.get("task", "")


def _key_words(key: str) -> str:
    """A key as words: human_likeness is human likeness."""
    return key.replace("_", " ").replace("-", " ").strip()


def sentence(text: str) -> str:
    """The text as a sentence: a capital letter before, a full stop behind."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else f"{text}."
