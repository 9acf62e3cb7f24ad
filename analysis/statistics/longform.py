"""Long-form speech: what a condition's name asks for, and sentences against their paragraph."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import linalg, stats

from analysis.arrays import Codes, Floats
from analysis.name_spans import condition_span
from analysis.ratings.breakdowns import items_of
from analysis.ratings.estimands import estimand_of, keys_where, name_of
from analysis.ratings.table import rated
from analysis.statistics.clustered_variance import limits_of
from analysis.statistics.comparisons.p_adjustment import sidak, sidak_level
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.comparisons.two_sample_tests import paired_t
from analysis.statistics.correlations import fisher_interval
from analysis.statistics.intervals import clustered

ISOLATION, PARAGRAPH, CONTEXT = "isolation", "paragraph", "context"
SETTINGS = (ISOLATION, PARAGRAPH, CONTEXT)
REAL, SYNTHETIC, TEXT = "R", "T", "Text"
UNKNOWN = "context"  # of a context whose voice no name tells
_NAME = re.compile(
    r"(?:(?P<key>.*\S) )?"
    r"(?:(?P<whole>[RT])(?P<part>[ip])"
    r"|(?P<before>R|Text|T)(?P<context_lines>[1-9][0-9]?)(?P<rated>[RT])(?P<lines>[1-9][0-9]?))"
    r"(?: \((?P<system>.+)\))?"
)


@dataclass(frozen=True)
class Form:
    """What is rated, and what is heard or read before it.

    ``key`` names the material (empty where there is one kind), ``voice`` is R (real), T (synthetic)
    or empty (unknown); ``system`` tells several synthetic ones apart. ``context`` is R, T, Text,
    ``context`` (unknown) or empty (none). ``lines`` are rated: 0 for the whole paragraph.
    """

    name: str
    setting: str
    voice: str = ""
    system: str = ""
    key: str = ""
    lines: int = 1
    context: str = ""
    context_lines: int = 0

    @property
    def speaker(self) -> str:
        """Whose speech is rated: R, T, ``T (flite)``, or the system alone where no name tells."""
        if not self.voice:
            return self.system
        return f"{self.voice} ({self.system})" if self.system else self.voice

    @property
    def before(self) -> str:
        """What comes before, in words."""
        if not self.context:
            return "no context"
        if self.context == UNKNOWN:
            return "context"
        number = f"{self.context_lines} line{'s' * (self.context_lines > 1)}"
        return f"{number} {_WORDS[self.context]}"


_WORDS = {REAL: "of real speech", SYNTHETIC: "of synthetic speech", TEXT: "of text"}

_SPOKEN = {REAL: "real speech (R)", SYNTHETIC: "synthetic speech (T)"}


def in_words(speaker: str) -> str:
    """A speaker of `Form.speaker` as people say it: ``synthetic speech (T)``, ``flite (T)``."""
    if speaker in _SPOKEN:
        return _SPOKEN[speaker]
    if speaker.startswith("T (") and speaker.endswith(")"):
        return f"{condition_span(speaker[3:-1])} (T)"
    return speaker


def compare_forms(form: Form, other: Form) -> Form | None:
    """The form of a comparison of the two, seen from the first; None of different settings."""
    if (form.setting, form.lines, form.key) != (other.setting, other.lines, other.key):
        return None
    if form.name.partition(" (")[0] == other.name.partition(" (")[0]:
        systems = f"{form.system} over {other.system}"
        return replace(form, name=f"{form.name.partition(' (')[0]} ({systems})", system=systems)
    names = f"{form.name} over {other.name}"
    return replace(form, name=names, voice="", system=f"{form.speaker} over {other.speaker}")


def form_of(condition: str) -> Form | None:
    """The form that a condition's name asks for; None for any other name.

    A name may have a key in front and a system behind: ``talk T1T1 (flite)``. In a condition such
    as ``R1T1 (flite)`` the system is that of the rated T.
    """
    match = _NAME.fullmatch(condition)
    if match is None:
        return None
    key, system = match["key"] or "", match["system"] or ""
    name = condition.removeprefix(f"{key} ") if key else condition
    if match["whole"]:
        alone = match["part"] == "i"
        voice = match["whole"]
        mine = system if voice == SYNTHETIC else ""
        setting = ISOLATION if alone else PARAGRAPH
        return Form(name, setting, voice, mine, key, int(alone))
    voice = match["rated"]
    return Form(
        name,
        CONTEXT,
        voice,
        system if voice == SYNTHETIC else "",
        key,
        int(match["lines"]),
        match["before"],
        int(match["context_lines"]),
    )


ORDER = {"": 0, "Text": 1, "T": 2, "R": 3, "context": 4}
NO_LINES = "no line was rated in both"
FEW = 10


@dataclass(frozen=True)
class ContextEffect:
    """How much the same lines gain after the context of ``form`` against that of ``versus``.

    ``value`` is the mean over ``n_lines`` lines of the difference of their means; the interval is
    two-way clustered over raters and paragraphs. ``paired_p`` is the paired t test over lines,
    which takes raters as given. None where undefined; ``note`` then says why.
    """

    form: Form
    versus: Form
    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    paired_t: float | None = None
    paired_df: float | None = None
    paired_p: float | None = None
    n_lines: int = 0
    n_ratings: int = 0
    n_raters: int = 0
    n_paragraphs: int = 0
    low_all: float | None = None  # these three hold for all effects at once
    high_all: float | None = None
    p_adjusted: float | None = None
    note: str = ""


def context_effects(material: Material, level: float = 0.95) -> list[ContextEffect]:
    """Every two contexts (or none) of the same speaker's lines, over the lines that both have.

    Lines weigh the same; contributions w (y - mean) summed per rater and per paragraph (Cameron,
    Gelbach and Miller 2011), as `clustered_variance.limits_of` has it; all at once
    by Šidák (1967).
    """
    pairs = _pairs(material.forms)
    effects = [_effect(material, a, b, level) for a, b in pairs]
    m = sum(one.p is not None for one in effects)
    wider = [_effect(material, a, b, sidak_level(level, m)) for a, b in pairs]
    return [
        one
        if one.p is None
        else replace(one, low_all=all_.low, high_all=all_.high, p_adjusted=sidak(one.p, m))
        for one, all_ in zip(effects, wider, strict=True)
    ]


def _pairs(forms: Sequence[Form]) -> list[tuple[int, int]]:
    """Codes of forms that rate the same number of the same speaker's lines; less context last."""
    rated = [i for i, form in enumerate(forms) if form.setting != PARAGRAPH]
    rated.sort(key=lambda i: (ORDER[forms[i].context], forms[i].context_lines))
    chosen = [
        (b, a)
        for a, b in combinations(rated, 2)
        if forms[a].speaker == forms[b].speaker and forms[a].lines == forms[b].lines
    ]
    return sorted(chosen, key=lambda pair: (forms[pair[0]].speaker, *pair))


