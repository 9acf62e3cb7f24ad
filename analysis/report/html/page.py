"""A report as HTML: sections for the site's page, and one self-contained page to keep or send."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from markupsafe import Markup

from analysis.formatting import NOTHING, Ends, listed, number
from analysis.ratings.estimands import ends_of, estimand_of, family_title
from analysis.report import interim_answer
from analysis.report.condition_labels import CHOICE, family_labels, label_report
from analysis.report.content import Table, content_from
from analysis.report.figures import PAGE_STYLE
from analysis.report.figures.all_figures import estimate_plots, falling, named_files
from analysis.report.html.brief import brief_of, count_differences
from analysis.report.html.environment import join, render
from analysis.report.html.first_screen import METHODS, caveats, first_screen, headlines
from analysis.report.html.html_tables import (
    MOST_OPEN,
    Column,
    bounds,
    fold,
    foot,
    notes,
    percent,
    probability,
    table,
    table_with_notes,
)
from analysis.report.html.part_html import Link, content_html, no_link, part_html, table_html
from analysis.report.html.section import ANSWER, Section
from analysis.report.html.view import View, titles, view_report
from analysis.report.interim_answer import interim_report, is_interim
from analysis.report.pivot import Line, by_family, lines_of
from analysis.report.report_schema import (
    FIRST_COLUMNS,
    Counts,
    EstimateRow,
    InputNotes,
    IntervalRow,
    PartRecord,
    Report,
)


def in_full(
    report: Report,
    parts: Sequence[PartRecord],
    about: str,
    notes_shown: set[str],
    link: Link,
    most: int,
) -> Markup:
    """HTML of one family; ``report`` and ``parts`` are about it alone.

    ``notes_shown`` are not repeated, and what is noted here is added. The means stand
    first: they are the table that is copied.
    """
    answer = next((p for p in parts if p["key"] == ANSWER and "within" not in report), None)
    shape = _shape(answer, parts if "within" not in report else (), most)
    estimated_html = list(estimands(report, notes_shown, shape))
    estimated = join(html for _, html in estimated_html)
    estimated = estimated or Markup("<p>There is nothing to estimate yet.</p>")
    others = _other_tables(answer, {title for title, _ in estimated_html}, link)
    return estimated + others + _words_and_rules(report, answer, about)


def _words_and_rules(report: Report, answer: PartRecord | None, about: str) -> Markup:
    """The answer in words with every caveat; counts, and how many ratings each rule leaves out."""
    has_answer = answer is not None and not answer["problem"]
    structural = set(report["provenance"].get("structural_rules", ()))
    rows = [(row, row.get("ratings_told", row["ratings"])) for row in report["exclusions"]]
    rows = [(row, n) for row, n in rows if n or row["rule"] not in structural]
    return render(
        "words_and_rules",
        sentences=answer["sentences"] if answer and has_answer else None,
        caveats=[text for each in headlines(answer, about) for text in caveats(report, each)],
        counts=_counts(report["data"]),
        chosen=any(row["rule"] not in structural for row, _ in rows),
        rules=[(row["what"], n) for row, n in rows],
        several=len(report.get("design", ())) > 1,
    )


def _counts(data: Counts) -> dict[str, int]:
    return {
        "Ratings in the estimates": data["ratings_kept"],
        "Left out": data["ratings"] - data["ratings_kept"],
        "Raters": data["raters_kept"],
        "Items": data["items_kept"],
        "Conditions": data["conditions_kept"],
    }


def _shape(answer: PartRecord | None, parts: Iterable[PartRecord], most: int) -> Shape:
    """What the answer and the comparisons say already, so that nothing stands twice."""
    compared = next((p for p in parts if p["key"] == "comparisons" and not p["problem"]), None)
    differences = frozenset(str(each["about"]) for each in compared["tables"]) if compared else ()
    if answer is None or answer["problem"]:
        return Shape(compared=frozenset(differences), most=most)
    drawn = [each["about"] for each in answer["figures"] if each["drawing"] == "intervals"]
    tables = [each for each in answer["tables"] if _has_tiers(each)]
    return Shape(
        drawn=frozenset(drawn),
        tiers={t["about"]: {row["condition"]: row for row in t["rows"]} for t in tables},
        notes={t["about"]: t["note"] for t in tables},
        compared=frozenset(differences),
        most=most,
    )


def _has_tiers(table: Mapping[str, Any]) -> bool:
    return {"condition", "letters", "tier"} <= {column["key"] for column in table["columns"]}


def _other_tables(answer: PartRecord | None, placed: set[str], link: Link) -> Markup:
    """The answer's tables whose letters and tiers do not stand with the estimates."""
    if answer is None or answer["problem"]:
        return join([])
    shown = named_files(ANSWER, content_from(answer).tables)
    return join(
        table_html(table, name, link)
        for (name, table), plain in zip(shown, answer["tables"], strict=True)
        if table.about not in placed or not _has_tiers(plain)
    )


