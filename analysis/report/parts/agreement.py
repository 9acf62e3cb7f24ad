"""How far raters agree: on single clips, and in the means of the conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from analysis.arrays import Codes
from analysis.citations import citation, cite_author
from analysis.formatting import counted, interval_text, number
from analysis.name_spans import family_prefix
from analysis.ratings.breakdowns import JOINT, Family, families, labelled_families
from analysis.report.content import Column, Content, Table, add_family_titles
from analysis.report.part import Part, PartInput
from analysis.statistics.agreement.agreement_result import Agreement, CodedRatings, coded
from analysis.statistics.agreement.concordance import Concordance, kendall_w
from analysis.statistics.agreement.icc import (
    FORMS,
    IntraclassCorrelation,
    icc_mixed,
    icc_moments,
    icc_of_means,
    intraclass_correlations,
)
from analysis.statistics.agreement.krippendorff import krippendorff_alpha
from analysis.statistics.agreement.noise_ceiling import noise_ceiling
from analysis.statistics.agreement.rating_units import Rated, rated_units

MOST_FOR_REML = 200  # raters; above, moments
MANY_UNITS, MANY_RATINGS, MANY_RATERS = 1000, 100_000, 1000
REPLICATES = 1000  # at most, however many were asked for the means
MOST_LABELS = 5  # different answers up to which alpha is also taken of labels without an order
LOW_ALPHA, GOOD_MEAN, POOR_MEAN = 0.667, 0.8, 0.7
WORDS = {
    "krippendorff_alpha_ordinal": "Krippendorff's alpha, ordinal",
    "krippendorff_alpha_interval": "Krippendorff's alpha, interval",
    "krippendorff_alpha_nominal": "Krippendorff's alpha, nominal",
    "icc_2_1_absolute": "ICC of one rating, absolute agreement",
    "icc_3_1_consistency": "ICC of one rating, consistency",
    "icc_condition_mean": "ICC of a condition's mean",
    "kendall_w_clips": "Kendall's W of the raters' orders of the clips",
    "kendall_w_conditions": "Kendall's W of the raters' orders of the conditions",
    "split_half_pearson": "Correlation of the clip means of two halves of the ratings",
    "reliability_pearson": "Reliability of the clip means (Spearman-Brown)",
    "ceiling_pearson": "Noise ceiling: highest correlation that a metric can reach per clip",
}
SHORT = {"ICC1": "ICC(1,1)", "ICC2": "ICC(2,1)", "ICC3": "ICC(3,1)"}
SHORT |= {"ICC1k": "ICC(1,k)", "ICC2k": "ICC(2,k)", "ICC3k": "ICC(3,k)"}
COLUMNS = (
    Column("measure", "Measure"),
    Column("value", "Value", "number"),
    Column("interval", "Interval", "interval"),
    Column("n_units", "Rated", "count"),
    Column("n_raters", "Raters", "count"),
    Column("n_ratings", "Ratings", "count"),
    Column("note", "Note"),
)
NOTE = (
    "Rated: what raters agree about, clips but for the lines on conditions. ICC: 0 is chance or "
    "noise alone, 1 full agreement; alpha and W alike. How each interval is made is in the file."
)
METHODS = (
    f"Agreement on single clips is Krippendorff's alpha ({citation('krippendorff2019')}; ordinal, "
    f"interval, and nominal with at most {MOST_LABELS} different answers; bootstrap over clips) "
    f"and the intraclass correlation: the six forms of {cite_author('shrout1979')} where every "
    "rater rated every clip, else from a model with crossed clips and raters (REML; above "
    f"{MOST_FOR_REML} raters Henderson's moments). Where pairs have no condition in common, alpha "
    "counts each pair in both orders, and there is no ICC. The ICC of a condition's mean is the "
    "share of the spread between condition means that is not noise, the noise clustered over "
    "raters and items. The noise ceiling is the root of the split-half reliability "
    "(Spearman-Brown)."
)


class AgreementPart(Part):
    """Krippendorff's alpha, ICC of one rating and of a condition's mean, Kendall's W, ceiling."""

    key = "agreement"
    version = "2"
    title = "Agreement between raters"
    order = 70
    sampled = True

    def applies(self, inputs: PartInput) -> bool:
        return len(inputs.ratings) > 0

    def make(self, inputs: PartInput) -> Content:
        sentences, warnings, tables = [], [], []
        every = [(family, True) for family in families(inputs.ratings)]
        every += [(family, False) for family in labelled_families(inputs.ratings)]
        for place, (family, scored) in enumerate(every):
            title = family.title
            inputs.progress(place / len(every), title)
            rows = list(rows_of(family, inputs) if scored else _of_labels(family, inputs))
            tables.append(
                Table("agreement", "Agreement", COLUMNS, rows, "" if place else NOTE, title)
            )
            by_statistic = {row["statistic"]: row for row in rows}
            sentences.append(_sentence(title, by_statistic, scored))
            warnings += _weak(title, by_statistic)
        if any(_is_low(table.rows) for table in tables):
            sentences.append(
                "Low agreement on single ratings does not make the means of conditions bad. Alpha "
                "and the ICC of one rating describe single answers; the ICC of a condition's mean "
                "describes the means that are compared here."
            )
        shown = Content(sentences, tables=tables, warnings=warnings, methods=[METHODS])
        return add_family_titles(shown) if len(every) > 1 else shown


