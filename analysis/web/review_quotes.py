"""Quotes to cite from a review of codes: a page with what is marked, and CSV, Markdown, LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from analysis.models import AnalysisRun
from analysis.report.writers.latex_text import escape_latex as in_latex
from analysis.report.writers.markdown import escape_markdown as in_markdown
from listening.common.signals import acted
from listening.common.spreadsheets import safe_cell
from listening.common.views import attachment, logged_in_get, logged_in_page
from listening.selectors import (
    Quote,
    QuoteFilter,
    read_quotes,
    review_head_or_404,
    review_quotes,
    study_head_or_404,
)

PER_PAGE = 25
MOST_IN_TEXT = 2000  # quotes in a Markdown or LaTeX file; a CSV has them all
WHICH = (("held", "decided by the rule"), ("given", "assigned by any reviewer"))
COLUMNS = (
    *("code", "title", "state", "gave", "of", "review", "label", "system", "dimension", "item"),
    *("rater", "language", "marked", "reason"),
)
KINDS = {"csv": "text/csv", "md": "text/markdown", "tex": "application/x-tex"}


@logged_in_page
def page(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    study = study_head_or_404(key, request.user, "analyse")
    wanted = _quote_filter(request)
    quotes = review_quotes(key, pk, wanted)
    shown = Paginator(quotes.quotes, PER_PAGE).get_page(request.GET.get("page"))
    rows = list(shown)
    read_quotes(rows)
    filters = asdict(wanted)
    context = {
        "study": study,
        "review": review_head_or_404(key, pk),
        "quotes": quotes,
        "page": shown,
        "rows": [{"quote": quote, "cited": cited(quote)} for quote in rows],
        "asked": filters,
        "choices": [
            ("label", "Label", quotes.labels, wanted.label),
            ("dimension", "Dimension", quotes.dimensions, wanted.dimension),
            ("system", "System", quotes.systems, wanted.system),
        ],
        "which": WHICH,
        "most_in_text": MOST_IN_TEXT,
        "query": urlencode({name: value for name, value in filters.items() if value}),
    }
    return render(request, "analysis/review_quotes.html", context)


@logged_in_get
def file(request: HttpRequest, key: str, pk: int, form: str) -> HttpResponse:
    """What the filters of the page leave."""
    study = study_head_or_404(key, request.user, "analyse")
    wanted = _quote_filter(request)
    head = review_head_or_404(key, int(pk))
    quotes = review_quotes(key, int(pk), wanted).quotes
    rows = quotes if form == "csv" else quotes[:MOST_IN_TEXT]
    read_quotes(rows)
    rule = f"{head['rule']}, version {head['rule_version']}"
    about = [
        f"Quotes of the review “{head['title']}” of the study {key}; rule: {rule}.",
        *(["The review is blinded, so systems are not named."] if not head["unblinded"] else []),
        *([f"The first {len(rows)} of {len(quotes)} quotes."] if len(rows) < len(quotes) else []),
    ]
    text = {"csv": _csv, "md": _markdown, "tex": _latex}[form](rows, about)
    acted.send(
        AnalysisRun,
        study_id=study["pk"],
        by=request.user.get_username(),
        what="exported",
        details={"file": f"quotes.{form}", "review": head["title"]},
    )
    return attachment(text, f"{key}-quotes-{pk}.{form}", f"{KINDS[form]}; charset=utf-8")


def _quote_filter(request: HttpRequest) -> QuoteFilter:
    named = ("code", "label", "dimension", "system", "verdict")
    which = "given" if request.GET.get("which") == "given" else "held"
    return QuoteFilter(which=which, **{name: request.GET.get(name, "") for name in named})


def source(quote: Quote) -> str:
    """Whose words they are, as far as may be told: a number, never a name."""
    facts = [f"rater {quote.rater}", quote.label, quote.system, quote.dimension]
    return ", ".join(filter(None, facts))


def coded(quote: Quote) -> str:
    return "; ".join(f"{each.title} ({each.gave} of {each.of})" for each in quote.codes)


def cited(quote: Quote) -> str:
    return f"“{quote.text.strip()}” ({source(quote)}; {coded(quote)})"


def _csv(quotes: Sequence[Quote], _about: Sequence[str]) -> str:
    """A row for each code of a reason; the words that are marked have slashes between them."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for quote in quotes:
        marked = " / ".join(words for words, is_marked in quote.pieces if is_marked)
        about = (quote.verdict, quote.label, quote.system, quote.dimension, quote.sentence)
        for code in quote.codes:
            cells: list[Any] = [code.key, code.title, code.state, code.gave, code.of, *about]
            cells += [quote.rater, quote.language, marked, quote.text]
            writer.writerow([safe_cell(c) if isinstance(c, str) else c for c in cells])
    return out.getvalue()


def _markdown(quotes: Sequence[Quote], about: Sequence[str]) -> str:
    lines = ["# Quotes", "", *(in_markdown(each) for each in about), ""]
    for quote in quotes:
        words = "".join(_mark_around(in_markdown(w), w, "**", "**", m) for w, m in quote.pieces)
        lines += [f"> {words.strip()}", ">", f"> – {in_markdown(source(quote))}. "]
        lines[-1] += in_markdown(coded(quote))
        lines.append("")
    return "\n".join(lines)


def _latex(quotes: Sequence[Quote], about: Sequence[str]) -> str:
    lines = [
        *(f"% {' '.join(each.split())}" for each in about),
        "% Other scripts than Latin need XeLaTeX or LuaLaTeX, and a font that has them.",
    ]
    for quote in quotes:
        words = "".join(_mark_around(_flat(w), w, r"\emph{", "}", m) for w, m in quote.pieces)
        lines += [r"\begin{quote}", f"``{words.strip()}''", rf"\hfill ({in_latex(source(quote))};"]
        lines += [f"{in_latex(coded(quote))})", r"\end{quote}", ""]
    return "\n".join(lines)


def _flat(words: str) -> str:
    """On one line: an empty one would end the paragraph."""
    start, end = (" " if words[:1].isspace() else ""), (" " if words[-1:].isspace() else "")
    return start + in_latex(" ".join(words.split())) + end


def _mark_around(shown: str, words: str, left: str, right: str, marked: bool) -> str:
    """Marks stand at the words themselves: blanks at the edges stay outside."""
    if not marked or not words.strip():
        return shown
    start, end = (" " if shown[:1] == " " else ""), (" " if shown[-1:] == " " else "")
    return f"{start}{left}{shown.strip()}{right}{end}"
