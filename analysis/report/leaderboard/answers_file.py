"""The single answers behind a leaderboard as a public file, under pseudonyms of its own."""

from __future__ import annotations

import gzip
import hashlib
import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import pandas as pd

from analysis.ratings.cells import LEFT_OUT_BY, csv_lines, in_pieces
from analysis.report.leaderboard.gathering import Question, StudyInput, question_set
from analysis.statistics.linking.linked_studies import Same

ABOUT = {  # every column of the file, and what it holds
    "question": "number of the leaderboard's table, from 1",
    "method": "way of asking, such as mos or ab",
    "criterion": "the question about the clip",
    "unit": "key of the study, with the task where a study asks the same in several",
    "system": "name of the system",
    "versus": "system that it was compared with",
    "clip": "pseudonym of the audio: the same audio has the same one in all studies",
    "versus_clip": "the same of the other clip",
    "item": "study and key of the sentence; a pseudonym unless its audio has a licence",
    "rater": "pseudonym of the rater, of this leaderboard alone",
    "simulated": "whether a script answered, no person",
    "screen": "pseudonym of the screen, of best-worst choices",
    "score": "number of the answer; of comparisons above 0 prefers the system",
    "order": "of comparisons: 1 if the system was heard second, -1 first, 0 unknown",
    "day": "day of the answer (UTC)",
    "pair_probability": "probability with which the two systems were drawn; empty: not drawn",
    LEFT_OUT_BY: "rules that exclude the answer; empty: it counts",
}
HIDDEN = {"clip": "clip", "versus_clip": "clip", "rater": "rater", "screen": "screen"}
_NAMES = ("system", "versus", *HIDDEN, "item", LEFT_OUT_BY)
Pseudonym = Callable[[str, str], str]  # of a kind of name ("rater", "clip", …) and the name


class AnswersFacts(TypedDict):
    """What a file of answers holds: it stands in the file of the version."""

    sha256: str  # of the CSV
    size_bytes: int
    answers: int
    counted: int  # not excluded
    studies: list[str]
    left_out: dict[str, str]  # studies that are not in it, and why
    withheld: dict[str, int]  # answers that are not in it, and why


@dataclass(frozen=True)
class AnswersFile:
    """A CSV, compressed, and what is in it."""

    packed: bytes
    facts: AnswersFacts


def answers_file(
    studies: Sequence[StudyInput],
    withheld: Mapping[str, str],
    with_audio: Sequence[str],
    pseudonym: Pseudonym,
) -> AnswersFile | None:
    """Return the answers of ``studies``, without those ``withheld`` (study key -> why).

    Studies in ``with_audio`` show the keys of their items; of others each is a ``pseudonym``.
    None where nothing may be published.
    """
    rows = list(_rows(studies, withheld, with_audio, pseudonym))
    if not rows:
        return None
    text, packed, size = hashlib.sha256(), io.BytesIO(), 0
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as file:
        for piece in in_pieces(csv_lines(rows, tuple(ABOUT))):
            text.update(piece)
            size += file.write(piece)
    keys = [study.facts["key"] for study in studies]
    published = [study for study in studies if study.facts["key"] not in withheld]
    stayed = sum((Counter(study.withheld) for study in published), Counter[str]())
    facts = AnswersFacts(
        sha256=text.hexdigest(),
        size_bytes=size,
        answers=len(rows),
        counted=sum(not row[LEFT_OUT_BY] for row in rows),
        studies=[key for key in keys if key not in withheld],
        left_out={key: withheld[key] for key in keys if key in withheld},
        withheld=dict(stayed),
    )
    return AnswersFile(packed.getvalue(), facts)


def _rows(
    studies: Sequence[StudyInput],
    withheld: Mapping[str, str],
    with_audio: Sequence[str],
    pseudonym: Pseudonym,
) -> Iterator[dict[str, Any]]:
    collection = question_set(studies)
    items = _item_names(collection.same, with_audio, pseudonym)
    for number, question in enumerate(collection.questions, 1):
        table = _table(question, withheld)
        for name, kind in HIDDEN.items():
            hidden = {each: each and pseudonym(kind, each) for each in table[name].unique()}
            table[name] = table[name].map(hidden)
        table["item"] = table["item"].map(items)
        table = table.assign(question=number, method=question.method, criterion=question.criterion)
        # in an order that does not tell who answered when
        order = ["unit", "rater", "clip", "versus_clip", "screen", "score", LEFT_OUT_BY]
        table = table.sort_values(order, kind="stable")[list(ABOUT)].astype(object)
        plain = table.where(table.notna(), None)
        for values in plain.itertuples(index=False, name=None):
            yield dict(zip(ABOUT, values, strict=True))


def _table(question: Question, withheld: Mapping[str, str]) -> pd.DataFrame:
    """The answers of a question that may be published, those that are excluded too."""
    counted = question.ratings.assign(**{LEFT_OUT_BY: ""})
    parts = [part for part in (counted, question.excluded) if part is not None and len(part)]
    table = pd.concat(parts, ignore_index=True)
    table = table[~table["study"].isin(list(withheld))]
    absent: dict[str, str | None] = {name: "" for name in _NAMES if name not in table}
    absent |= {name: None for name in ("order", "pair_probability") if name not in table}
    return table.assign(**absent)


def _item_names(same: Same, with_audio: Sequence[str], pseudonym: Pseudonym) -> dict[str, str]:
    """The public name of each common item: its first study and key, or a pseudonym of them."""
    places: dict[str, list[tuple[str, str]]] = {}
    for place, name in same.items.items():
        places.setdefault(name, []).append(place)
    return {
        name: "/".join(own[0])
        if all(study in with_audio for study, _ in own)
        else pseudonym("item", "/".join(own[0]))
        for name, own in places.items()
    }