def rows_of(family: Family, inputs: PartInput) -> Iterator[dict[str, Any]]:
    """Every measure of one family, as rows of the table."""
    level = inputs.options.level
    seed = int(np.random.default_rng(family.seed(inputs.options.seed)).integers(2**31))
    rated = rated_units(family)
    three = (rated.unit, rated.rater, rated.score)
    as_labels = len(np.unique(rated.score)) <= MOST_LABELS
    most = _replicates(inputs)
    # without a common condition, the side that a pair's score speaks for is arbitrary
    both_orders = rated.neutral if rated.compared and not rated.baseline else None
    for metric in ("ordinal", "interval", *["nominal"] * as_labels):
        yield _row(
            krippendorff_alpha(
                *three, metric, level=level, replicates=most, seed=seed, neutral=both_orders
            )
        )
    codes = coded(*three)
    if both_orders is None:
        yield from _iccs(rated, codes, level)
        yield from _of_means(family, rated, level)
        yield from _orders(rated, codes, level, most, seed)
    splits, few = _effort(codes)
    most = _replicates(inputs, few)
    for each in noise_ceiling(
        *three,
        splits=splits,
        replicates=most,
        level=level,
        seed=seed,
        neutral=rated.neutral,
    ):
        yield _row(each)


def _replicates(inputs: PartInput, most: int = REPLICATES) -> int:
    """Of a bootstrap: what was asked for the means, at most so many."""
    return min(most, inputs.options.replicates)


def _effort(codes: CodedRatings) -> tuple[int, int]:
    """Splits and bootstrap replicates of the noise ceiling: fewer where data are many."""
    if len(codes.y) > MANY_RATINGS:
        return 10, 200
    return (40, 200) if len(codes.units) > MANY_UNITS else (100, 500)


def _iccs(rated: Rated, codes: CodedRatings, level: float) -> Iterator[dict[str, Any]]:
    """The six forms where all is rated by all; else of one rating, and of a clip's mean."""
    three = (rated.unit, rated.rater, rated.score)
    if len(codes.y) - codes.duplicates() == len(codes.units) * len(codes.raters):
        for form in intraclass_correlations(*three, level=level):
            yield _row(form)
        return
    k = max(1, int(np.median(np.bincount(codes.unit))))
    make = icc_mixed if len(codes.raters) <= MOST_FOR_REML else icc_moments
    for each in make(*three, raters_per_unit=k, level=level):
        yield _row(each)


def _of_means(family: Family, rated: Rated, level: float) -> Iterator[dict[str, Any]]:
    if len(set(rated.condition)) > 1:
        three = (rated.condition, family.rater, family.item)
        yield _row(icc_of_means(*three, rated.score, level=level))


def _orders(
    rated: Rated, codes: CodedRatings, level: float, most: int, seed: int
) -> Iterator[dict[str, Any]]:
    """W over clips that all rated; else over conditions, by the raters who rated them all."""
    if int((_met(codes.unit, codes.rater) == len(codes.raters)).sum()) > 2:
        three = (rated.unit, rated.rater, rated.score)
        over_clips = kendall_w(*three, level=level, replicates=most, seed=seed)
        yield _row(over_clips, "kendall_w_clips")
    conditions = coded(rated.condition, rated.rater, rated.score)
    if len(conditions.units) < 3:
        return
    complete = _met(conditions.rater, conditions.unit) == len(conditions.units)
    if complete.sum() < 2:
        return
    rows = complete[conditions.rater]
    of_these = (rated.condition[rows], rated.rater[rows], rated.score[rows])
    replicates = most if len(complete) <= MANY_RATERS else min(200, most)
    over = kendall_w(*of_these, level=level, replicates=replicates, seed=seed)
    left = int((~complete).sum())
    are = "is" if left == 1 else "are"
    more = f"{counted(left, 'rater')} who did not rate every condition {are} left out" * bool(left)
    yield _row(over, "kendall_w_conditions", more)