OVERALL = "condition:"
EXPLAINED = (
    "The interval lets raters and items both vary (two-way clustered). The naive "
    "interval treats every rating as independent, as many papers do, and is usually too narrow."
)
EXPLAINED_OPEN = (
    "These tables hold all ratings so far, those of unfinished sessions included, with "
    "fixed-sample intervals. Those are not valid under repeated checking: only the "
    "sequential intervals are."
)
COUNTED = (
    "The share of the ratings that chose each answer; where several may be chosen, over 100 %."
)
OTHERS = {"cluster bootstrap": "Bootstrap over raters and items", "mixed": "Mixed model"}
_KNOWN = {*FIRST_COLUMNS, "weighting", "value", "level", "n_ratings", "n_raters", "n_items"}


@dataclass(frozen=True)
class Shape:
    """How the estimates are shown: what stands elsewhere already, and rows per table.

    ``drawn`` are families whose figure is there, ``compared`` families whose differences are in a
    part; ``tiers`` has letters and tier of a family's conditions, ``notes`` what they mean.
    """

    drawn: frozenset[str] = frozenset()
    tiers: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    compared: frozenset[str] = frozenset()
    most: int = 400


def estimands(
    report: Report, notes_shown: set[str], shape: Shape | None = None
) -> Iterator[tuple[str, Markup]]:
    """(title, HTML) of each task, criterion and estimand; notes are added to ``notes_shown``."""
    shape = shape or Shape()
    drawn = {plot.about: plot for plot in estimate_plots(report)}
    families = by_family(lines_of(_rows(report, "estimates", OVERALL)))
    compared = report.get("compared", "condition")
    for place, (title, of_family) in enumerate(families.items()):
        lines = falling(of_family)
        plot = drawn.get((title,)) if title not in shape.drawn else None
        chart = Markup('<figure class="chart">{}</figure>')
        figure = chart.format(Markup(plot.svg)) if plot else ""
        tiers = shape.tiers.get(title)
        shown = _means(report, lines, notes_shown, compared, shape.most, tiers)
        shown += foot("", [shape.notes[title]] if title in shape.notes else [])
        explained = EXPLAINED_OPEN if is_interim(report) else EXPLAINED
        parts = [_muted_paragraph(explained)] if place == 0 else []
        beside = Markup('<div class="estimand">{}<div class="stack-s">{}</div></div>')
        parts.append(beside.format(figure, shown) if figure else shown)
        parts.append(_other_intervals(report, title, notes_shown, shape.most))
        parts += _breakdowns(report, title, notes_shown, shape.most)
        parts += [] if title in shape.compared else [_contrasts(report, title, notes_shown)]
        parts.append(_shares(report, title, notes_shown))
        yield title, join(parts)
    for title in _only_counted(report, families):
        shown = _share_table(_share_lines(report, title), notes_shown)
        yield (
            title,
            _muted_paragraph(COUNTED) + Markup('<div class="stack-s">{}</div>').format(shown),
        )


