r"""The report card of a method as Markdown, as LaTeX and as JSON, from one structure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from analysis.report.report_card import report_card
from analysis.report.report_card_entries import Card, Entry
from analysis.report.report_schema import Report
from analysis.report.writers.latex_text import escape_latex
from analysis.report.writers.markdown import escape_markdown as markdown_escaped

if TYPE_CHECKING:
    from listening.selectors import StudyFacts

FORMAT = 1
STEM = "report-card"
CARD = tuple(f"{STEM}.{kind}" for kind in ("md", "tex", "json"))  # the names of its files
_LONGEST_WORD, _LONGEST_LINE = 18, 500  # characters that LaTeX can set in half a column, a row
_ROW = (
    "\\providecommand{\\cardrow}[2]{\\noindent"
    "\\parbox[t]{0.27\\columnwidth}{\\raggedright #1\\strut}\\hfill"
    "\\parbox[t]{0.69\\columnwidth}{\\raggedright #2\\strut}\\par}"
)
_SENTENCE = re.compile(r"(?<=[.!?]) ")


def card_files(report: Report | None, facts: StudyFacts | None = None) -> dict[str, str]:
    """The card in its three forms, by the names of their files."""
    card = report_card(report, facts)
    return dict(zip(CARD, (card_markdown(card), card_latex(card), card_json(card)), strict=True))


def card_markdown(card: Card) -> str:
    """The card as Markdown: a list per section, longer facts as lists of their own."""
    lines = [f"# {_mark_text(card.title)}", ""]
    for section in card.sections:
        lines += [f"## {section.title}", ""]
        for entry in section.entries:
            if len(entry.lines) == 1:
                lines.append(f"- **{_mark_text(entry.label)}:** {_mark_text(entry.lines[0])}")
            else:
                lines.append(f"- **{_mark_text(entry.label)}:**")
                lines += [f"  - {_mark_text(line)}" for line in entry.lines]
        lines.append("")
    lines += [f"{_mark_text(note)}\n" for note in _notes(card)]
    return "\n".join(lines)


def card_json(card: Card) -> str:
    """The card for programs: ``value`` is null where something is not known, and ``text`` why."""
    sections = [
        {
            "key": section.key,
            "title": section.title,
            "entries": [
                {"label": e.label, "known": e.known, "text": list(e.lines), "value": e.value}
                for e in section.entries
            ],
        }
        for section in card.sections
    ]
    plain = {"format": FORMAT, "title": card.title, "sections": sections}
    plain |= {"not_known": card.unknown, "notes": list(card.notes)}
    return json.dumps(plain, ensure_ascii=False, indent=1) + "\n"


def card_latex(card: Card) -> str:
    """The card as two columns that break over columns and pages of a text; needs no package.

    No row is wider than a column: it may stand in an article of one or two columns.
    """
    lines = [
        f"% {escape_latex(card.title)}: to be read in where a text may stand, such as an appendix",
        _ROW,
        f"{{\\footnotesize\\noindent\\textbf{{{_breakable(card.title)}}}\\par",
    ]
    for section in card.sections:
        lines.append(f"\\medskip\\hrule\\smallskip\\noindent\\textbf{{{section.title}}}\\par")
        for entry in section.entries:
            lines += _rows(entry)
    lines.append("\\medskip\\hrule\\smallskip")
    lines += [f"\\noindent {{\\raggedright {_breakable(note)}\\par}}" for note in _notes(card)]
    return "\n".join([*lines, "}", ""])


def _rows(entry: Entry) -> Iterator[str]:
    label = _breakable(entry.label)
    for line in entry.lines:
        for piece in _pieces(line):
            yield f"\\cardrow{{{label}}}{{{_breakable(piece)}}}"
            label = ""


def _pieces(line: str) -> Iterator[str]:
    """A line in pieces that a row can hold: a row does not break over a page."""
    held = ""
    for sentence in _SENTENCE.split(line):
        if held and len(held) + len(sentence) > _LONGEST_LINE:
            yield held
            held = ""
        held = f"{held} {sentence}".strip()
    yield held


def _breakable(text: str) -> str:
    """LaTeX in which a long word, such as a hash, may be broken anywhere."""
    words = []
    for word in text.split():
        if len(word) > _LONGEST_WORD:
            word = "\u200b".join(word[n : n + 8] for n in range(0, len(word), 8))
        words.append("\\hspace{0pt}".join(escape_latex(part) for part in word.split("\u200b")))
    return " ".join(words)


def _notes(card: Card) -> list[str]:
    missing = "; ".join(card.unknown)
    return [*card.notes, *([f"Not known: {missing}."] if missing else [])]


def _mark_text(text: str) -> str:
    return markdown_escaped(" ".join(text.split()))
