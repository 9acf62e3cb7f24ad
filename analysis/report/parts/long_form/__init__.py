"""Long-form speech after Clark et al. (2019): settings, context effects, paragraphs, sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from analysis.ratings.estimands import name_of
from analysis.ratings.study_scores import WORDS
from analysis.report.content import Content
from analysis.report.part import Part, PartInput
from analysis.report.parts.long_form.condition_tests import conditions
from analysis.report.parts.long_form.context_tables import contexts
from analysis.report.parts.long_form.paragraph_tables import paragraphs
from analysis.statistics.longform import Material, materials
from analysis.statistics.longform.long_form_table import is_long_form

NOTHING = (
    "no rating has a paragraph, or a condition named like Ri, Tp or R1T1: fill the column "
    "paragraph, and call tasks isolation, paragraph and context where conditions have other names"
)


class LongForm(Part):
    """Sentences alone, whole paragraphs, and sentences after their context, side by side."""

    key = "long_form"
    version = "1"
    title = "Long-form: settings, contexts, paragraphs"
    order = 40
    always = False
    presets = frozenset({"long_form"})

    def applies(self, inputs: PartInput) -> bool:
        return is_long_form(inputs.kept)

    def make(self, inputs: PartInput) -> Content:
        found = list(materials(inputs.kept))
        if not found:
            raise ValueError(NOTHING)
        words = words_of(inputs)
        pieces: list[tuple[str, Content]] = []
        for place, material in enumerate(found):
            about = about_of(material)
            inputs.progress(place / len(found), about)
            suffix = f"_{place + 1}" if len(found) > 1 else ""
            pieces.append((about, _of_material(material, inputs, words, suffix)))
        return _together(_titled(pieces))


def words_of(inputs: PartInput) -> dict[str, float]:
    """The number of words by stimulus, from scores with the metric n_words."""
    if inputs.scores is None or not len(inputs.scores):
        return {}
    rows = inputs.scores[(inputs.scores["metric"] == WORDS) & inputs.scores["value"].notna()]
    return dict(zip(rows["stimulus"].astype(str), rows["value"].astype(float), strict=True))


def about_of(material: Material) -> str:
    """What material is about, for headings: estimand, study, criterion and key."""
    estimand = min(material.estimands, key=len)
    name = name_of(estimand)
    parts = [name, material.study, material.criterion, material.key]
    return " · ".join(part for part in parts if part)


def _of_material(
    material: Material, inputs: PartInput, words: dict[str, float], suffix: str
) -> Content:
    options = inputs.options
    return _together(
        [
            conditions(material, suffix, options.level),
            contexts(material, suffix, options.level),
            paragraphs(material, suffix, options.level, words, options.reference),
        ]
    )


def _titled(pieces: Sequence[tuple[str, Content]]) -> Iterator[Content]:
    """Pieces with what they are about in their words, unless that is all, or said of several.

    ``about`` of figures and tables stays empty: they span the tasks of a study.
    """
    counts = Counter(text for _, piece in pieces for text in piece.warnings)
    for about, piece in pieces:
        if len(pieces) == 1:
            yield piece
        else:
            warned = [x if counts[x] > 1 else f"{about}: {x}" for x in piece.warnings]
            told = [f"{about}: {text}" for text in piece.sentences]
            figures = [replace(x, title=f"{x.title} ({about})") for x in piece.figures]
            tables = [replace(x, title=f"{x.title} ({about})") for x in piece.tables]
            yield replace(piece, sentences=told, warnings=warned, figures=figures, tables=tables)


def _together(pieces: Iterable[Content]) -> Content:
    each = list(pieces)
    return Content(
        sentences=[text for piece in each for text in piece.sentences],
        figures=[figure for piece in each for figure in piece.figures],
        tables=[table for piece in each for table in piece.tables],
        warnings=list(dict.fromkeys(text for piece in each for text in piece.warnings)),
        methods=list(dict.fromkeys(text for piece in each for text in piece.methods)),
    )