def _only_counted(report: Report, estimated: Iterable[str]) -> list[str]:
    """Titles of what has labels and no score, so no mean."""
    rows = [{**row, "estimand": CHOICE} for row in report["shares"]]
    rests = {_rest(title) for title in estimated}
    titles = dict.fromkeys(family_title(row) for row in rows)
    return [title for title in titles if _rest(title) not in rests]


def place_of(line: Line) -> tuple[str, ...]:
    """The condition of a line, and what it is compared with if there is such."""
    place = (line.row["condition"], line.row.get("versus_condition", ""))
    return tuple(part for part in place if part)


def looked_up(
    heading: str,
    key: str,
    cells: Mapping[tuple[tuple[str, ...], str], Line],
    shown: Callable[[Line | None], str],
) -> Column:
    """A column whose cell is that of a place and the column's key."""
    return Column(heading, lambda place: shown(cells.get((place, key))), numeric=True)


def decimals(lines: Sequence[Line]) -> int:
    """How many decimals the scores of a family are written with, here as in sentences and plots."""
    return estimand_of(lines[0].row["estimand"]).decimals


def _means(
    report: Report,
    lines: Sequence[Line],
    notes_shown: set[str],
    compared: str = "condition",
    most: int = 400,
    tiers: Mapping[str, Mapping[str, Any]] | None = None,
) -> Markup:
    ends, digits = ends_of(report, lines[0].row), decimals(lines)
    columns = [
        *_names(lines, compared),
        Column("Mean", lambda x: number(x.row["value"], decimals=digits), numeric=True),
        Column(_level(lines, "interval"), lambda x: bounds(x.main, ends, digits), numeric=True),
        Column("Naive", lambda x: bounds(x.naive, ends, digits), numeric=True),
        *(_tiers(tiers) if tiers else ()),
        Column("Ratings", lambda line: str(line.row["n_ratings"]), numeric=True),
        Column("Raters", lambda line: str(line.row["n_raters"]), numeric=True),
        Column("Items", lambda line: str(line.row["n_items"]), numeric=True),
    ]
    return table_with_notes(lines[:most], columns, notes_shown) + _more(
        len(lines) - most, "estimates.csv"
    )


def _tiers(tiers: Mapping[str, Mapping[str, Any]]) -> list[Column]:
    def shown(line: Line, name: str) -> str:
        value = tiers.get(line.row["condition"], {}).get(name)
        return NOTHING if value is None else str(value)

    return [
        Column("Letters", lambda line: shown(line, "letters")),
        Column("Tier", lambda line: shown(line, "tier"), numeric=True),
    ]


def _more(count: int, name: str) -> Markup:
    if count <= 0:
        return join([])
    text = Markup('<p class="muted small">{} more rows are in the file {}.</p>')
    return text.format(count, name)


def _muted_paragraph(text: str) -> Markup:
    return Markup('<p class="muted">{}</p>').format(text)


def _other_intervals(report: Report, title: str, notes_shown: set[str], most: int) -> Markup:
    """The bootstrap, and the means in which every rater weighs the same."""
    every = lines_of(_rows(report, "estimates", OVERALL))
    ratings, raters = (
        falling(by_family(every, name).get(title, [])) for name in ("ratings", "raters")
    )
    ends, digits = ends_of(report, ratings[0].row), decimals(ratings)
    parts, names = [], []
    columns = [
        Column(heading, partial(_other, start, ends, digits), numeric=True)
        for start, heading in OTHERS.items()
        if any(each["interval"].startswith(start) for line in ratings for each in line.others)
    ]
    if columns:
        value = Column("Mean", lambda x: number(x.row["value"], decimals=digits), numeric=True)
        bootstrap = columns[0].heading.startswith("Bootstrap")
        caption = "Bootstrap: the wide, conservative choice" if bootstrap else ""
        shown = [*_names(ratings), value, *columns]
        parts.append(table_with_notes(ratings[:most], shown, notes_shown, caption))
        names.append(" and ".join(column.heading.split(" over")[0].lower() for column in columns))
    if raters:
        caption = "Means in which every rater weighs the same"
        parts.append(_muted_paragraph(caption) + _means(report, raters, notes_shown, most=most))
        names.append("means over raters")
    return fold("Other intervals", ", ".join(names), join(parts)) if parts else join([])


