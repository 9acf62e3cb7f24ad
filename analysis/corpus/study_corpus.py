"""The corpus of a study that is stored here: its stimuli with their texts, tags and files."""

from __future__ import annotations

import hashlib

from analysis.corpus.clips import TRAP, Corpus, CorpusClip
from listening.selectors import StimulusRow, stimuli_mark, stimulus_rows


def study_corpus(study: str) -> Corpus:
    """Every stimulus that was imported; joined clips are left out, since their lines are here."""
    rows = stimulus_rows(study)
    return Corpus(study, tuple(_clip_of(row) for row in rows if not row["turns"]))


def corpus_mark(study: str) -> str:
    """A mark that changes when a clip, a text or a tag of the study does."""
    return hashlib.sha256(stimuli_mark(study)[0].encode()).hexdigest()[:32]


def _clip_of(row: StimulusRow) -> CorpusClip:
    tags = {
        "condition": row["condition"],
        "language": row["language"],
        "dimension": row["dimension"],
        "speaker": row["speaker"],
        TRAP: TRAP if row["role"] == TRAP else "",
    }
    return CorpusClip(
        stimulus=row["stimulus"],
        file=row["file"],
        where=f"stimulus {row['stimulus']}",
        path=row["path"],
        item=row["item"],
        condition=row["condition"],
        text=row["shown_text"] or row["text"],
        language=row["language"],
        duration_s=row["duration_s"],
        columns={**row["attributes"], **{name: value for name, value in tags.items() if value}},
    )
