"""A study's scores: those of its metrics, and the number of words of long-form clips."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypedDict

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

    Each with what is known of its clip (`listening.selectors.ClipFacts`).
    """
    from listening.selectors import clip_facts, stimulus_rows
    from metrics.scoring.selectors import score_rows

    known = clip_facts(slug)
    rows = [*score_rows(slug), *word_rows(stimulus_rows(slug))]
    return [{**row, **known.get(row["stimulus"], {})} for row in rows]


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
