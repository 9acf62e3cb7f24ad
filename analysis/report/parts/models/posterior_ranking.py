"""What a posterior's draws show: ranks and their heatmap, differences, diagnostics, or why not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from analysis.formatting import listed
from analysis.name_spans import condition_span
from analysis.report.content import Column, Figure, Table
from analysis.statistics.comparisons.systems_under_test import Candidates
from analysis.statistics.mixed.model_contrasts import Pairs
from analysis.statistics.mixed.model_errors import Refusal
from analysis.statistics.mixed.posterior import Comparison, Posterior, Ranks, Summary

MOST_DRAWN = 30  # conditions in a heatmap
_SMALL = 0.005
_SAME_RANK = 0.005  # expected ranks that two decimals do not tell apart
_OF_CONDITIONS = {"condition": "mean", "score": "mean score", "spread": "spread"}
_WRITTEN = 20  # most conditions whose probabilities are written into their squares


def by_chance(probability: float) -> str:
    """A probability in percent; near 0 and 1 as a bound."""
    if probability > 0.999:
        return "over 99.9 %"
    return "under 0.1 %" if probability < 0.001 else f"{probability * 100:.1f} %"


def best_sentence(
    prefix: str,
    names: Sequence[str],
    comparison: Ranks | Refusal | None,
    among: Candidates | None = None,
) -> list[str]:
    """Who is the best with which probability, or why no ranking is shown; and who is not ranked.

    ``prefix`` says what they are about (`family_prefix`).
    """
    names = list(map(condition_span, names))
    if isinstance(comparison, Refusal):
        return [f"{prefix}no ranking is shown, because {comparison}."]
    if comparison is None or len(names) < 2:
        return []
    left = [f"{prefix}not ranked: {among.told}."] if among and among.told else []
    order = [i for i in by_expected_rank(names, comparison) if comparison.expected_rank[i] > 0]
    if len(order) < 2:
        return left
    falling = sorted(order, key=lambda i: (-comparison.p_best[i], order.index(i)))
    chance = [by_chance(comparison.p_best[i]) for i in falling]
    alike = [names[i] for i, share in zip(falling, chance, strict=True) if share == chance[0]]
    if len(alike) > 1:
        share = f"{listed(alike)} are each the best with a probability of {chance[0]}"
    else:
        share = f"{names[falling[0]]} is the best with a probability of {chance[0]}"
        share += _next(names, comparison, [i for i in order if i != falling[0]], falling[0])
    return [f"{prefix}{share}.", *left]


def _next(names: Sequence[str], comparison: Ranks, others: list[int], best: int) -> str:
    """Who follows, by expected rank: probabilities of being the best are often 0 for several."""
    rank = comparison.expected_rank
    if rank[others[0]] < rank[best] - _SAME_RANK:
        better = f"{rank[others[0]]:.2f} against {rank[best]:.2f}"
        return f", but {names[others[0]]} has the better expected rank ({better})"
    level = [i for i in others if rank[i] < rank[others[0]] + _SAME_RANK]
    chance = [by_chance(comparison.p_best[i]) for i in level]
    if len(level) > 1:
        each = f" ({listed(chance)} to be the best)"
        return f"; {listed([names[i] for i in level])} share the next expected rank{each}"
    return f"; next by expected rank is {names[level[0]]}, the best with {chance[0]}"


def rank_heatmap(
    key: str, title: str, names: Sequence[str], comparison: Ranks, about: str
) -> list[Figure]:
    """The probability of each rank; nothing for one condition or too many to read."""
    ranked = [i for i in by_expected_rank(names, comparison) if comparison.expected_rank[i] > 0]
    if not 1 < len(ranked) <= MOST_DRAWN:
        return []
    rows = []
    for i in ranked:
        for rank, share in enumerate(comparison.rank_probability[i].tolist(), start=1):
            text = _written(share) if len(ranked) <= _WRITTEN else " "
            rows.append({"row": names[i], "column": str(rank), "value": share, "text": text})
    return [
        Figure(
            key=key,
            title=title,
            drawing="heatmap",
            rows=rows,
            x="Rank, 1 is the best",
            y="Condition",
            ends=(0.0, 1.0),
            note="Probability of each rank in percent; blank below half a percent.",
            about=about,
        )
    ]


def _written(share: float) -> str:
    if share < _SMALL:
        return " "
    return ">99" if share >= 1 - _SMALL else f"{share * 100:.0f}"


def by_expected_rank(names: Sequence[str], comparison: Ranks) -> list[int]:
    """Codes of conditions by expected rank, the best first, and then those that are not ranked."""
    rank = np.nan_to_num(comparison.expected_rank, nan=np.inf)
    return sorted(range(len(names)), key=lambda i: (rank[i], names[i]))


def role_column(among: Candidates | None) -> list[Column]:
    """A column that tells references and anchors from what is ranked, where there are any."""
    return [Column("role", "Role")] if among and among.told else []


def role_cell(among: Candidates | None, i: int) -> dict[str, str]:
    """The role of condition i, where some are not ranked."""
    return {"role": among.roles[i]} if among and among.told else {}


def summary_cells(key: str, made: Summary, i: int) -> dict[str, float]:
    """Mean, SD and interval of the i-th posterior summary, under names that begin with ``key``."""
    return {
        key: float(made.mean[i]),
        f"{key}_sd": float(made.sd[i]),
        f"{key}_low": float(made.low[i]),
        f"{key}_high": float(made.high[i]),
    }


def rank_table(
    key: str,
    title: str,
    names: Sequence[str],
    comparison: Ranks,
    about: str,
    among: Candidates | None = None,
    note: str = "",
) -> Table:
    """P(best), expected rank and each rank's probability, of many ranks in the CSV alone."""
    rows: list[dict[str, Any]] = []
    for i in by_expected_rank(names, comparison):
        row: dict[str, Any] = {"condition": names[i], **role_cell(among, i)}
        if comparison.expected_rank[i] > 0:
            row["p_best"] = float(comparison.p_best[i])
            row["expected_rank"] = float(comparison.expected_rank[i])
            ranks = enumerate(comparison.rank_probability[i].tolist(), start=1)
            row |= {f"rank_{rank}": share for rank, share in ranks}
        rows.append(row)
    count = comparison.rank_probability.shape[1]
    shown = range(1, count + 1 if count <= 8 else 4)
    columns = [
        Column("condition", "Condition"),
        *role_column(among),
        Column("p_best", "P(best)", "percent"),
        Column("expected_rank", "Expected rank", "number", 2),
        *(Column(f"rank_{rank}", f"Rank {rank}", "percent") for rank in shown),
    ]
    return Table(key, title, columns, rows, note, about=about, folded=True)