def _effect(material: Material, a: int, b: int, level: float) -> ContextEffect:
    both = np.intersect1d(material.item[material.form == a], material.item[material.form == b])
    use = np.isin(material.form, (a, b)) & np.isin(material.item, both)
    names = (material.forms[a], material.forms[b])
    if not len(both):
        return ContextEffect(*names, note=NO_LINES)
    y, side = material.y[use], (material.form[use] == b).astype(np.int64)
    line = np.searchsorted(both, material.item[use])
    rater, cluster = material.rater[use], material.cluster[use]
    means = _line_means(y, side, line, len(both))
    count = np.bincount(side * len(both) + line, minlength=2 * len(both))
    weight = 1 / (len(both) * count[side * len(both) + line])
    sums = clustered(y, side, rater, cluster, 2, weight, material.ends)
    t, t_df, t_p = _paired_interval(means[0], means[1], level)
    value = float(np.mean(means[0] - means[1]))
    one = ContextEffect(
        *names,
        value=value,
        paired_t=t,
        paired_df=t_df,
        paired_p=t_p,
        n_lines=len(both),
        n_ratings=len(y),
        n_raters=len(np.unique(rater)),
        n_paragraphs=len(np.unique(cluster)),
    )
    groups = min(one.n_raters, one.n_paragraphs)
    if groups < 2:
        return replace(one, note="one rater or paragraph only: no interval")
    limits = limits_of(np.array([[1.0, -1.0]]), sums)
    if not limits.known[0]:
        return replace(one, note="no variation: no interval")
    low, high = (float(end[0]) for end in limits.bounds(1 - level))
    note = f"only {groups} raters or paragraphs: a rough interval" if groups < FEW else ""
    return replace(one, low=low, high=high, p=float(limits.p_against(0.0)[0]), note=note)


