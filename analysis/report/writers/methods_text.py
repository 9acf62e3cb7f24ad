"""The methods paragraph of a paper: 250 words if they suffice, no procedure that was not used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from analysis.citations import cite, works_in
from analysis.formatting import counted, enumerated, listed, short
from analysis.name_spans import CLOSE, OPEN, resolve, split_at_citations
from analysis.ratings.estimands import estimand_of, family_title
from analysis.report.condition_labels import condition_names, names_by_role
from analysis.report.conduct import GAPS
from analysis.report.content import content_from
from analysis.report.exclusion_words import left_out_in_a_paper
from analysis.report.interim_answer import interim_words, is_interim
from analysis.report.report_schema import EstimateRow, PartRecord, Report, TaskDesign
from analysis.report.writers.latex_text import escape_latex

MOST_WORDS = 250
# Tasks and rules by their names, and words of a rule, as many as fit.
_NAMED = ((3, 4, 60), (3, 4, 25), (3, 4, 14), (3, 2, 9), (2, 2, 9), (2, 1, 9), (1, 1, 9))
_MOST_NAMES = 4  # of slices
_LONGEST_NAME = 6  # words
_SPAN_OR_UNDERSCORE = re.compile(f"({OPEN}[^{CLOSE}]*{CLOSE})|_")
_OVERALL = "condition:"
_PAPERS = ("att", "long_form", "recommendation")  # parts whose tables a paper prints by a preset
_STOP = "stop_rule"
_NAIVE, _KORN = "naive", "Korn-Graubard"
_THESE = "for these items only"
_PAIRS = re.compile(r"(pairs|abx)(_\d+)?")  # the table of a family's pairs
_HLS = "hls"
_UNNAMED = ("", "task")  # a file of ratings without a column of tasks
_PACKAGES = {"python": "Python", "numpy": "NumPy", "scipy": "SciPy"}


def methods_text(report: Report) -> str:
    """One paragraph in plain words; what it cites is in `references_bib`.

    It says what raters were asked and on which scale, how they were recruited, headphone checks,
    randomisation and traps, what was left out and why, reference and anchors, the estimator with
    its interval, the families of differences and their adjustment, and the software. Of a file of
    ratings the study is not known: a sentence says what people must fill in. What else was computed
    stands in the methods of the parts, which the page shows in full.
    """
    return resolve(methods_with_spans(report))


def methods_with_spans(report: Report) -> str:
    """The paragraph of `methods_text` with its citations as spans."""
    software, sentences, words_left = _software(report), [""], 0
    for limits in _NAMED:
        sentences = list(_needed_sentences(report, *limits))
        words_left = MOST_WORDS - sum(len(text.split()) for text in (*sentences, software))
        if words_left >= 0:
            break
    else:  # no choice is short enough: the questions matter most
        sentences = list(_needed_sentences(report, _NAMED[0][0], *_NAMED[-1][1:]))
    for text in _more(report):
        length = len(text.split())
        if length <= words_left:
            sentences.append(text)
            words_left -= length
    return " ".join([*sentences, software]) + "\n"


def methods_tex(report: Report) -> str:
    r"""The paragraph for LaTeX: characters escaped, citations as ``\cite`` with the keys of the
    ``references.bib`` beside it."""
    pieces = list(split_at_citations(methods_with_spans(report).rstrip("\n")))
    tex, text = "", pieces[0][0]
    for (_, written, key), (after, _, _) in pairwise(pieces):
        if text.endswith(" (") and after.startswith(")"):
            text, after = text[:-2], after[1:]
        else:
            text += written.partition(" (")[0]
        tex += escape_latex(resolve(text)) + rf"~\cite{{{key}}}"
        text = after
    return tex + escape_latex(resolve(text)) + "\n"


def references_bib(report: Report) -> str:
    """The BibTeX entries of what the paragraph cites, and of nothing else."""
    works = works_in([methods_with_spans(report)])
    return "\n".join(work.bibtex for work in works) or "% The methods paragraph cites nothing.\n"


def methods_files(report: Report) -> dict[str, str]:
    """The paragraph in words and for LaTeX, and its references, by the names of their files."""
    return {
        "methods.txt": methods_text(report),
        "methods.tex": methods_tex(report),
        "references.bib": references_bib(report),
    }


def methods_in_full(report: Report) -> list[str]:
    """What the paragraph and each part say of the methods, each sentence group once.

    Spans stand as in the report.
    """
    texts = [methods_with_spans(report).rstrip("\n")]
    for part in report.get("parts", ()):
        texts += [] if part["problem"] else part["methods"]
    return list(dict.fromkeys(texts))


def _needed_sentences(report: Report, tasks: int, rules: int, words: int) -> Iterator[str]:
    data = report["data"]
    yield from filter(None, [interim_words(report)])
    if not data["ratings_kept"]:
        yield f"Of {counted(data['ratings'], 'rating')} none is left to estimate from."
        yield from _screening(report, rules, words)
        return
    yield from _design(report, tasks, words)
    yield from _conduct(report, words)
    yield from (text for part in _shown_parts(report, _STOP) for text in part["methods"])
    yield from _screening(report, rules, words)
    yield from _roles(report)
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
    for key in ("hypotheses", *_PAPERS):
        yield from (text for part in _shown_parts(report, key) for text in part["methods"])


def _design(report: Report, most: int, longest: int) -> Iterator[str]:
    data, designs = report["data"], report.get("design", [])
    scripted = report.get("scripted", 0)
    people = counted(data["raters"], "rater")
    if data["raters_kept"] < data["raters"]:
        people = f"{data['raters_kept']:,} of {people}"
    if scripted:
        some = "all" if scripted == data["raters_kept"] else f"{scripted:,} of them"
        people += f" ({some} simulated: a program generated their ratings)"
    conditions = counted(data["conditions_kept"], "condition")
    items = counted(data["items_kept"], "item")
    yield (
        f"The estimates rest on {counted(data['ratings_kept'], 'rating')} by {people} of "
        f"{counted(data['stimuli_kept'], 'clip')} ({items}, {conditions})."
    )
    for design in designs[:most]:
        yield _task(report, design, longest, len(designs) > 1)
    if len(designs) > most:
        rest = len(designs) - most
        were = "was" if rest == 1 else "were"
        yield f"{counted(rest, 'further question')} {were} analysed in the same way."


def _task(report: Report, design: TaskDesign, longest: int, several: bool) -> str:
    """What was asked, on which scale, of what against what, and how often."""
    questions = report.get("conduct", {}).get("questions", {})
    question = questions.get(f"{design['task']} · {design['criterion']}", "")
    clip = "pair of clips" if design["in_pairs"] else "clip"
    given = f"{_ratings(design['ratings'])} by {counted(design['raters'], 'rater')}, "
    often = (
        f"{given * several}a median of {_ratings(design['ratings_per_clip'])} per {clip} and "
        f"{short(design['ratings_per_rater'])} per rater"
    )
    phrase = f"{estimand_of(design['estimand']).phrase}{_against(report, design)}"
    defined = f" {cite('wang2025')}" if design["estimand"] == _HLS else ""
    if question:
        asked_words = _short(question, longest + 20)
        return f"Raters answered {asked_words}; we report {phrase}{defined}, {often}."
    title = report.get("task_titles", {}).get(design["task"], design["task"])
    names = [_short(name) for name in (title, design["criterion"]) if name not in _UNNAMED]
    where = f"For “{', '.join(dict.fromkeys(names))}” we" if names else "We"
    ends = report["scales"].get(family_title(design))
    span_given = design.get("span")
    scale = f", from {short(ends[0])} to {short(ends[1])}" if ends and span_given == ends else ""
    # whether the scale had more steps, the ratings do not say
    if span_given and span_given != ends:
        span = " to ".join(dict.fromkeys(map(short, span_given)))
        scale = f" (scores given: {span})"
    return f"{where} report {phrase}{defined}{scale}, {often}."


def _against(report: Report, design: TaskDesign) -> str:
    """The condition that all others were compared with, if there is one."""
    family = (design["task"], design["criterion"], design["estimand"])
    versus = {
        row.get("versus_condition", "")
        for row in report["estimates"]
        if design["in_pairs"] and (row["task"], row["criterion"], row["estimand"]) == family
    }
    if len(versus) != 1:
        return ""
    (baseline,) = versus
    return f" against {_short(condition_names(report).get(baseline, baseline))}"


def _ratings(count: float) -> str:
    return f"{short(count)} {'rating' if count == 1 else 'ratings'}"


def _conduct(report: Report, longest: int) -> Iterator[str]:
    """How raters were recruited, what was checked, and how clips were dealt; or what is missing."""
    conduct = report.get("conduct")
    if conduct is None:
        yield f"[To be completed by the authors: {enumerated(GAPS.values())}.]"
        if report["data"]["trap_ratings"]:
            yield _trap_answers(report)
        return
    yield f"{_short(conduct['recruitment'], longest + 20)}. {conduct['headphones']}."
    both = any(design["in_pairs"] for design in report.get("design", ()))
    first = "; both orders of a pair were planned equally often" * both
    yield f"{conduct['order']}{first}. {_short(conduct['traps'], longest + 20)}."
    if report["data"]["trap_ratings"]:
        yield _trap_answers(report)


def _trap_answers(report: Report) -> str:
    answers = counted(report["data"]["trap_ratings"], "answer").capitalize()
    enter = "enters" if report["data"]["trap_ratings"] == 1 else "enter"
    return f"{answers} to traps or practice trials {enter} no estimate."


def _screening(report: Report, most: int, longest: int) -> Iterator[str]:
    data = report["data"]
    excluded = data["ratings"] - data["ratings_kept"]
    if not excluded:
        read = "conduct" not in report  # a file: rows may have been left out as it was read
        yield f"No rating {'that was analysed ' * read}was excluded."
        return
    rows = left_out_in_a_paper(report)
    rules = [f"{count:,} {_short(words, longest)}" for words, count in rows[:most]]
    rest = sum(count for _, count in rows[most:])
    rules += [f"{rest:,} by {counted(len(rows) - most, 'further rule')}"] if rest else []
    why = f": {'; '.join(rules)}" if rules else ""
    yield f"{excluded:,} of {counted(data['ratings'], 'rating')} were left out{why}."


def _roles(report: Report) -> Iterator[str]:
    """The reference, and the anchors that are in no comparison."""
    names = names_by_role(report)
    if reference := listed(names.get("reference", []), _MOST_NAMES):
        yield f"The reference was {reference}."
    if anchors := names.get("anchor", []):
        were = "anchor was" if len(anchors) == 1 else "anchors were"
        enter = "enters" if len(anchors) == 1 else "enter"
        yield f"The {were} {listed(anchors, _MOST_NAMES)}, which {enter} no comparison."


def _estimation(report: Report) -> Iterator[str]:
    origin, rows = report["provenance"], report["estimates"] or report["shares"]
    if not rows:
        return
    main = any(map(_is_for_new_raters, rows))
    scores = (
        "Scores are means over ratings" if report["estimates"] else "We report shares of answers"
    )
    level = f"{origin['level'] * 100:g} %"
    if is_interim(report) and any(row["kind"] != "none" for row in report["interim"]):
        yield (
            f"While recruiting was open, means are over the raters who had finished, with {level} "
            "sequential confidence intervals that are valid under continuous monitoring "
            f"{cite('waudbysmith2024')}; no fixed-sample test is reported."
        )
        return
    if not main:
        yield f"{scores}; there are too few raters or items for intervals of new ones."
        return
    at_once = ", simultaneous for all pairs of a question" * _pairs_at_once(report)
    kind = " intervals"
    if any(_KORN in row["interval"] for row in rows):
        kind = f" intervals for bounded scores {cite('korn1998')}"
    yield (
        f"{scores} with {level} confidence{kind}, from variances clustered by rater and by item "
        f"{cite('cameron2011')} with approximate degrees of freedom "
        f"{cite('satterthwaite1946')}{at_once}{' ' + cite('sidak1967') if at_once else ''}."
    )


def _pairs_at_once(report: Report) -> bool:
    """Whether the intervals of the answer hold for several pairs at once."""
    tables = [
        table
        for part in _shown_parts(report, "pairs")
        for table in content_from(part).tables
        if _PAIRS.fullmatch(table.key)
    ]
    return any(len(table.rows) > 1 for table in tables)


def _comparisons(report: Report) -> Iterator[str]:
    if is_interim(report):
        return
    rows = [
        row
        for row in report["contrasts"]
        if _is_overall(row) and not estimand_of(row["estimand"]).in_pairs
    ]
    adjusted = [row for row in rows if row.get("p_adjusted") is not None]
    alpha = short(round(1 - report["provenance"]["level"], 6))
    if adjusted:
        yield _families(adjusted, alpha)
    if _pairs_at_once(report):
        kinds = [estimand_of(design["estimand"]) for design in report.get("design", ())]
        heard = all(kind.discriminates for kind in kinds if kind.in_pairs)
        what = "Audible differences" if heard else "Preferences"
        yield (
            f"{what} are claimed where p, adjusted over all pairs of a question, is below {alpha}."
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
        which = "Differences" if len(sizes) > 1 else "The difference"
        were = "were" if len(sizes) > 1 else "was"
        return (
            f"{which} {named} {were} tested with the same variance and claimed where p < {alpha}."
        )
    each = "are one family each" if len(families) > 1 or len(sizes) > 1 else "are one family"
    return (
        f"Differences {named} {each}, adjusted in a single step by the joint distribution of the "
        f"tests {cite('hothorn2008')}; a difference is claimed where the adjusted p < {alpha}."
    )


def _software(report: Report) -> str:
    origin = report["provenance"]
    used = [
        f"{name} {origin['packages'][key]}"
        for key, name in _PACKAGES.items()
        if key in origin["packages"]
    ]
    release = origin.get("release", "Earnest").replace("earnest", "Earnest").replace(",", "")
    by = {
        row["phonemes_by"]: ""
        for part in _shown_parts(report, "transcription")
        for table in part["tables"]
        for row in table["rows"]
        if row.get("phonemes_by")
    }
    phonemes = f" Words were transcribed into phonemes by {enumerated(list(by))}." if by else ""
    return f"Analyses used {release} with {enumerated(used)}.{phonemes}"


def _shown_parts(report: Report, key: str) -> list[PartRecord]:
    return [p for p in report.get("parts", ()) if p["key"] == key and not p["problem"]]


def _is_overall(row: EstimateRow) -> bool:
    return row.get("breakdown", _OVERALL) == _OVERALL and row["weighting"] == "ratings"


def _is_for_new_raters(row: EstimateRow) -> bool:
    """Whether an interval holds for new raters and items, not only for those who were there."""
    interval = row["interval"]
    return row["low"] is not None and not interval.startswith(_NAIVE) and _THESE not in interval


def _names(names: Iterable[str]) -> str:
    shown = list(map(_short, names))
    rest = shown[_MOST_NAMES:]
    return enumerated([*shown[:_MOST_NAMES], *([f"{len(rest)} more"] if rest else [])])


def _short(name: str, most: int = _LONGEST_NAME) -> str:
    """A name in at most that many words; underscores are spaces, but in the keys of citations."""
    words = _SPAN_OR_UNDERSCORE.sub(lambda found: found[1] or " ", name).split()
    short = " ".join(words[:most])
    if short.count(OPEN) > short.count(CLOSE):  # the cut is within a citation
        short = short[: short.rindex(OPEN)].removesuffix(" (")
    return short + "…" * (len(words) > most)