def _other(start: str, ends: Ends, digits: int, line: Line) -> str:
    intervals = (each for each in line.others if each["interval"].startswith(start))
    return bounds(next(intervals, None), ends, digits)


def _breakdowns(report: Report, title: str, notes_shown: set[str], most: int) -> Iterator[Markup]:
    for breakdown in report["provenance"]["breakdowns"]:
        lines = by_family(lines_of(_rows(report, "estimates", breakdown))).get(title, [])
        if breakdown == OVERALL or not lines:
            continue
        compare, _, by = breakdown.partition(":")
        name = f"By {by.replace(',', ' and ')}" if by else f"By {compare}"
        name += f", per {compare}" if by and compare != "condition" else ""
        values = _values(lines, by.split(",")) if by else [line.row["condition"] for line in lines]
        yield fold(
            name,
            listed(list(dict.fromkeys(values))),
            _means(report, lines, notes_shown, compare, most),
        )


def _contrasts(report: Report, title: str, notes_shown: set[str]) -> Markup:
    lines = by_family(lines_of(_rows(report, "contrasts", OVERALL))).get(title, [])
    if not lines:
        return join([])
    digits = decimals(lines)
    shown_as = partial(bounds, decimals=digits)
    columns = [
        Column("Difference", lambda line: f"{line.row['condition']} − {line.row['versus']}"),
        Column("Value", lambda x: number(x.row["value"], True, digits), numeric=True),
        Column(_level(lines, "interval, adjusted"), lambda x: shown_as(_all(x)), numeric=True),
        Column("p, adjusted", lambda line: probability(line.main, "p_adjusted"), numeric=True),
        Column("This one alone", lambda line: shown_as(line.main), numeric=True),
        Column("p, alone", lambda line: probability(line.main, "p"), numeric=True),
        Column("Naive (Welch)", lambda line: shown_as(line.naive), numeric=True),
        Column("Naive p", lambda line: probability(line.naive, "p"), numeric=True),
    ]
    why = "Whether intervals overlap says little: raters are shared, so look at differences."
    shown = _muted_paragraph(why) + table_with_notes(lines, columns, notes_shown)
    number_of = count_differences(report).get(title, [len(lines), 0, 0])
    shown += _more(number_of[0] - len(lines), "contrasts.csv")
    differing = _differing(number_of, 1 - lines[0].row["level"])
    return fold("Differences between conditions", differing, shown)


def _all(line: Line) -> IntervalRow | None:
    """The interval of a difference that holds for all of its family."""
    main = line.main
    return main and {**main, "low": main.get("low_all"), "high": main.get("high_all")}


def _differing(number_of: Sequence[int], alpha: float) -> str:
    every, tested, clear = number_of
    pairs = "pair" if every == 1 else "pairs"
    if not tested:
        return f"{every} {pairs}"
    return f"{clear} of {every} {pairs} differ (adjusted p < {alpha:.2g})"


def _shares(report: Report, title: str, notes_shown: set[str]) -> Markup:
    lines = _share_lines(report, title)
    if not lines:
        return join([])
    pairs = any(line.row.get("versus_condition") for line in lines)
    return fold(
        "Labels given", "" if pairs else _most_given(lines), _share_table(lines, notes_shown)
    )


def _share_lines(report: Report, title: str) -> list[Line]:
    """Shares have an estimand of their own: the rest of the title must be the same."""
    bare = {"estimand": "", "versus_condition": ""}
    lines = lines_of(report["shares"])
    return [line for line in lines if _rest(title) == family_title({**line.row, **bare})]


