"""The corpus of a study or a draft that is stored here: clips with their texts, tags and files.

A subject is the key of a study, or ``drafts/`` and the code of a draft.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from analysis.corpus.clips import ROLE, TRAP, Corpus, CorpusClip
from listening.selectors import StimulusRow, draft_folder, draft_mark, stimuli_mark, stimulus_rows

DRAFTS = "drafts/"


def stored_corpus(subject: str) -> Corpus:
    """The corpus of a study or a draft. Raises CorpusError where a draft cannot be read."""
    if not subject.startswith(DRAFTS):
        return study_corpus(subject)
    from analysis.corpus.sources import CorpusError, read_corpus

    folder = draft_folder(subject.removeprefix(DRAFTS))
    try:
        return replace(read_corpus(folder), name="Draft")
    except CorpusError as error:  # places on the server are nobody's business
        words = str(error).replace(f"{folder}/", "").replace(str(folder), "The draft")
        raise CorpusError(words) from None


def stored_mark(subject: str) -> str:
    """A mark that changes when a clip, a text or a tag does; empty where there is no clip."""
    if subject.startswith(DRAFTS):
        return draft_mark(subject.removeprefix(DRAFTS))
    mark, hashes = stimuli_mark(subject)
    return hashlib.sha256(mark.encode()).hexdigest() if hashes else ""


def study_corpus(study: str) -> Corpus:
    """Every stimulus that was imported; joined clips are left out, since their lines are here."""
    rows = stimulus_rows(study)
    return Corpus(study, tuple(_clip_of(row) for row in rows if not row["turns"]))


def _clip_of(row: StimulusRow) -> CorpusClip:
    tags = {
        "condition": row["condition"],
        "language": row["language"],
        "dimension": row["dimension"],
        "speaker": row["speaker"],
        TRAP: TRAP if row["role"] == TRAP else "",
        ROLE: row["role"],
    }
    return CorpusClip(
        stimulus=row["stimulus"],
        file=row["file"],
        where=f"stimulus {row['stimulus']}",
        path=row["path"],
        item=row["item"],
        condition=row["condition"],
        text=row["shown_text"] or row["text"],
        transcript=row["text"],
        language=row["language"],
        duration_s=row["duration_s"],
        columns={**row["attributes"], **{name: value for name, value in tags.items() if value}},
    )
