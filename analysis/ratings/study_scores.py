"""A study's own rows: metric scores, numbers of words, sessions and questionnaires."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from analysis.ratings.cells import csv_lines

if TYPE_CHECKING:
    from listening.selectors import StimulusRow


WORDS, VERSION = "n_words", "1"
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+(?:['’\-][^\W_{_CJK}]+)*")


class WordRow(TypedDict):
    """The number of words of a stimulus, as a score."""

    sha256: str
    stimulus: str
    metric: str
    version: str
    value: float


def study_scores(slug: str) -> list[dict[str, Any]]:
    """Every score of a study of this installation as plain rows, metrics first.

    Each with what is known of its clip (`listening.models.material.ClipFacts`), and of
    wer and cer with what the recogniser heard.
    """
    from listening.selectors import clip_facts, stimulus_rows
    from metrics.scoring.selectors import recognised_texts, score_rows

    known = clip_facts(slug)
    rows = [*score_rows(slug), *word_rows(stimulus_rows(slug))]
    recognised = any(row["metric"] in ("wer", "cer") for row in rows)
    texts = recognised_texts(slug) if recognised else {}
    return [
        {
            **row,
            **known.get(row["stimulus"], {}),
            "hypothesis": texts.get((row["stimulus"], row["metric"]), ""),
        }
        for row in rows
    ]


def word_rows(stimuli: Iterable[StimulusRow]) -> list[WordRow]:
    """The number of words of each long-form stimulus that has a text, as scores.

    A stimulus is long-form where the study's settings made it of lines: its attributes say so.
    """
    return [
        {
            "sha256": row["sha256"],
            "stimulus": row["stimulus"],
            "metric": WORDS,
            "version": VERSION,
            "value": float(count_words(row["text"])),
        }
        for row in stimuli
        if "setting" in row["attributes"] and row["text"]
    ]


def count_words(text: str) -> int:
    """Words of letters or digits; each Chinese character or kana counts as one."""
    return len(_WORD.findall(text))


SPREAD = ("checks", "answers")  # of a session's row: their values stand in columns of their own


def sessions_csv(study: str) -> Iterator[str]:
    """CSV text of a study's sessions, line by line; cells are guarded as those of ratings are."""
    from listening.selectors import session_columns, session_rows

    return csv_lines(map(spread_out, session_rows(study)), session_columns(study))


def questionnaires_csv(study: str) -> Iterator[str]:
    """CSV text of all answers to questionnaires, a row for each: with task and block, and when."""
    from listening.selectors import QuestionnaireRow, questionnaire_rows

    return csv_lines(questionnaire_rows(study), tuple(QuestionnaireRow.__annotations__))


def spread_out(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with what `checks` and `answers` hold beside the rest."""
    values = {name: value for name, value in row.items() if name not in SPREAD}
    return {**values, **{k: v for name in SPREAD for k, v in row[name].items()}}