def _share_table(lines: Sequence[Line], notes_shown: set[str]) -> Markup:
    labels = list(dict.fromkeys(line.row["estimand"] for line in lines))
    cells = {(place_of(line), line.row["estimand"]): line for line in lines}
    places = list(dict.fromkeys(place_of(line) for line in lines))
    columns = [Column("Condition", " versus ".join)]
    columns += [looked_up(_label(label), label, cells, percent) for label in labels]
    shown = table(places, columns, "", len(places) > MOST_OPEN)
    names = [(" versus ".join(place_of(line)), _label(line.row["estimand"])) for line in lines]
    return shown + foot(shown, notes(names, lines, notes_shown))


def _rest(title: str) -> str:
    """A family's title without its estimand and without what it is compared with."""
    return title.partition(" · ")[2].partition(" · versus ")[0]


def _most_given(lines: Sequence[Line]) -> str:
    counts: dict[str, float] = {}
    for line in lines:
        label = _label(line.row["estimand"])
        counts[label] = counts.get(label, 0.0) + line.row["value"] * line.row["n_ratings"]
    total = sum(counts.values())
    if not total:
        return ""
    if len(counts) > 3:
        most = max(counts, key=lambda label: counts[label])
        return f"most often {most} ({counts[most] / total * 100:.0f} %)"
    return ", ".join(f"{label} {count / total * 100:.0f} %" for label, count in counts.items())


def _label(estimand: str) -> str:
    return estimand.removeprefix("share of ")


def _rows(
    report: Report, name: Literal["estimates", "contrasts"], breakdown: str
) -> list[EstimateRow]:
    return [row for row in report[name] if row["breakdown"] == breakdown]


def _names(lines: Sequence[Line], compared: str = "condition") -> list[Column]:
    names = dict.fromkeys(name for line in lines for name in line.row if name not in _KNOWN)
    columns = [_group(name) for name in names]
    return [*columns, Column(compared.capitalize(), lambda line: line.row["condition"])]


def _group(name: str) -> Column:
    return Column(name.capitalize(), lambda line: line.row.get(name) or "(none)")


def _values(lines: Sequence[Line], names: Sequence[str]) -> list[str]:
    return [" ".join(str(line.row.get(name) or "(none)") for name in names) for line in lines]


def _level(lines: Sequence[Line], word: str) -> str:
    return f"{lines[0].row['level'] * 100:g} % {word}" if lines else word


COMPARED, PAIRS = "comparisons", "pairs"  # parts that hold differences, and of an open study:
SO_FAR = interim_answer.DIFFERENCES
SHORT = ("condition", "versus", "difference", "p_adjusted")  # columns that are read first


def differences(parts: Iterable[PartRecord], link: Link) -> Markup:
    """HTML of the parts on differences, already about one family; empty without any.

    Tables are cut to name, difference, adjusted interval and p; whole they are folded below.
    """
    by_key = {part["key"]: part for part in parts if not part["problem"]}
    shown = []
    if COMPARED in by_key:
        shown.append(_compared(by_key[COMPARED], link))
    if SO_FAR in by_key:
        shown.append(part_html(by_key[SO_FAR]))  # files hold the report of all ratings
    if PAIRS in by_key:
        shown.append(part_html(by_key[PAIRS], link))
    return join(shown)


def _compared(part: PartRecord, link: Link) -> Markup:
    shown = content_from(part)
    against = [table for table in shown.tables if "reference" in table.key.split("-")]
    reference = [_to_reference(_short(table)) for table in against]
    every = [_short(table) for table in shown.tables if "all" in table.key.split("-")]
    if reference:
        every = [_without_reference(table, reference) for table in every]
    named = named_files(part["key"], shown.tables)
    full = join(table_html(table, name, link) for name, table in named)
    short = join(table_html(table) for table in every if table.rows)
    return content_html(
        part,
        shown,
        link,
        first_tables=join(table_html(table) for table in reference),
        tables=short + fold("All differences", "effect sizes, single tests, within raters", full),
    )


def _short(table: Table) -> Table:
    columns = [column for column in table.columns if column.key in SHORT]
    title = table.title.replace("All pairs", "Among all")
    return replace(table, title=title, columns=columns, note="")


