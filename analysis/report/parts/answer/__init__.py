"""The answer: the conditions in order with intervals and tiers, a sentence, and what is weak."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.citations import citation, cite, cite_author
from analysis.formatting import counted, number
from analysis.name_spans import condition_span, family_span
from analysis.ratings.breakdowns import Family, families, labelled_families
from analysis.ratings.large_tables import LARGE
from analysis.ratings.reference import Reference
from analysis.report.content import (
    INTERVAL_CELLS,
    Column,
    Content,
    Figure,
    Headline,
    Table,
    pick_cells,
)
from analysis.report.part import Part, PartInput
from analysis.report.parts.answer import caveats, narrative
from analysis.report.parts.answer.caveats import Caveat
from analysis.report.parts.answer.narrative import ranking_sentences
from analysis.report.parts.models import TOO_NARROW, family_effects
from analysis.report.ranking import Ranking, key_of, rankings
from analysis.statistics.intervals import TWO_WAY

MOST_DRAWN = 200
MOST_LETTERS = 8  # beside a name in a figure
NOTHING = "There is no result, because no rating is left. See which rules exclude ratings."
STRETCHED = (
    "Listeners use the scale relative to the clips they hear, so do not compare these means with "
    f"those of another test {cite('cooper2023')}."
)
METHOD = (
    f"Means have {cite_author('korn1998', possessive=True)} interval for bounded scores. Its "
    f"variance is clustered over raters and items ({citation('cameron2011')}, with G/(G-1) for "
    "each), at least that of variance components pooled over the conditions. Differences combine "
    f"the bounds of both means {cite('zou2008')}. Those with the reference and those among the "
    f"systems are one family each, adjusted in a single step {cite('hothorn2008')}; letters are a "
    f"compact letter display by maximal cliques {cite('piepho2004')}."
)
TIERS = (
    "Conditions that share a letter are not significantly different (adjusted p ≥ {alpha:.2g}). "
    "Conditions of different tiers always differ; within a tier some may differ: see the letters."
)
GENUINE = "human"  # as traps of genuine recordings are called


class Answer(Part):
    """Which condition scores highest, and from which it is not significantly different."""

    key = "answer"
    version = "1"
    title = "Main result"
    order = 5

    def applies(self, inputs: PartInput) -> bool:
        return len(inputs.ratings) > 0

    def make(self, inputs: PartInput) -> Content:
        answers = _Answers(inputs)
        for family in families(inputs.ratings):
            inputs.progress(0.0, family.title)
            answers.add(family)
        for family in labelled_families(inputs.ratings):
            answers.add_chosen(family)
        few = len(inputs.ratings) <= LARGE  # of more, the model has all effects
        for each, effects in family_effects(inputs) if few else ():
            if effects.too_large:
                answers.too_narrow(each.family)
        return answers.shown()


class _Answers:
    """Sentences, figures, tables and warnings as they are gathered, family by family."""

    def __init__(self, inputs: PartInput) -> None:
        self.inputs, self.level = inputs, inputs.options.level
        self.sentences: list[tuple[str, str]] = []
        self.figures: list[Figure] = []
        self.tables: list[Table] = []
        self.caveats: list[tuple[str, Caveat]] = []
        self.headlines: dict[str, str] = {}  # by the family's title
        self.short_names: dict[str, str] = {}
        self.about: list[tuple[str, str, str]] = []
        self.standing: dict[int, list[Ranking]] = {}
        for s in rankings(inputs):
            self.standing.setdefault(s.family_key, []).append(s)

    def add(self, family: Family) -> None:
        title = family.title
        name, place = caveats.short_name(family), len(self.about) + 1
        self.about.append((family.estimand, family.group["task"], name))
        self.short_names[title] = name
        self.caveats += [
            (name, text) for text in caveats.of_family(family, self.inputs.options.reference)
        ]
        if family.in_pairs:
            pairs = narrative.pairs_of(family, self.level)
            self.sentences.append((title, narrative.pair_sentences(family, pairs, self.level)))
            self.headlines[title] = narrative.headline_of_pairs(family, pairs, 1 - self.level)
            if pairs:
                self.figures.append(narrative.pair_figure(place, family, pairs, self.level, title))
            return
        standing = [s for s in self.standing.get(int(family.table.index[0]), []) if s.means]
        if standing:
            self.headlines[title] = narrative.headline_of_rankings(standing)
        for s in standing:
            self._add_standing(place, s)
            self.caveats += [(name, text) for text in caveats.of_ranking(s)]

    def too_narrow(self, family: Family) -> None:
        caveat = Caveat(caveats.TOO_NARROW, f"{TOO_NARROW}.")
        self.caveats.append((caveats.short_name(family), caveat))

    def add_chosen(self, family: Family) -> None:
        title = family.title
        rows = narrative.shares_of(family, self.inputs.report.get("shares", []))
        self.sentences.append((title, narrative.choice_sentences(rows)))
        self.headlines[title] = narrative.headline_of_choices(rows)
        self.short_names[title] = caveats.short_name(family)
        self.figures += narrative.choice_figure(len(self.sentences), title, rows)

    def _add_standing(self, place: int, s: Ranking) -> None:
        reference = s.reference
        sentences = [ranking_sentences(s, reference), *_of_genuine(self.inputs, s, reference)]
        self.sentences.append((s.title, " ".join(sentences)))
        self.figures.append(_figure(place, s))
        self.tables.append(_table(place, s))

    def shown(self) -> Content:
        several = len(self.sentences) > 1
        missing = list(self._no_reference())
        of_all = list(caveats.of_all(self.inputs.table, self.inputs.ratings, self.about))
        of_none = [each.text for each in of_all]
        warnings = [
            *(each.text for each in missing),
            *caveats.merge_caveats(self.caveats),
            *of_none,
        ]
        return Content(
            sentences=[
                f"{family_span(title, '{}: ')}{text}" if several else text
                for title, text in self.sentences
            ]
            or [NOTHING],
            figures=self.figures,
            tables=self.tables,
            warnings=warnings,
            methods=[METHOD] if self.tables else [],
            headlines=[
                Headline(title, sentence, self._worst_first(title, [*missing, *of_all]))
                for title, sentence in self.headlines.items()
            ],
        )

    def _no_reference(self) -> Iterator[Caveat]:
        reference = self.inputs.options.reference
        rankings_ = [s for each in self.standing.values() for s in each]
        rated = {name for s in rankings_ for name in (*s.cell.names, s.versus)}
        if reference and reference not in rated:
            text = f"{condition_span(reference)} was asked for as the reference but was not rated."
            yield Caveat(caveats.NO_REFERENCE, text)

    def _worst_first(self, title: str, of_all: Sequence[Caveat]) -> list[str]:
        """The caveats of a family and those of all, each a sentence."""
        own = [each for name, each in self.caveats if name == self.short_names[title]]
        ranked = sorted([*of_all, *own], key=lambda caveat: caveat.rank)
        return list(dict.fromkeys(f"{text[:1].upper()}{text[1:]}" for _, text in ranked))


def _figure(place: int, s: Ranking) -> Figure:
    marks, note = _marks(s)
    tiers = _tier_of(s)
    rows = [
        {
            "name": mean.condition,
            "key": mean.condition,
            "role": _role(s, mean.condition),
            "tier": tiers.get(mean.condition),
            "n": mean.n_ratings,
            **pick_cells(mean, "n_raters", "n_items", *INTERVAL_CELLS),
            "mark": marks.get(mean.condition, ""),
        }
        for mean in s.means[:MOST_DRAWN]
    ]
    return Figure(
        key=key_of("answer", place, s.title),
        title=family_span(s.title),
        drawing="intervals",
        rows=rows,
        x=s.what.axis,
        ends=s.ends,
        decimals=s.decimals,
        note=note,
        about=s.title,
        interval="raters and items crossed",
        made_by=TWO_WAY,
    )


def _role(s: Ranking, name: str) -> str:
    """Whether it is what the others are compared with, or made worse on purpose."""
    if name in s.anchors:
        return "anchor"
    return "reference" if name == s.reference.name else ""


def _tier_of(s: Ranking) -> dict[str, int]:
    tiers = s.tiers.tiers if s.tiers else ()
    return {name: number for number, names in enumerate(tiers, start=1) for name in names}


def _marks(s: Ranking) -> tuple[dict[str, str], str]:
    """What stands beside each name, and what it means: letters; tiers where they are too many."""
    if not s.tiers:
        return {}, ""
    letters = dict(s.tiers.letters)
    if max(map(len, letters.values()), default=0) <= MOST_LETTERS:
        alike = f"not significantly different (adjusted p ≥ {s.alpha:.2g})"
        note = f"Conditions that share a letter are {alike}."
        return letters, note if letters else ""
    tiers = {c: f"tier {n}" for n, names in enumerate(s.tiers.tiers, start=1) for c in names}
    differ = f"(adjusted p < {s.alpha:.2g})"
    return tiers, f"Conditions of different tiers are significantly different {differ}."


def _table(place: int, s: Ranking) -> Table:
    letters, tier_of = s.tiers.letters if s.tiers else {}, _tier_of(s)
    rows = [
        {
            "condition": mean.condition,
            "mean": mean.value,
            **{
                key: value for key, value in vars(mean).items() if key not in ("condition", "value")
            },
            "letters": letters.get(mean.condition) or None,
            "tier": tier_of.get(mean.condition),
        }
        for mean in s.means
    ]
    columns = (
        Column("condition", "Condition"),
        Column("mean", "Mean", "number", s.decimals),
        Column("interval", f"{s.level * 100:g} % interval", "interval", s.decimals),
        Column("naive", "Naive", "interval", s.decimals),
        Column("letters", "Letters", "mark"),
        Column("tier", "Tier", "count"),
        Column("n_ratings", "Ratings", "count"),
        Column("n_raters", "Raters", "count"),
        Column("n_items", "Items", "count"),
    )
    return Table(
        key_of("answer", place, s.title),
        family_span(s.title),
        columns,
        rows,
        _note(s, place == 1),
        s.title,
    )


def _note(s: Ranking, first: bool) -> str:
    """What the marks mean, once on a page, and how far the conditions are apart."""
    parts = [TIERS.format(alpha=s.alpha)] if first and s.tiers else []
    if s.tiers and s.tiers.note:
        parts.append(f"{s.tiers.note[:1].upper()}{s.tiers.note[1:]}.")
    if s.ends and len(s.tested) > 1:
        values = [s.by_name[name].value for name in s.tested]
        low, high = (number(end, False, s.decimals) for end in (min(values), max(values)))
        scale = f"{s.ends[0]:g} to {s.ends[1]:g}"
        parts.append(f"The means span {low} to {high} of a scale of {scale}.")
        parts += [STRETCHED] if first else []
    return " ".join(parts)


def _of_genuine(inputs: PartInput, s: Ranking, reference: Reference) -> Iterator[str]:
    """How genuine recordings fared as traps, where a Turing test has none among its conditions."""
    table = inputs.table
    if s.estimand != "hls" or reference:
        return
    heard = table[(table["trap"] == GENUINE) & table["score"].notna()]
    heard = heard[(heard["estimand"] == s.estimand) & (heard["task"] == s.family.group["task"])]
    heard = heard[heard["criterion"] == s.family.group["criterion"]]
    if len(heard):
        mean = number(float(heard["score"].mean()), False, s.decimals)
        yield (
            f"Genuine recordings, heard as traps, got {mean} before any rule "
            f"({counted(len(heard), 'rating')})."
        )