def _met(one: Codes, other: Codes) -> Codes:
    """With how many different others each of the ones was met."""
    width = int(other.max(initial=0)) + 1
    seen = np.zeros((int(one.max(initial=-1)) + 1) * width, dtype=bool)
    seen[one * width + other] = True
    return np.asarray(seen.reshape(-1, width).sum(axis=1), dtype=np.int64)


def _of_labels(family: Family, inputs: PartInput) -> Iterator[dict[str, Any]]:
    """Alpha of answers without a number, each combination of choices as a label of its own."""
    labels = ["|".join(sorted(text.split(JOINT))) for text in family.table["label"]]
    _, code = np.unique(np.asarray(labels, dtype=object), return_inverse=True)
    yield _row(
        krippendorff_alpha(
            family.table["stimulus"].to_numpy(dtype=object),
            family.table["rater"].to_numpy(dtype=object),
            code.astype(np.float64),
            "nominal",
            level=inputs.options.level,
            replicates=_replicates(inputs),
            seed=inputs.options.seed,
        )
    )


def _row(
    measure: Agreement | Concordance | IntraclassCorrelation, statistic: str = "", more: str = ""
) -> dict[str, Any]:
    row = measure.row()
    name = statistic or str(row.get("statistic") or row.get("form"))
    row.pop("form", None)
    interval = row.pop("interval")  # how it was made: a cell of its own in the file
    note = "; ".join(text for text in (row.pop("note"), more) if text)
    return {"measure": _words(name), "statistic": name, **row, "made_by": interval, "note": note}


def _words(name: str) -> str:
    if name in FORMS:
        return f"{SHORT[name]}: {FORMS[name]}"
    if name.startswith("icc_1_"):
        return f"ICC of a clip's mean of {name.split('_')[2]} ratings"
    return WORDS[name]


def _sentence(title: str, rows: Mapping[str, Mapping[str, Any]], scored: bool) -> str:
    alpha = rows["krippendorff_alpha_interval" if scored else "krippendorff_alpha_nominal"]
    mean = rows.get("icc_condition_mean")
    of_means = ""
    if mean and mean["value"] is not None:
        of_means = f"; the ICC of a condition's mean is {_number(mean)}"
    if alpha["value"] is None:
        return f"{family_prefix(title)}{alpha['note'].rstrip('.')}{of_means}."
    words = f"{family_prefix(title)}on single ratings, Krippendorff's alpha is {_number(alpha)}"
    one = rows.get("icc_2_1_absolute") or rows.get("ICC2")
    if one and one["value"] is not None:
        words += f" and the ICC of one rating {_number(one)}"
    return f"{words}{of_means}."


def _number(row: Mapping[str, Any]) -> str:
    low, high = row["low"], row["high"]
    shown = number(row["value"], False, 2)
    return shown if low is None or high is None else f"{shown} {interval_text(low, high, None, 2)}"


def _weak(title: str, rows: Mapping[str, Mapping[str, Any]]) -> list[str]:
    mean = rows.get("icc_condition_mean")
    if mean is None or mean["value"] is None or mean["value"] >= POOR_MEAN:
        return []
    if mean["value"] <= 0:
        return [
            f"{family_prefix(title)}the means of the conditions differ no more than noise alone "
            "would."
        ]
    return [
        f"{family_prefix(title)}the means of the conditions are noisy against their spread (ICC "
        f"{mean['value']:.2f}): their order may change with other raters and items."
    ]


def _is_low(rows: Any) -> bool:
    values = {row["statistic"]: row["value"] for row in rows}
    alpha, mean = values.get("krippendorff_alpha_interval"), values.get("icc_condition_mean")
    return alpha is not None and mean is not None and alpha < LOW_ALPHA and mean > GOOD_MEAN