def _to_reference(table: Table) -> Table:
    """Of the reference's table the title names it, not every row."""
    names = list(dict.fromkeys(str(row["versus"]) for row in table.rows))
    columns = [column for column in table.columns if column.key != "versus"]
    return replace(table, title=f"Against {', '.join(names)}, the reference", columns=columns)


def _without_reference(table: Table, reference: Sequence[Table]) -> Table:
    """The pairs that do not stand in the table of the reference."""
    there = {frozenset((row["condition"], row["versus"])) for t in reference for row in t.rows}
    rows = [row for row in table.rows if frozenset((row["condition"], row["versus"])) not in there]
    title = table.title.replace("Among all", "Among the systems")
    return replace(table, title=title, rows=rows)


MOST_KEPT = 400  # rows per table on the page to keep
# What follows the answer, folded: the id and title of each group, and the parts that stand in it
GROUPS = {
    "voices": ("Cloned and converted voices", ("voice_cloning", "voice_conversion")),
    "criteria": ("Criteria and metrics", ("criteria",)),
    "intelligibility": ("Intelligibility", ("transcription",)),
    "errors": ("Marked errors", ("marking",)),
    "papers": (
        "Tables of the paper",
        ("att", "long_form", "lfs", "nvv", "vocalisations", "recommendation"),
    ),
    "metrics": (
        "Metrics against people",
        ("against_people", "trap_detection", "prediction_powered"),
    ),
    "models": (
        "Models and ranking",
        ("models", "ordinal", "general_model", "general_gaussian", "named_tests"),
    ),
    "agreement": ("Agreement and raters", ("agreement", "raters", "rater_models")),
    "screening": ("Exclusions and sensitivity analysis", ("screening", "robustness")),
    "justifications": ("Justifications", ("example_reasons", "justifications")),
    "clips": ("Scores of individual clips", ("clip_scores",)),
}
OWN_PLACE = frozenset({ANSWER, COMPARED, PAIRS, SO_FAR})


def sections(
    report: Report,
    view: View | None = None,
    link: Link = no_link,
    most: int = 400,
    methods: str = "",
) -> list[Section]:
    """The report in order: each family's first screen, its differences and all of it; the rest.

    ``view`` chooses what is shown, ``link`` says where files are, ``most`` rows stand in a table,
    ``methods`` is the paragraph for papers (`analysis.report.writers.methods_text`). What has no
    content is left out. All but first screens and differences is folded.
    """
    report = view_report(interim_report(report), view or View())
    names = family_labels(report)
    abouts = titles(report)
    if view and view.about in abouts:
        abouts = [view.about]
    notes_shown: set[str] = set()
    every: list[Section] = []
    for place, about in enumerate(abouts or [""], start=1):
        label = names.get(about, about)
        every += _family(report, about, place, label, notes_shown, link, most, len(abouts) > 1)
    whole = label_report(report, without=abouts[0] if len(abouts) == 1 else "")
    parts = [part for part in whole.get("parts", ()) if _is_shown(part)]
    every += _groups(parts, link)
    missing = [part for part in parts if part["problem"]]
    not_made = render("not_made", parts=missing) if missing else join([])
    every.append(Section("not-made", "What could not be made", not_made, folded=True))
    behind = _data_and_methods(report, parts, methods)
    every.append(Section("behind", "Data and methods", behind, folded=True, line=_origin(report)))
    return [section for section in every if section.html or section.headline]


def _family(
    report: Report,
    about: str,
    place: int,
    label: str,
    notes_shown: set[str],
    link: Link,
    most: int,
    several: bool,
) -> Iterator[Section]:
    """The sections of one family; its label follows their titles where there are several."""
    called = f": {label}" if several else ""
    of_family = label_report(view_report(report, View(about)) if about else report, without=about)
    parts = [part for part in of_family.get("parts", ()) if _is_shown(part)]
    answer = next((part for part in parts if part["key"] == ANSWER), None)
    first = first_screen(of_family, answer, about, place, link)
    yield Section(first.id, f"Main result{called}", first.html, headline=first.headline)
    whole = "within" not in report
    apart = differences(parts, link) if whole else join([])
    yield Section(f"differences-{place}", f"Differences{called}", apart)
    full = in_full(of_family, parts, about, notes_shown, link, most)
    line = "every mean, interval, caveat and rule"
    yield Section(f"in-full-{place}", f"All estimates{called}", full, folded=whole, line=line)


