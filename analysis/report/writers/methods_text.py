"""The methods paragraph of a paper: at most 250 words, and no procedure that was not used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from analysis.formatting import counted, enumerated, short
from analysis.ratings.estimands import estimand_of
from analysis.ratings.scales import family_title
from analysis.report.content import content_from
from analysis.report.report_schema import EstimateRow, PartRecord, Report, TaskDesign
from analysis.report.works import cite, found_in, works_in
from analysis.report.writers.latex_text import escaped

MOST_WORDS = 250
# Tasks and rules by their names, and words of a rule, as many as fit.
_NAMED = ((3, 4, 60), (3, 4, 25), (3, 4, 14), (2, 3, 14), (1, 2, 14), (1, 1, 14))
_MOST_NAMES = 4  # of slices
_LONGEST_NAME = 6  # words
_OVERALL = "condition:"
_PAPERS = ("att", "long_form", "recommendation")  # parts whose tables a paper prints by a preset
_NAIVE = "naive"
_PAIRS = re.compile(r"(pairs|abx)(_\d+)?")  # the table of a family's pairs
_HLS = "hls"
_UNNAMED = ("", "task")  # a file of ratings without a column of tasks
_PACKAGES = {"python": "Python", "numpy": "NumPy", "scipy": "SciPy"}


def methods_text(report: Report) -> str:
    """One paragraph in plain words; what it cites is in `references_bib`.

    It says the design, raters, clips and scales, what was left out and why, the estimator with its
    interval, the families of differences and their adjustment, and the software. What else was
    computed stands in the methods of the parts, which the page shows in full.
    """
    software, said, room = _software(report), [""], 0
    for limits in _NAMED:
        said = list(_needed(report, *limits))
        room = MOST_WORDS - sum(len(text.split()) for text in (*said, software))
        if room >= 0:
            break
    for text in _more(report):
        length = len(text.split())
        if length <= room:
            said.append(text)
            room -= length
    return " ".join([*said, software]) + "\n"


def methods_tex(report: Report) -> str:
    r"""The paragraph for LaTeX: characters escaped, citations as ``\cite`` with the keys of the
    ``references.bib`` beside it."""
    text, made, at = methods_text(report).rstrip("\n"), "", 0
    for work, hit in found_in(text):
        start, end = hit.span()
        alone = text[start - 2 : start] == " (" and text[end : end + 1] == ")"
        name = "" if alone else hit[0].partition(f" ({work.year}")[0]
        before = text[at : start - 2 * alone] + name
        made += escaped(before) + rf"~\cite{{{work.key}}}"
        at = end + alone
    return made + escaped(text[at:]) + "\n"


def references_bib(report: Report) -> str:
    """The BibTeX entries of what the paragraph cites, and of nothing else."""
    works = works_in([methods_text(report)])
    return "\n".join(work.bibtex for work in works) or "% The methods paragraph cites nothing.\n"


def methods_files(report: Report) -> dict[str, str]:
    """The paragraph in words and for LaTeX, and its references, by the names of their files."""
    return {
        "methods.txt": methods_text(report),
        "methods.tex": methods_tex(report),
        "references.bib": references_bib(report),
    }


def methods_in_full(report: Report) -> list[str]:
    """What the paragraph and each part say of the methods, each sentence group once."""
    texts = [methods_text(report).rstrip("\n")]
    for part in report.get("parts", ()):
        texts += [] if part["problem"] else part["methods"]
    return list(dict.fromkeys(texts))


def _needed(report: Report, tasks: int, rules: int, words: int) -> Iterator[str]:
    data = report["data"]
    if not data["ratings_kept"]:
        yield f"Of {counted(data['ratings'], 'rating')} none is left to estimate from."
        yield from _screening(report, rules, words)
        return
    yield from _design(report, tasks)
    yield from _screening(report, rules, words)
    yield from _estimation(report)
    yield from _comparisons(report)


def _more(report: Report) -> Iterator[str]:
    """What is said where there is room, the most important first."""
    by = [
        each.partition(":")[2].replace(",", " by ") for each in report["provenance"]["breakdowns"]
    ]
    by = [each for each in by if each]
    if by and report["data"]["ratings_kept"]:
        yield f"Results by {_names(by)} are not adjusted over tables."
    for key in _PAPERS:
        yield from (text for part in _made(report, key) for text in part["methods"])


def _design(report: Report, most: int) -> Iterator[str]:
    data, designs = report["data"], report.get("design", [])
    scripted = report.get("scripted", 0)
    people = counted(data["raters_kept"], "rater")
    if scripted:
        some = "all" if scripted == data["raters_kept"] else f"{scripted:,} of them"
        people += f" ({some} scripted: a program made up their opinions)"
    compared = (
        ""
        if any(d["in_pairs"] for d in designs)
        else ", " + counted(data["conditions_kept"], "condition")
    )
    items = counted(data["items_kept"], "item")
    yield (
        f"The estimates rest on {counted(data['ratings_kept'], 'rating')} by {people} of "
        f"{counted(data['stimuli_kept'], 'clip')} ({items}{compared})."
    )
    for design in designs[:most]:
        yield _task(report, design)
    if len(designs) > most:
        rest = len(designs) - most
        were = "was" if rest == 1 else "were"
        yield f"{counted(rest, 'further question')} {were} analysed in the same way."


def _task(report: Report, design: TaskDesign) -> str:
    """What was asked, on which scale, and how often."""
    names = [_short(name) for name in (design["task"], design["criterion"]) if name not in _UNNAMED]
    where = f"In “{', '.join(names)}” we" if names else "We"
    ends = report["scales"].get(family_title(design))
    given = design.get("given")
    scale = f", from {short(ends[0])} to {short(ends[1])}" if ends and given == ends else ""
    if given and given != ends:  # whether the scale had more steps, the ratings do not say
        scale = f" (scores given: {short(given[0])} to {short(given[1])})"
    defined = f" {cite('wang2025')}" if design["estimand"] == _HLS else ""
    clip, compared = "clip", ""
    if design["in_pairs"]:
        clip = "pair of clips"
        compared = f" (pairs of {counted(design['conditions'], 'condition')})"
    return (
        f"{where} report {estimand_of(design['estimand']).phrase}{defined}{scale}{compared}: a "
        f"median of {short(design['ratings_per_clip'])} ratings per {clip} and "
        f"{short(design['ratings_per_rater'])} per rater."
    )


def _screening(report: Report, most: int, longest: int) -> Iterator[str]:
    data = report["data"]
    if data["trap_ratings"]:
        yield f"{counted(data['trap_ratings'], 'answer').capitalize()} to traps enter no estimate."
    gone = data["ratings"] - data["ratings_kept"]
    if not gone:
        yield "No rating was left out."
        return
    rows = sorted((r for r in report["exclusions"] if r["ratings"]), key=lambda r: -r["ratings"])
    rules = [f"{_short(r['what'], longest)} ({r['ratings']:,})" for r in rows[:most]]
    more = len(rows) - most
    rules += [counted(more, "further rule")] if more > 0 else []
    both = " (some under several rules)" if len(rows) > 1 else ""
    why = f": {'; '.join(rules)}" if rules else ""
    yield f"{gone:,} of {counted(data['ratings'], 'rating')} were left out{both}{why}."


def _estimation(report: Report) -> Iterator[str]:
    origin, rows = report["provenance"], report["estimates"] or report["shares"]
    if not rows:
        return
    main = next((row["interval"] for row in rows if _has_interval(row)), "")
    scores = (
        "Scores are means over ratings" if report["estimates"] else "We report shares of answers"
    )
    level = f"{origin['level'] * 100:g} %"
    if main.startswith("two-way"):
        how = (
            f"{level} confidence intervals from variances clustered by rater and by item "
            f"{cite('cameron2011')} and t quantiles with approximate degrees of freedom "
            f"{cite('satterthwaite1946')}"
        )
    elif main.startswith("cluster bootstrap"):
        how = (
            f"{level} percentile intervals of a bootstrap that draws raters and items "
            f"independently {cite('owen2007')}, {origin['replicates']:,} draws"
        )
    elif main:
        how = (
            f"{level} confidence intervals from the variance components of a linear mixed model "
            f"with crossed random effects, fitted by REML, and t quantiles "
            f"{cite('satterthwaite1946')}"
        )
    else:
        yield f"{scores}; there are too few raters or items for intervals."
        return
    yield f"{scores} with {how}."


def _comparisons(report: Report) -> Iterator[str]:
    rows = [row for row in report["contrasts"] if _is_overall(row)]
    adjusted = [row for row in rows if row.get("p_adjusted") is not None]
    alpha = short(round(1 - report["provenance"]["level"], 6))
    if adjusted:
        yield _families(adjusted, alpha)
    elif any(_has_interval(row) for row in rows):
        yield "Intervals of differences are of the same kind, each for itself."
    pairs = [
        table
        for part in _made(report, "pairs")
        for table in content_from(part).tables
        if _PAIRS.fullmatch(table.key)
    ]
    if any(len(table.rows) > 1 for table in pairs):
        yield (
            f"Preferences are claimed below an adjusted p of {alpha}, adjusted over all pairs of "
            f"a task {cite('sidak1967')}."
        )


def _families(rows: Sequence[EstimateRow], alpha: str) -> str:
    """What the differences are, how many there are at once, and how they are adjusted."""
    sizes: dict[tuple[str, str, str, str], int] = {}
    for row in rows:
        place = (row.get("study", ""), row["task"], row["criterion"], row.get("family", ""))
        sizes[place] = sizes.get(place, 0) + 1
    families = list(dict.fromkeys(place[-1] for place in sizes))
    named = enumerated(families)
    if max(sizes.values()) == 1:
        return (
            f"The difference {named} was tested by the same variance (claimed where p < {alpha})."
        )
    each = "are one family each" if len(families) > 1 or len(sizes) > 1 else "are one family"
    return (
        f"Differences {named} {each}, adjusted in a single step by the joint distribution of the "
        f"tests {cite('hothorn2008')}; a difference is claimed where the adjusted p < {alpha}."
    )


def _software(report: Report) -> str:
    origin = report["provenance"]
    used = ", ".join(
        f"{name} {origin['packages'][key]}"
        for key, name in _PACKAGES.items()
        if key in origin["packages"]
    )
    return (
        f"Analyses: Earnest ({origin['code']}; {used}; seed {origin['seed']}); table of ratings "
        f"with SHA-256 {origin['table_hash'][:16]}…"
    )


def _made(report: Report, key: str) -> list[PartRecord]:
    return [p for p in report.get("parts", ()) if p["key"] == key and not p["problem"]]


def _is_overall(row: EstimateRow) -> bool:
    return row.get("breakdown", _OVERALL) == _OVERALL and row["weighting"] == "ratings"


def _has_interval(row: EstimateRow) -> bool:
    return row["low"] is not None and not row["interval"].startswith(_NAIVE)


def _names(names: Iterable[str]) -> str:
    shown = list(map(_short, names))
    rest = shown[_MOST_NAMES:]
    return enumerated([*shown[:_MOST_NAMES], *([f"{len(rest)} more"] if rest else [])])


def _short(name: str, most: int = _LONGEST_NAME) -> str:
    """A name in at most that many words; underscores of keys are spaces."""
    words = name.replace("_", " ").split()
    return " ".join(words[:most]) + "…" * (len(words) > most)