def contrast_table(
    key: str,
    title: str,
    names: Sequence[str],
    order: Sequence[int],
    pairs: Pairs | None,
    comparison: Comparison | None,
    about: str,
    decimals: int = 3,
) -> Table:
    """All differences, the higher condition first: REML's test beside the posterior's."""
    contrasts = pairs or comparison
    assert contrasts is not None
    place = {code: i for i, code in enumerate(order)}
    rows = []
    for m, (a, b) in enumerate(
        zip(contrasts.first.tolist(), contrasts.second.tolist(), strict=True)
    ):
        sign = 1.0 if place[a] < place[b] else -1.0
        upper, lower = (a, b) if sign > 0 else (b, a)
        row: dict[str, Any] = {"condition": names[upper], "versus": names[lower]}
        row |= _tested(pairs, m, sign) if pairs is not None else {}
        row |= _drawn(comparison, m, sign) if comparison is not None else {}
        rows.append((place[upper], place[lower], row))
    rows.sort(key=lambda each: each[:2])
    columns = [Column("condition", "Higher"), Column("versus", "Lower")]
    if pairs is not None:
        columns += [
            Column("difference", "Difference", "number", decimals, sign=True),
            Column("difference", _level(pairs.level, "interval"), "interval", decimals),
            Column("p", "p", "p"),
            Column("p_holm", "p (Holm)", "p"),
        ]
    if comparison is not None:
        if pairs is None:
            columns.append(Column("bayes", "Difference", "number", decimals, sign=True))
        columns += [
            Column("bayes", _level(comparison.difference.level, "HDI"), "interval", decimals),
            Column("p_superior", "P(higher)", "percent", 3),
            Column("p_equivalent", f"P(within ±{comparison.rope:g})", "percent", 3),
        ]
    return Table(key, title, columns, [row for *_, row in rows], about=about, folded=True)


