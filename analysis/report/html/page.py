"""A report as HTML: sections for the site's page, and one self-contained page to keep or send."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from markupsafe import Markup

from analysis.formatting import listed
from analysis.report.condition_labels import family_labels, labelled
from analysis.report.figures import PAGE_STYLE
from analysis.report.html.brief import brief_of
from analysis.report.html.environment import join, render
from analysis.report.html.first_screen import METHODS, first_screen
from analysis.report.html.in_full import COMPARED, PAIRS, SO_FAR, differences, in_full
from analysis.report.html.part_html import Link, no_link, part_html
from analysis.report.html.section import ANSWER, Section
from analysis.report.html.view import View, titles, viewed
from analysis.report.interim_answer import interim_report
from analysis.report.report_schema import InputNotes, PartRecord, Report

MOST_KEPT = 400  # rows per table on the page to keep
# What follows the answer, folded: the id and title of each group, and the parts that stand in it
GROUPS = {
    "papers": ("Tables of the paper", ("att", "long_form", "lfs", "nvv", "recommendation")),
    "metrics": ("Metrics against people", ("against_people", "trap_detection")),
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
    report = viewed(interim_report(report), view or View())
    names = family_labels(report)
    abouts = titles(report)
    if view and view.about in abouts:
        abouts = [view.about]
    said: set[str] = set()
    every: list[Section] = []
    for place, about in enumerate(abouts or [""], start=1):
        label = names.get(about, about)
        every += _family(report, about, place, label, said, link, most, len(abouts) > 1)
    whole = labelled(report, without=abouts[0] if len(abouts) == 1 else "")
    parts = [part for part in whole.get("parts", ()) if _shown(part)]
    every += _groups(parts, link)
    every.append(Section("not-made", "What could not be made", _not_made(parts), folded=True))
    behind = _data_and_methods(report, parts, methods)
    every.append(Section("behind", "Data and methods", behind, folded=True, line=_origin(report)))
    return [section for section in every if section.html or section.headline]


def _family(
    report: Report,
    about: str,
    place: int,
    label: str,
    said: set[str],
    link: Link,
    most: int,
    several: bool,
) -> Iterator[Section]:
    """The sections of one family; its label follows their titles where there are several."""
    called = f": {label}" if several else ""
    of_family = labelled(viewed(report, View(about)) if about else report, without=about)
    parts = [part for part in of_family.get("parts", ()) if _shown(part)]
    answer = next((part for part in parts if part["key"] == ANSWER), None)
    first = first_screen(of_family, answer, about, place, link)
    yield Section(first.id, f"Main result{called}", first.html, headline=first.headline)
    whole = "within" not in report
    apart = differences(parts, link) if whole else join([])
    yield Section(f"differences-{place}", f"Differences{called}", apart)
    full = in_full(of_family, parts, about, said, link, most)
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


def _shown(part: PartRecord) -> bool:
    return any(part.get(name) for name in ("problem", "sentences", "figures", "tables", "warnings"))


def _cut(text: str, most: int = 95) -> str:
    if len(text) <= most:
        return text
    return text[: text.rfind(" ", 0, most)].rstrip(",;: ") + " …"


def _not_made(parts: Iterable[PartRecord]) -> Markup:
    """Which parts these ratings do not allow, each with its reason and what would help."""
    missing = [part for part in parts if part["problem"]]
    return render("not_made", parts=missing) if missing else join([])


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