def _line_means(y: Floats, side: Codes, line: Codes, lines: int) -> Floats:
    """Mean score (2, lines) of each line on each side."""
    cell = side * lines + line
    total = np.bincount(cell, weights=y, minlength=2 * lines)
    return np.asarray((total / np.bincount(cell, minlength=2 * lines)).reshape(2, lines))


def _paired_interval(
    a: Floats, b: Floats, level: float
) -> tuple[float | None, float | None, float | None]:
    try:
        test = paired_t(a, b, level, "items")
    except Undefined:
        return None, None, None
    return test.statistic, test.df, test.p


Texts = NDArray[np.object_]
MOS = frozenset({"mos", "context_mos"})  # two questions on one scale of 1 to 5
_ONE = re.compile(r"\D*([0-9]+)")
_SEVERAL = re.compile(r"\D*([0-9]+)\D+([0-9]+)")
_DIGITS = re.compile(r"([0-9]+)")


@dataclass(frozen=True)
class Material:
    """n ratings of one kind of material on one scale, each with the form of its condition.

    ``form`` (n,) are codes of ``forms``; ``rater``, ``item`` and ``cluster`` (n,) codes, a cluster
    being a paragraph (an item where none is named); ``paragraph``, ``items`` and ``stimulus`` (n,)
    names. ``place`` (n,) is the line's number in its paragraph, 0 where unknown or for several
    lines; ``length`` the number of lines of each named paragraph. ``key`` is the material's name;
    ``study`` and ``criterion`` are empty where there is one.
    """

    key: str
    estimands: tuple[str, ...]
    criteria: tuple[str, ...]
    criterion: str
    study: str
    forms: tuple[Form, ...]
    y: Floats
    form: Codes
    rater: Codes
    item: Codes
    cluster: Codes
    paragraph: Texts
    items: Texts
    stimulus: Texts
    place: Codes
    length: dict[str, int]
    places_from: str

    @property
    def mean(self) -> str:
        """What the mean of its scores is called: MOS on scales of 1 to 5, else their own name."""
        return "MOS" if MOS.intersection(self.estimands) else name_of(min(self.estimands, key=len))

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of the scale that its scores are on, where they are known."""
        low, high = float(self.y.min()), float(self.y.max())
        known = {estimand_of(key).scale_for(low, high) for key in self.estimands}
        return known.pop() if len(known) == 1 else None

    def rows_of(self, setting: str) -> NDArray[np.bool_]:
        """Which ratings (n,) are of that setting."""
        codes = [i for i, form in enumerate(self.forms) if form.setting == setting]
        return np.asarray(np.isin(self.form, codes), dtype=bool)

    def speakers(self) -> list[str]:
        """Whose speech was rated, real speech first."""
        synthetic = {form.speaker: form.voice != "R" for form in self.forms}
        return sorted(synthetic, key=lambda name: (synthetic[name], name))

    def real(self, speaker: str, reference: str = "") -> bool:
        """Whether a speaker is a person, as far as names or the named reference tell."""
        voices = {form.voice for form in self.forms if form.speaker == speaker}
        return "R" in voices or speaker == reference


def is_long_form(table: pd.DataFrame) -> bool:
    """Whether a table has paragraphs, or conditions named as Clark et al. name them."""
    if (table["paragraph"] != "").any():
        return True
    return any(form_of(str(name)) is not None for name in table["condition"].unique())


def materials(table: pd.DataFrame) -> Iterator[Material]:
    """The table's long-form ratings, apart by study, scale, criterion, and key.

    MOS and context MOS stand together, for that is the comparison of Clark et al. (2019); criteria
    are kept apart only where a task has several. Preferences between two clips stand by the form
    that both have, from the side that is named first (`compare_forms`); other comparisons are left
    out. A score beside an open reference (MUSHRA, DCR) is that of its own clip.
    """
    use = rated(table)
    in_pairs = use["estimand"].isin(keys_where("in_pairs"))
    use = use.assign(versus_condition=use["versus_condition"].astype(str).where(in_pairs, ""))
    prefers = use["estimand"].isin(keys_where("prefers")) & (use["versus_condition"] != "")
    use = use[((use["versus_condition"] == "") | prefers) & (use["condition"] != "")]
    use = one_way_round(use)
    use = use.assign(scale=use["estimand"].where(~use["estimand"].isin(MOS), "mos"))
    several_studies = use["study"].nunique() > 1
    for (named, _), rows in use.groupby(["study", "scale"], sort=True):
        study = str(named) if several_studies else ""
        several = rows.groupby("task")["criterion"].nunique().gt(1).any()
        parts = rows.groupby("criterion", sort=True) if several else [("", rows)]
        for criterion, part in parts:
            yield from _by_key(part, study, str(criterion))


def _by_key(rows: pd.DataFrame, study: str, criterion: str) -> Iterator[Material]:
    names = ["condition", "versus_condition", "task", "method"]
    kinds = rows[names].drop_duplicates().itertuples(index=False)
    named = {tuple(map(str, kind)): _form_named(str(kind[0]), str(kind[1])) for kind in kinds}
    columns = [rows[name].tolist() for name in [*names, "context", "paragraph", "item"]]
    forms = [_form(row, named) for row in zip(*columns, strict=True)]
    known = np.array([form is not None for form in forms], dtype=bool)
    key = np.array([form.key if form else "" for form in forms], dtype=object)
    for each in sorted(set(key[known].tolist())):
        mine = known & (key == each)
        chosen = [form for form, is_mine in zip(forms, mine, strict=True) if is_mine]
        yield _material(rows[mine], [form for form in chosen if form], each, study, criterion)


def _form_named(condition: str, versus: str) -> Form | None:
    """The form of a condition, or the one of two that are compared in it."""
    form, other = form_of(condition), form_of(versus)
    if not versus or form is None or other is None:
        return None if versus else form
    return compare_forms(form, other)


def _form(row: tuple[str, ...], named: dict[tuple[str, ...], Form | None]) -> Form | None:
    """The named form, else what task, context and item tell of a condition of another name."""
    condition, versus, task, method, context, paragraph, item = row
    form = named[condition, versus, task, method]
    if form is not None:
        return form
    condition = f"{condition} over {versus}" if versus else condition
    setting = _setting(task.lower(), method, context, paragraph, item)
    if not setting:
        return None
    return Form(
        f"{condition} · {setting}",
        setting,
        system=condition,
        lines=0 if setting == PARAGRAPH else 1,
        context=UNKNOWN if setting == CONTEXT else "",
    )


def _setting(task: str, method: str, context: str, paragraph: str, item: str) -> str:
    if method == "context_mos" or context:
        return CONTEXT
    for setting, starts in ((PARAGRAPH, "paragraph"), (CONTEXT, "context")):
        if task.startswith(starts):
            return setting
    if not paragraph:
        return ISOLATION if task.startswith(("isolat", "sentence")) else ""
    inside = item.removeprefix(paragraph)
    return PARAGRAPH if not inside or _SEVERAL.fullmatch(inside) else ISOLATION


def _material(
    rows: pd.DataFrame, forms: list[Form], key: str, study: str, criterion: str
) -> Material:
    distinct = sorted(set(forms), key=lambda f: (SETTINGS.index(f.setting), f.speaker, f.name))
    code = {form: i for i, form in enumerate(distinct)}
    paragraph = rows["paragraph"].to_numpy(dtype=object)
    item = items_of(rows).to_numpy(dtype=object)
    cluster = np.where(paragraph != "", paragraph, item)
    form = np.array([code[one] for one in forms], dtype=np.int64)
    place, length, places_from = _places(paragraph, item, forms)
    return Material(
        key=key,
        estimands=tuple(sorted(set(rows["estimand"]))),
        criteria=tuple(sorted(set(rows["criterion"]))),
        criterion=criterion,
        study=study,
        forms=tuple(distinct),
        y=rows["score"].to_numpy(dtype=np.float64),
        form=form,
        rater=_codes(rows["rater"].to_numpy(dtype=object)),
        item=_codes(item),
        cluster=_codes(cluster),
        paragraph=paragraph,
        items=item,
        stimulus=rows["stimulus"].to_numpy(dtype=object),
        place=place,
        length=length,
        places_from=places_from,
    )


def _places(paragraph: Texts, item: Texts, forms: list[Form]) -> tuple[Codes, dict[str, int], str]:
    """Each row's place, each paragraph's length, and how places were told.

    Items of Earnest are called paragraph.place; names that are no paragraph with a number behind
    are put in the order of their names.
    """
    alone = {
        (str(p), str(i))
        for p, i, form in zip(paragraph, item, forms, strict=True)
        if p and form.lines == 1
    }
    numbers = {pair: _ONE.fullmatch(pair[1].removeprefix(pair[0])) for pair in alone}
    if all(numbers.values()):
        place = {pair: int(places[1]) for pair, places in numbers.items() if places}
        source = "names"
    else:
        place, source = _in_order(alone), "the order of names"
    length: dict[str, int] = {}
    for (p, _), at in place.items():
        length[p] = max(length.get(p, 0), at)
    for p, i in set(zip(paragraph.tolist(), item.tolist(), strict=True)):
        several = _SEVERAL.fullmatch(str(i).removeprefix(str(p))) if p else None
        if several and source == "names":
            length[p] = max(length.get(p, 0), int(several[2]))
    places = [
        place.get((str(p), str(i)), 0) if form.lines == 1 else 0
        for p, i, form in zip(paragraph, item, forms, strict=True)
    ]
    return np.array(places, dtype=np.int64), length, source


def _in_order(alone: set[tuple[str, str]]) -> dict[tuple[str, str], int]:
    place: dict[tuple[str, str], int] = {}
    for paragraph in {p for p, _ in alone}:
        items = sorted((i for p, i in alone if p == paragraph), key=_natural)
        place |= {(paragraph, item): at for at, item in enumerate(items, start=1)}
    return place


def _natural(text: str) -> list[tuple[int, str]]:
    """Sorts s2 before s10."""
    parts = _DIGITS.split(text)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def _codes(names: Texts) -> Codes:
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def one_way_round(table: pd.DataFrame) -> pd.DataFrame:
    """Each pair of conditions from the side that comes first in the table, scores turned with it.

    Rows of single clips stay as they are.
    """
    pairs = table[["condition", "versus_condition"]].drop_duplicates()
    first: dict[frozenset[str], str] = {}
    for condition, versus in pairs.astype(str).itertuples(index=False):
        if versus:
            first.setdefault(frozenset((condition, versus)), condition)
    turned = [
        bool(versus) and first[frozenset((condition, versus))] != condition
        for condition, versus in zip(
            table["condition"].astype(str), table["versus_condition"].astype(str), strict=True
        )
    ]
    if not any(turned):
        return table
    oriented = table.assign(
        condition=table["condition"].astype(str),
        versus_condition=table["versus_condition"].astype(str),
    )
    rows = table.index[turned]
    for name, other in (("condition", "versus_condition"), ("versus_condition", "condition")):
        oriented.loc[rows, name] = table.loc[rows, other].astype(str)
    for key in table.loc[rows, "estimand"].astype(str).unique():
        mine = rows[(table.loc[rows, "estimand"] == key).to_numpy()]
        oriented.loc[mine, "score"] = estimand_of(key).mirrored(table.loc[mine, "score"])
    return oriented


CORRELATES = ("mean", "first", "second", "last", "min", "max", "n_sentences", "n_words")
WORDS_UNKNOWN = (
    "the number of words is unknown: give a file of scores (stimulus,metric,version,value) with "
    "the metric n_words for sentences or paragraphs"
)
NO_WORDS: Mapping[str, float] = {}
FEWEST = 4  # Fisher's z has a variance from 4 up


@dataclass(frozen=True)
class ParagraphScores:
    """The paragraphs of one speaker that were rated whole and sentence by sentence.

    ``whole`` (P,) is each paragraph's MOS, ``sentences`` its sentences' MOS in their order,
    ``words`` (P,) its number of words (NaN: unknown). ``whole_noise`` and ``mean_noise`` (P,) are
    the variances of the MOS and of the mean sentence MOS that a few ratings leave (NaN: unknown).
    ``left_out`` paragraphs lack ratings of a sentence.
    """

    speaker: str
    paragraphs: tuple[str, ...]
    whole: Floats
    sentences: tuple[Floats, ...]
    words: Floats
    whole_noise: Floats
    mean_noise: Floats
    left_out: int = 0

    def values(self, correlate: str) -> Floats:
        """One of CORRELATES for each paragraph (P,); NaN where a paragraph has none."""
        if correlate == "n_words":
            return self.words
        values = [_OF_SENTENCES[correlate](each) for each in self.sentences]
        return np.asarray(values, dtype=np.float64)

    def ceiling(self) -> float | None:
        """The highest r of mean sentence MOS with paragraph MOS that their noise lets through.

        sqrt(reliability x reliability), each 1 - mean noise variance / variance of the means
        (Spearman 1904's correction, the other way round); None where noise is all there is.
        """
        product = 1.0
        for value, noise in (
            (self.whole, self.whole_noise),
            (self.values("mean"), self.mean_noise),
        ):
            spread = float(np.var(value, ddof=1)) if len(value) > 1 else 0.0
            if spread <= 0 or not np.all(np.isfinite(noise)):
                return None
            product *= 1 - float(np.mean(noise)) / spread
            if product <= 0:
                return None
        return float(product**0.5)


_OF_SENTENCES = {
    "mean": lambda s: float(np.mean(s)),
    "first": lambda s: float(s[0]),
    "second": lambda s: float(s[1]) if len(s) > 1 else np.nan,
    "last": lambda s: float(s[-1]),
    "min": lambda s: float(np.min(s)),
    "max": lambda s: float(np.max(s)),
    "n_sentences": lambda s: float(len(s)),
}


@dataclass(frozen=True)
class Correlate:
    """Pearson's r of a correlate with paragraph MOS, its interval and p; None with a note."""

    correlate: str
    r: float | None
    low: float | None
    high: float | None
    p: float | None
    n: int
    note: str = ""


def paragraph_scores(
    material: Material, words: Mapping[str, float] = NO_WORDS
) -> list[ParagraphScores]:
    """For each speaker, the paragraphs rated whole of which every sentence was rated alone.

    ``words`` maps stimuli to their number of words: of the paragraph's, or the sum of the
    sentences'.
    """
    scores = [_of_speaker(material, speaker, words) for speaker in material.speakers()]
    return [one for one in scores if len(one.paragraphs) or one.left_out]


def _of_speaker(material: Material, speaker: str, words: Mapping[str, float]) -> ParagraphScores:
    mine = np.isin(
        material.form, [i for i, form in enumerate(material.forms) if form.speaker == speaker]
    )
    named = material.paragraph != ""
    whole = _scores(material, mine & named & material.rows_of(PARAGRAPH), by_place=False)
    alone = _scores(
        material, mine & named & material.rows_of(ISOLATION) & (material.place > 0), by_place=True
    )
    names, rows = [], []
    for paragraph, _ in sorted(whole):
        length = material.length.get(paragraph, 0)
        places = [(paragraph, at) for at in range(1, length + 1)]
        if length > 1 and all(place in alone for place in places):
            names.append(paragraph)
            rows.append((whole[paragraph, 0], [alone[place] for place in places]))
    return ParagraphScores(
        speaker,
        tuple(names),
        np.array([one.mean for one, _ in rows]),
        tuple(np.array([one.mean for one in each]) for _, each in rows),
        np.array([_words(one, each, words) for one, each in rows]),
        np.array([one.noise for one, _ in rows]),
        np.array([sum(one.noise for one in each) / len(each) ** 2 for _, each in rows]),
        len(whole) - len(names) if alone else 0,
    )


@dataclass(frozen=True)
class _Clip:
    mean: float
    noise: float  # variance of the mean over its ratings
    stimulus: str


def _scores(material: Material, rows: np.ndarray, by_place: bool) -> dict[tuple[str, int], _Clip]:
    """The ratings of each paragraph, or of each place of it, as mean and noise."""
    places = material.place[rows] if by_place else np.zeros(int(rows.sum()), dtype=np.int64)
    keys = list(zip(material.paragraph[rows].tolist(), places.tolist(), strict=True))
    y, stimuli = material.y[rows], material.stimulus[rows]
    at: dict[tuple[str, int], list[int]] = {}
    for i, key in enumerate(keys):
        at.setdefault(key, []).append(i)
    clips = {}
    for key, places_of_key in at.items():
        scores = y[places_of_key]
        n = len(scores)
        noise = float(np.var(scores, ddof=1)) / n if n > 1 else float("nan")
        clips[key] = _Clip(float(scores.mean()), noise, str(stimuli[places_of_key[0]]))
    return clips


def _words(whole: _Clip, alone: Sequence[_Clip], words: Mapping[str, float]) -> float:
    if whole.stimulus in words:
        return float(words[whole.stimulus])
    return sum(float(words.get(clip.stimulus, np.nan)) for clip in alone)


def within_correlates(scores: ParagraphScores, level: float = 0.95) -> list[Correlate]:
    """Every correlate over the paragraphs of one speaker: what Clark et al.'s table 1 shows."""
    return [_correlate(name, scores.whole, scores.values(name), level) for name in CORRELATES]


def pooled_correlates(
    several: Sequence[ParagraphScores], level: float = 0.95, centred: bool = False
) -> list[Correlate]:
    """Over paragraphs of all speakers together; ``centred`` takes each speaker's means away.

    Pooled as they are, differences between speakers make most of r: the trap. Centred, it is the
    partial correlation given the speaker, with one degree of freedom less per further speaker.
    """
    correlates = []
    for name in CORRELATES:
        pairs = [(one.whole, one.values(name)) for one in several if len(one.whole)]
        if centred:
            pairs = [(y - y.mean(), x - x.mean()) for y, x in pairs]
        y = np.concatenate([pair[0] for pair in pairs]) if pairs else np.zeros(0)
        x = np.concatenate([pair[1] for pair in pairs]) if pairs else np.zeros(0)
        correlates.append(_correlate(name, y, x, level, len(pairs) - 1 if centred else 0))
    return correlates


def _correlate(name: str, y: Floats, x: Floats, level: float, taken_out: int = 0) -> Correlate:
    if not np.all(np.isfinite(x)):
        why = WORDS_UNKNOWN if name == "n_words" else "some paragraphs have one sentence only"
        return Correlate(name, None, None, None, None, len(y), why)
    r, low, high, p = pearson(x, y, level, taken_out)
    note = "" if r is not None else "constant, or fewer than 4 paragraphs: undefined"
    return Correlate(name, r, low, high, p, len(y), note)


def pearson(
    x: Floats, y: Floats, level: float = 0.95, taken_out: int = 0
) -> tuple[float | None, float | None, float | None, float | None]:
    """Pearson's r of x and y (n,), its interval by Fisher's z, and the two-sided p of its t test.

    ``taken_out`` variables were removed beforehand: n counts that many less (Fisher 1924). All None
    where a side is constant or n - taken_out is below 4.
    """
    n = len(x) - taken_out
    spread = min(float(np.ptp(x)), float(np.ptp(y))) if len(x) else 0.0
    if n < FEWEST or spread < 1e-12:
        return None, None, None, None
    r = float(np.clip(np.corrcoef(x, y)[0, 1], -1, 1))
    bounds = fisher_interval("pearson", r, n, level)
    if bounds is None:
        return r, None, None, 0.0
    t = r * ((n - 2) / (1 - r * r)) ** 0.5
    return r, *bounds, float(2 * stats.t.sf(abs(t), n - 2))


LENGTHS = (2, 3, 4)


@dataclass(frozen=True)
class Slope:
    """A coefficient with its standard error, t and two-sided p."""

    term: str
    value: float
    se: float
    t: float
    p: float


@dataclass(frozen=True)
class Regression:
    """A regression of n paragraphs; ``slopes`` empty where it has none, ``note`` says why.

    ``f`` with ``df1`` and ``df2`` tests all slopes together.
    """

    sentences: int
    n: int
    slopes: tuple[Slope, ...] = ()
    r2: float | None = None
    adjusted_r2: float | None = None
    f: float | None = None
    df1: int | None = None
    df2: int | None = None
    p: float | None = None
    note: str = ""


def by_position(
    several: Sequence[ParagraphScores], lengths: Sequence[int] = LENGTHS
) -> list[Regression]:
    """One regression per number of sentences, over the paragraphs of all the speakers given.

    Give one speaker at a time: pooled, differences between speakers make most of the fit.
    """
    regressions = []
    for length in lengths:
        rows = [
            (y, s)
            for one in several
            for y, s in zip(one.whole, one.sentences, strict=True)
            if len(s) == length
        ]
        y = np.array([row[0] for row in rows])
        x = np.array([row[1] for row in rows]).reshape(len(rows), length)
        try:
            regressions.append(least_squares(y, x))
        except Undefined as why:
            regressions.append(Regression(length, len(rows), note=str(why)))
    return regressions


def least_squares(y: Floats, x: Floats) -> Regression:
    """Ordinary least squares of y (n,) on x (n, k) with an intercept, classical standard errors.

    Raises Undefined without a degree of freedom for the error, for columns that say the same, and
    where the fit is exact.
    """
    n, k = x.shape
    df = n - k - 1
    if df < 1:
        size = f"{n} paragraph{'s' * (n != 1)} of {k} sentences"
        raise Undefined(f"{size}: a regression needs at least {k + 2}")
    design = np.column_stack([np.ones(n), x])
    if np.linalg.matrix_rank(design) < k + 1:
        raise Undefined("sentence scores are constant, or say the same at two places")
    beta = np.asarray(np.linalg.lstsq(design, y, rcond=None)[0], dtype=np.float64)
    error = y - design @ beta
    residual, total = float(error @ error), float(np.sum((y - y.mean()) ** 2))
    if residual <= 1e-20 * max(1.0, float(y @ y)):
        raise Undefined("all paragraphs have the same score, or are foretold exactly: no test")
    se = np.sqrt(np.diag(linalg.inv(design.T @ design)) * residual / df)
    t = beta / se
    p = 2 * stats.t.sf(np.abs(t), df)
    terms = ["intercept", *(f"s{i + 1}" for i in range(k))]
    columns = (terms, beta.tolist(), se.tolist(), t.tolist(), p.tolist())
    r2 = 1 - residual / total
    f = (total - residual) / k / (residual / df)
    return Regression(
        sentences=k,
        n=n,
        slopes=tuple(Slope(*row) for row in zip(*columns, strict=True)),
        r2=r2,
        adjusted_r2=1 - (1 - r2) * (n - 1) / df,
        f=f,
        df1=k,
        df2=df,
        p=float(stats.f.sf(f, k, df)),
    )