def diagnostics_table(
    key: str,
    title: str,
    names: Sequence[str],
    posterior: Posterior,
    about: str,
    folded: bool = True,
) -> Table:
    """R-hat and effective sample sizes of every quantity; Pareto k or NUTS's own in the note."""
    said = posterior.diagnostics
    rows = [
        {
            "quantity": quantity_name(label, names),
            "r_hat": value,
            "ess_bulk": said.ess_bulk[label],
            "ess_tail": said.ess_tail[label],
        }
        for label, value in said.r_hat.items()
    ]
    columns = [
        Column("quantity", "Quantity"),
        Column("r_hat", "R-hat", "number", 4),
        Column("ess_bulk", "ESS, bulk", "count"),
        Column("ess_tail", "ESS, tail", "count"),
    ]
    notes = [f"{drawn_words(posterior)}. Wanted: R-hat below 1.01, ESS above 400"]
    if said.pareto_k is not None:
        notes.append(f"Pareto k at most 0.7: {said.pareto_k:.2f}")
    if said.acceptance is not None:
        notes.append(f"{said.acceptance * 100:.0f} % of the proposals were accepted")
    if said.divergences is not None:
        notes.append(f"divergences 0: {said.divergences}")
    if said.bfmi is not None:
        notes.append(f"BFMI at least 0.3: {said.bfmi:.2f}")
    return Table(key, title, columns, rows, "; ".join(notes) + ".", about, folded)


def drawn_words(posterior: Posterior) -> str:
    """How many draws there are, and of how many that were taken."""
    chains, kept = next(iter(posterior.draws.values())).shape[:2]
    taken, thin = posterior.diagnostics.taken, posterior.diagnostics.thin
    words = f"{chains} chains of {kept:,} draws"
    if thin > 1:
        words += f", 1 in {thin} of {taken:,} that were taken, as fewer did not suffice"
    return words


def quantity_name(label: str, names: Sequence[str]) -> str:
    """``condition[2]`` and ``score[2]`` by the condition's name; others as they are, in words."""
    head, _, rest = label.partition("[")
    if head in _OF_CONDITIONS and rest:
        what = _OF_CONDITIONS[head]
        return f"{what} of {names[int(rest.rstrip(']'))]}"
    return label.replace("sd_", "SD of ").replace("_condition", " by condition")


def _tested(pairs: Pairs, m: int, sign: float) -> dict[str, Any]:
    ends = sorted((sign * float(pairs.low[m]), sign * float(pairs.high[m])))
    return {
        "difference": sign * float(pairs.value[m]),
        "difference_low": ends[0],
        "difference_high": ends[1],
        "se": float(pairs.se[m]),
        "df": float(pairs.degrees[m]),
        "t": sign * float(pairs.t[m]),
        "p": float(pairs.p[m]),
        "p_holm": float(pairs.p_holm[m]),
        "p_tukey": float(pairs.p_tukey[m]),
    }


def _drawn(comparison: Comparison, m: int, sign: float) -> Mapping[str, Any]:
    made = comparison.difference
    ends = sorted((sign * float(made.low[m]), sign * float(made.high[m])))
    greater = float(comparison.p_greater[m])
    return {
        "bayes": sign * float(made.mean[m]),
        "bayes_sd": float(made.sd[m]),
        "bayes_low": ends[0],
        "bayes_high": ends[1],
        "p_superior": greater if sign > 0 else 1.0 - greater,
        "p_equivalent": float(comparison.p_equivalent[m]),
        "rope": comparison.rope,
    }


def _level(level: float, word: str) -> str:
    return f"{level * 100:g} % {word}"
