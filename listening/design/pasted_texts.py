"""The words of sentences, as they are pasted or stand in a file beside the sounds."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

from listening.spreadsheets import clean_name

LONGEST_CSV = 100_000  # characters of a line that is looked at for quotes


def texts_in(pasted: str, sentences: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Sentence -> text, of lines ``name<tab>text``, ``name|text`` or CSV; and the other lines.

    Lines without names are taken in order where there are as many as sentences.
    """
    lines = [line.strip() for line in pasted.splitlines() if line.strip()]
    folded = {clean_name(name).casefold(): name for name in sentences}
    texts, unknown = {}, []
    for line in lines:
        name, text = _named_text(line)
        known = folded.get(clean_name(re.sub(r"\.\w{2,4}$", "", name)).casefold())
        if known and text.strip():
            texts[known] = text.strip().rpartition("|")[2] or text.strip()
        else:
            unknown.append(line)
    if not texts and len(lines) == len(sentences):
        return dict(zip(sentences, lines, strict=True)), []
    return texts, unknown


def _named_text(line: str) -> tuple[str, str]:
    """The name before a tab, | or comma, and what stands behind it, without a table's quotes."""
    if re.search(r"\t|\|", line):
        name, text = re.split(r"\t|\|", line, maxsplit=1)
    else:
        cells = next(csv.reader([line])) if len(line) < LONGEST_CSV else [line.partition(",")[0]]
        name, text = cells[0], cells[1] if len(cells) == 2 else line.partition(",")[2]
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1].replace('""', '"')
    return name.strip().strip('"'), text
