"""Long-form speech after Clark et al. (2019): settings, context effects, paragraphs, sentences."""

from __future__ import annotations

from collections import Counter

from analysis.ratings.estimands import name_of
from analysis.ratings.study_scores import WORDS
from analysis.report.content import Content, together, warned_once, worded
from analysis.report.part import Part, PartInput
from analysis.report.parts.long_form.condition_means import condition_tests, conditions
from analysis.report.parts.long_form.context_tables import contexts
from analysis.report.parts.long_form.paragraph_tables import paragraphs
from analysis.statistics.longform import Material, materials
from analysis.statistics.longform.long_form_table import is_long_form
from analysis.statistics.options import Options

NOTHING = (
    "no rating has a paragraph, or a condition named like Ri, Tp or R1T1: fill the column "
    "paragraph, and call tasks isolation, paragraph and context where conditions have other names"
)


class LongForm(Part):
    """Sentences alone, whole paragraphs, and sentences after their context, side by side."""

    key = "long_form"
    version = "2"
    title = "Long-form: settings, contexts, paragraphs"
    order = 40
    always = False
    presets = frozenset({"long_form"})

    def applies(self, inputs: PartInput) -> bool:
        return is_long_form(inputs.kept)

    def make(self, inputs: PartInput) -> Content:
        every = list(materials(inputs.kept))
        if not every:
            raise ValueError(NOTHING)
        words = words_of(inputs)
        contents = []
        for place, material in enumerate(every):
            inputs.progress(place / len(every), about_of(material))
            suffix = f"_{place + 1}" if len(every) > 1 else ""
            contents.append(_of_material(material, inputs.options, words, suffix))
        if len(every) > 1:
            counts = Counter(text for content in contents for text in content.warnings)
            common = {text for text, count in counts.items() if count > 1}
            contents = [
                worded(content, about_of(material), common)
                for material, content in zip(every, contents, strict=True)
            ]
        return warned_once(together(contents))


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
    material: Material, options: Options, words: dict[str, float], suffix: str
) -> Content:
    """``about`` of its figures and tables stays empty: they span the tasks of a study."""
    contents = [
        conditions(material, suffix, options.level),
        condition_tests(material, suffix, options.level),
        contexts(material, suffix, options.level),
        paragraphs(material, suffix, options.level, words, options.reference),
    ]
    return warned_once(together(contents))
