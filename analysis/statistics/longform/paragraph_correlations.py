"""Paragraph MOS and the MOS of its sentences: correlations, the trap, and regression by place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg, stats

from analysis.arrays import Floats
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.correlations import fisher_interval
from analysis.statistics.longform.condition_names import ISOLATION, PARAGRAPH
from analysis.statistics.longform.long_form_table import Material

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
    made = {}
    for key, places_of_key in at.items():
        scores = y[places_of_key]
        n = len(scores)
        noise = float(np.var(scores, ddof=1)) / n if n > 1 else float("nan")
        made[key] = _Clip(float(scores.mean()), noise, str(stimuli[places_of_key[0]]))
    return made


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

    ``given`` variables were taken out beforehand: n counts that many less (Fisher 1924). All None
    where a side is constant or n - given is below 4.
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