def _groups(parts: Sequence[PartRecord], link: Link) -> Iterator[Section]:
    """The other parts in their groups; a part of no group stands by itself."""
    by_key = {part["key"]: part for part in parts if not part["problem"]}
    known = {key for _, keys in GROUPS.values() for key in keys} | OWN_PLACE
    for name, (title, keys) in GROUPS.items():
        there = [by_key[key] for key in keys if key in by_key]
        html = join(_in_group(part, link, alone=len(there) == 1) for part in there)
        yield Section(f"section-{name}", title, html, folded=True, line=_line(there))
    for key, part in by_key.items():
        if key in known:
            continue
        yield Section(f"part-{key}", part["title"], part_html(part, link), folded=True)


def _in_group(part: PartRecord, link: Link, alone: bool) -> Markup:
    title = join([]) if alone else Markup("<h3>{}</h3>").format(part["title"])
    place = Markup('<div class="stack-s" id="part-{}">{}</div>')
    return place.format(part["key"], title + part_html(part, link))


def _line(there: Sequence[PartRecord]) -> str:
    """What a group holds: what its only part says first, or the names of its parts."""
    if len(there) == 1 and there[0]["sentences"]:
        return _cut(there[0]["sentences"][0])
    return listed([part["title"] for part in there])


def page_html(report: Report, link: Link = no_link, methods: str = "") -> str:
    """A whole page that needs no other file, no network and no script.

    ``link`` says where files are that lie beside it, as in a bundle; ``methods``: see `sections`.
    """
    studies = ", ".join(report["provenance"]["studies"]) or "ratings"
    made_at = report["made_at"]  # in a bundle, which has no date of its own, of the newest rating
    return render(
        "page",
        title=f"Results of {studies}",
        figure_style=Markup(PAGE_STYLE),
        sections=sections(brief_of(report, MOST_KEPT), None, link, MOST_KEPT, methods),
        made_at=made_at,
        of_ratings=made_at == report["provenance"].get("ratings_until"),
    )


def _is_shown(part: PartRecord) -> bool:
    return any(part.get(name) for name in ("problem", "sentences", "figures", "tables", "warnings"))


def _cut(text: str, most: int = 95) -> str:
    if len(text) <= most:
        return text
    return text[: text.rfind(" ", 0, most)].rstrip(",;: ") + " …"


def _data_and_methods(report: Report, parts: Iterable[PartRecord], methods: str) -> Markup:
    """The methods, what was guessed of a file of ratings, and what made the report."""
    origin = report["provenance"]
    read: InputNotes = report.get("input", {"notes": [], "columns_not_used": []})
    facts = {"made_at": report["made_at"], **origin}
    return render(
        "data_and_methods",
        paragraph=methods.strip().split("\n\n") if methods else [],
        file=METHODS,
        methods=list(dict.fromkeys(text for part in parts for text in part.get("methods", ()))),
        notes=read["notes"],
        unused=", ".join(name or "(without a name)" for name in read["columns_not_used"]),
        origin=_origin(report),
        facts=[
            (name.replace("_", " ").capitalize(), _plain(value))
            for name, value in facts.items()
            if name != "again" and value not in ("", [], {})
        ],
        again=origin["again"],
    )


def _origin(report: Report) -> str:
    origin = report["provenance"]
    line = f"{origin['estimator']} {origin['estimator_version']}, seed {origin['seed']}"
    return f"{line}, {origin['level'] * 100:g} %, ratings {origin['table_hash'][:12]}…"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {version}" for name, version in value.items())
    if isinstance(value, list):
        return ", ".join(str(part) for part in value)
    return value if isinstance(value, str) else json.dumps(value)
