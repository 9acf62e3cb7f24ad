"""Ratings as they may be given to others: other codes, no times, no words unless they may leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

ABOUT = {  # every column of the ratings, and what it holds
    "study": "key of the study",
    "task": "key of the task",
    "method": "way of asking, such as mos (absolute category rating) or att (Audio Turing Test)",
    "criterion": "the question about the clip",
    "estimand": "what the mean of the scores is, such as mos or hls",
    "rater": "code of the rater, drawn anew for this dataset",
    "session": "code of the rater's session, drawn anew for this dataset",
    "block": "code of the clips that were handed out together, drawn anew for this dataset",
    "position": "place of the trial in its session, from 1",
    "item": "key of the text or sentence",
    "dimension": "capability that the item probes",
    "paragraph": "paragraph that the item is from",
    "language": "language tag of the speech",
    "split": "split of the item, as the study names it",
    "condition": "key of the system with its voice and settings",
    "role": "test, reference, anchor or prompt; empty for conditions of traps",
    "system": "system of the condition",
    "voice": "voice of the condition",
    "stimulus": "key of the clip that was rated",
    "versus_condition": "condition of the clip that it was compared with",
    "versus_stimulus": "clip that it was compared with",
    "presented_first": "which of two clips came first: rated or versus",
    "context": "clips and texts that came just before",
    "label": "answer as it was given",
    "score": "number of the answer; of comparisons above 0 is good for the condition",
    "correct_answer": "right answer of the clip, where it has one",
    "alternatives": "answers to choose from, as in a|b",
    "pair_probability": "probability with which the two systems were drawn; empty: not drawn",
    "trap": "kind of trap or training; empty for rated clips",
    "trap_passed": "whether the answer to the trap was as expected",
    "latency_ms": "milliseconds from when the clip could be played to the answer",
    "plays": "how often the clip was played",
    "heard_fraction": "share of the clip that was heard, 1 for all",
    "session_status": "how the session ended",
    "counts": "whether the rating fills a place of the plan; never for traps and repeats",
    "version": "version of the study",
    "headphones": "whether the rater wore headphones, by checks and answers; empty: not asked",
    "simulated": "whether a script answered, no person",
    "justification": "reason in the rater's own words",
}
WORDS = "justification"
STAY = {  # why a session's ratings stay
    "withdrawn": "of raters who withdrew",
    "rejected": "of sessions that were rejected",
}
SCRIPTED = "of simulated raters"
IN_ORDER = ("rater", "session", "position", "task", "criterion", "stimulus")
IN_WORDS = "answers in raters' own words"


@dataclass
class PublishedRatings:
    """Plain rows with the columns of `ABOUT`, and how many stayed and why."""

    columns: list[str]
    rows: list[dict[str, Any]] = field(default_factory=list)
    stayed: Counter[str] = field(default_factory=Counter)


def publish_ratings(
    rows: Iterable[Mapping[str, Any]],
    draw: Random,
    *,
    scripted: Collection[str] = frozenset(),
    with_scripted: bool = False,
    questions_in_words: Collection[tuple[str, str]] = frozenset(),
    with_words: bool = False,
) -> PublishedRatings:
    """The ratings that may leave, under codes that ``draw`` shuffles, in the order of these codes.

    ``rows`` are ratings as `listening.selectors.rating_rows` gives them. Left out and counted are
    those of raters who withdrew, of rejected sessions, of ``scripted`` raters unless
    ``with_scripted``, and, unless ``with_words``, answers to ``questions_in_words`` (task and
    criterion each); reasons stay away then, too. Times of answers, pay and reviews always stay.
    """
    result = PublishedRatings([name for name in ABOUT if with_words or name != WORDS])
    for row in rows:
        is_scripted = row["rater"] in scripted
        in_words = (row["task"], row["criterion"]) in questions_in_words
        why = STAY.get(row["session_status"], "")
        if not why and is_scripted and not with_scripted:
            why = SCRIPTED
        if not why and in_words and not with_words:
            why = IN_WORDS
        if why:
            result.stayed[why] += 1
            continue
        whole = {**row, "simulated": is_scripted}
        result.rows.append({name: whole[name] for name in result.columns})
    for name in ("rater", "session", "block"):
        _redraw(result.rows, name, draw)
    result.rows.sort(key=lambda row: [row[name] for name in IN_ORDER])
    return result


def _redraw(rows: list[dict[str, Any]], name: str, draw: Random) -> None:
    """Codes in a random order in place of those of the platform, which lead to people there."""
    known = sorted({row[name] for row in rows})
    draw.shuffle(known)
    width = max(3, len(str(len(known))))
    codes = {code: f"{name}-{place:0{width}}" for place, code in enumerate(known, start=1)}
    for row in rows:
        row[name] = codes[row[name]]
