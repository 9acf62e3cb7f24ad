"""The clips of a corpus: what a table, a folder or a study says of each, and what is found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from listening.methods.text_normalisation import normalised_text
from listening.methods.text_units import units
from listening.methods.vocalisation_types import marked

TRAP, ROLE, PROMPT = "trap", "role", "prompt"  # columns, and a role of conditions


@dataclass(frozen=True)
class CorpusClip:
    """One clip with its place, texts and tags; ``path`` is empty where its file is not known.

    ``columns`` are the columns of its table under their names, those below included.
    """

    stimulus: str
    file: str  # as the table or the folder names it
    where: str  # of its row: "stimuli.csv, row 14"; of a study the stimulus
    path: str = ""
    item: str = ""  # clips of one item hold the same sentence; empty: nobody said
    condition: str = ""
    text: str = ""  # with its marks, such as [laugh]
    transcript: str = ""  # what is spoken, where the text says it otherwise
    language: str = ""
    duration_s: float | None = None
    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """What says which sentence it is: the item, else the clip itself."""
        return self.item or self.stimulus

    @property
    def is_auxiliary(self) -> bool:
        """Whether it is a trap or a prompt: these are not rated, and repeat clips by design."""
        return bool(self.columns.get(TRAP)) or self.columns.get(ROLE) == PROMPT

    @cached_property
    def spoken(self) -> str:
        """The transcript, else the text, without its marks."""
        return marked(self.transcript or self.text, self.language)[0]

    @cached_property
    def normalised(self) -> str:
        """The spoken text as texts are compared."""
        return normalised_text(self.spoken, self.language)

    @cached_property
    def length(self) -> int:
        """Words of the text, or its characters in a language without spaces; no punctuation."""
        return len(units(self.spoken, self.language))


@dataclass(frozen=True)
class Corpus:
    """All clips in their order, and notes on how they were read."""

    name: str
    clips: tuple[CorpusClip, ...]
    notes: tuple[str, ...] = ()

    def with_durations(self, seconds: Sequence[float | None]) -> Corpus:
        """The same with these lengths, where a clip has none yet."""
        clips = tuple(
            replace(clip, duration_s=clip.duration_s if each is None else each)
            for clip, each in zip(self.clips, seconds, strict=True)
        )
        return replace(self, clips=clips)

    def rated(self) -> Corpus:
        """The same without traps and prompts."""
        return replace(self, clips=tuple(clip for clip in self.clips if not clip.is_auxiliary))

    def sentences(self) -> Iterator[CorpusClip]:
        """The first clip of each sentence, text and language."""
        seen = set()
        for clip in self.clips:
            key = (clip.sentence, clip.text, clip.language)
            if key not in seen:
                seen.add(key)
                yield clip


@dataclass(frozen=True)
class Finding:
    """Something to look at: which check found it, where, what it is and what to do.

    ``kind`` is a key of `analysis.corpus.corpus_report.KINDS`; ``value`` a similarity or another
    measure.
    """

    kind: str
    clip: CorpusClip
    what: str
    remedy: str
    value: float | None = None
    others: tuple[CorpusClip, ...] = ()
