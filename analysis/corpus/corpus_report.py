"""A corpus checked: sentences, tables and plots in sections, a page of its own, and CSV files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from markupsafe import Markup

from analysis.corpus import balance, text_checks
from analysis.corpus.audio_checks import Fetch, Progress, check_audio, read_all
from analysis.corpus.balance import Cell, Lengths
from analysis.corpus.clips import Corpus, CorpusClip, Finding
from analysis.corpus.personal_data import NOT_FOUND, personal_data
from analysis.formatting import counted, enumerated
from analysis.report.content import Column, Content, Figure, Table, content_from, pick_cells
from analysis.report.figures import PAGE_STYLE
from analysis.report.html.environment import join, render
from analysis.report.html.part_html import content_html, no_link, table_html
from analysis.report.html.section import Section
from analysis.report.report_schema import PartRecord
from analysis.report.writers.exports import bare_table_csv
from listening.methods.text_units import in_characters

MOST_SHOWN = 50  # findings of a check on a page; the CSV has all
MOST_OPEN = 12  # findings of a check that is not folded
MOST_OTHERS = 5  # clips that a finding names on a page
MOST_EMPTY = 8  # empty cells that a sentence names
KINDS = {  # check -> its section and what it looks for
    "unread": ("files", "Unreadable files"),
    "same_text": ("texts", "Identical texts"),
    "near_text": ("texts", "Near-identical texts"),
    "same_audio": ("audio", "Identical samples"),
    "near_audio": ("audio", "Same recording in other forms"),
    "version": ("audio", "Versions of one recording"),
    "missing_text": ("tags", "Empty texts"),
    "empty_text": ("tags", "Texts that normalise to nothing"),
    "script": ("tags", "Script does not match"),
    "language": ("tags", "Language does not match"),
    "mark": ("tags", "Mark does not match a column"),
    "unknown_mark": ("tags", "Unknown marks"),
    "length": ("tags", "Length does not match"),
    "personal": ("personal", "Personal data"),
}
SECTIONS = {
    "balance": "Balance",
    "lengths": "Lengths",
    "files": "Unreadable files",
    "texts": "Duplicate texts",
    "audio": "Duplicate recordings",
    "tags": "Texts and tags",
    "personal": "Personal data in texts",
}
OF_AUDIO = frozenset({"unread", "same_audio", "near_audio", "version", "length"})
EXPLAINED = {
    "texts": (
        "Texts are compared within a language, without case and punctuation. Near means that 70% "
        "of their letter triples are shared (pairs of characters in languages without spaces)."
    ),
    "audio": (
        "Versions of one recording under several conditions of an item are right for anchors, "
        "codecs and enhancement, and count as no finding. "
        "Recordings are compared by their samples, and by fingerprints that survive codecs, "
        "levels, sample rates and trimming. Two takes of a sentence are different recordings. "
        "Clips under 1 s of speech may be missed."
    ),
    "tags": (
        "Scripts are those of Unicode, languages are guessed by py3langid, and lengths are "
        "outliers of words or characters per second (modified z above 3.5)."
    ),
    "personal": (
        "Found are e-mail addresses, phone numbers, IBANs, credit card numbers, identity numbers, "
        f"IP addresses, user names and web addresses with one. {NOT_FOUND}"
    ),
}
Cells = Mapping[tuple[str, ...], Sequence[Cell]]  # by one column, or two that are crossed
FILES = ("findings.csv", "clips.csv", "balance.csv")
FINDING_COLUMNS = (
    Column("place", "Where"),
    Column("what", "What was found"),
    Column("remedy", "What to do"),
)
CELL_NUMBERS = (
    Column("clips", "Clips", "count"),
    Column("share", "Share", "percent"),
    Column("sentences", "Sentences", "count"),
    Column("minutes", "Minutes", "number", 1),
)


@dataclass(frozen=True)
class CorpusReport:
    """What was found of a corpus: its name, sections of content by their ids, and CSV files."""

    name: str
    clips: int
    findings: int
    sections: Mapping[str, Content]
    files: Mapping[str, str]

    def plain(self) -> dict[str, Any]:
        """As plain values that JSON can hold."""
        sections = {key: content.plain() for key, content in self.sections.items()}
        return {**asdict(self), "sections": sections, "files": dict(self.files)}


def report_from(plain: Mapping[str, Any]) -> CorpusReport:
    """What `CorpusReport.plain` gave, after a way through JSON."""
    sections = {key: content_from(content) for key, content in plain["sections"].items()}
    return CorpusReport(**{**plain, "sections": sections})


def check_corpus(
    corpus: Corpus,
    *,
    audio: bool = True,
    progress: Progress | None = None,
    fetch: Fetch | None = None,
) -> CorpusReport:
    """Check a corpus; with ``audio`` its files are decoded, which takes most of the time.

    ``progress`` is called with the number of files read and of all, ``fetch`` with paths whose
    files must be there before they are read.
    """
    findings: list[Finding] = []
    if audio:
        read = read_all(corpus, progress, fetch)
        corpus = corpus.with_durations([each.duration_s if each else None for each in read])
        findings += check_audio(corpus, read)
    findings += text_checks.check_texts(corpus)
    findings += text_checks.mismatched_lengths(corpus)
    findings += personal_data(corpus)
    rated = corpus.rated()
    columns = balance.category_columns(rated)
    names = [*((column,) for column in columns), *balance.crossed_pairs(rated, columns)]
    cells = {each: balance.counts(rated, each) for each in names}
    by_section = {
        "balance": _balance(rated, cells),
        "lengths": _lengths(rated, cells),
        **_findings(findings, corpus, audio=audio),
    }
    contents = {"summary": _summary(corpus, findings, audio=audio), **by_section}
    problems = sum(each.kind != "version" for each in findings)
    files = _files(corpus, cells, findings)
    return CorpusReport(corpus.name, len(corpus.clips), problems, contents, files)


# --- Summary --------------------------------------------------------------------------------------


def _summary(corpus: Corpus, findings: Sequence[Finding], *, audio: bool) -> Content:
    minutes = sum(clip.duration_s or 0.0 for clip in corpus.clips) / 60
    spoken = f", {minutes:,.1f} minutes" if minutes else ""
    languages = sorted({clip.language for clip in corpus.clips if clip.language})
    said = f"Languages: {', '.join(languages)}." if languages else ""
    sentences = len({clip.sentence for clip in corpus.clips})
    problems = sum(each.kind != "version" for each in findings)
    first = f"{corpus.name}: {counted(len(corpus.clips), 'clip')}{spoken}, "
    rows = [
        {"check": title, "found": sum(each.kind == kind for each in findings) if made else None}
        for kind, (_, title) in KINDS.items()
        for made in [audio or kind not in OF_AUDIO or (kind == "length" and minutes > 0)]
    ]
    table = Table(
        "checks",
        "Checks",
        (Column("check", "Check"), Column("found", "Found", "count")),
        rows,
        "" if audio else "A dash: not checked, since the audio was not read.",
    )
    words = [
        f"{first}{counted(sentences, 'sentence')}. {said}".strip(),
        f"{counted(problems, 'finding')} to look at. Nothing was changed."
        if problems
        else "Nothing was found to look at, apart from the balance below.",
    ]
    words += corpus.notes
    notes = []
    if left_out := sum(clip.is_auxiliary for clip in corpus.clips):
        words.append(f"Balance and duplicates leave out {left_out:,} traps and prompts.")
    if not any(clip.text for clip in corpus.clips):
        notes.append("No clip has a text, so texts, tags and personal data are not checked.")
    elif not languages:
        notes.append("No clip has a language, so scripts and languages are not compared.")
    return Content(words, tables=[table], warnings=notes)


# --- Balance --------------------------------------------------------------------------------------


def _balance(corpus: Corpus, cells_of: Cells) -> Content:
    if not cells_of:
        nothing = (
            "There is no column with several categories: name conditions, languages or types in "
            "the table to see their balance."
        )
        return Content([nothing])
    words: list[str] = []
    warnings: list[str] = []
    figures, tables = [], []
    for (column, *_), cells in _of(cells_of, 1):
        uneven = balance.is_uneven(cells)
        (warnings if uneven else words).append(balance.balance_sentence(column, cells))
        rows = [_cell_row(cell, [column], len(corpus.clips)) for cell in cells]
        bars = [{"name": cell.names[0], "value": cell.clips} for cell in cells]
        key = f"balance-{column}"
        figures.append(Figure(key, f"Clips per {column}", "bars", bars, x="Clips"))
        title = f"Clips per {column}"
        tables.append(Table(key, title, (Column(column, column), *CELL_NUMBERS), rows, folded=True))
    for pair, cells in _of(cells_of, 2):
        empty = [" × ".join(cell.names) for cell in cells if not cell.clips]
        if empty:
            more = f" and {len(empty) - MOST_EMPTY:,} more" if len(empty) > MOST_EMPTY else ""
            named = ", ".join(f"“{each}”" for each in empty[:MOST_EMPTY])
            warnings.append(f"{' × '.join(pair)}: no clips in {named}{more}.")
        tables.append(_cross_table(pair, cells))
    if not words:
        words = ["Categories of different size are named below."]
    return Content(words, figures, tables, warnings)


def _of(cells_of: Cells, columns: int) -> list[tuple[tuple[str, ...], Sequence[Cell]]]:
    """The counts of single columns (1) or of crossed pairs (2)."""
    return [(names, cells) for names, cells in cells_of.items() if len(names) == columns]


def _cell_row(cell: Cell, columns: Sequence[str], clips: int) -> dict[str, Any]:
    return {
        **dict(zip(columns, cell.names, strict=True)),
        "clips": cell.clips,
        "share": cell.clips / clips,
        "sentences": cell.sentences,
        "minutes": cell.minutes,
    }


def _cross_table(pair: Sequence[str], cells: Sequence[Cell]) -> Table:
    across = list(dict.fromkeys(cell.names[1] for cell in cells))
    rows: dict[str, dict[str, Any]] = {}
    for cell in cells:
        row = rows.setdefault(cell.names[0], {"": cell.names[0]})
        row[f"={cell.names[1]}"] = cell.clips
    columns = (Column("", pair[0]), *(Column(f"={name}", name, "count") for name in across))
    title = f"Clips by {pair[0]} and {pair[1]}"
    return Table(f"cross-{pair[0]}-{pair[1]}", title, columns, list(rows.values()), folded=True)


# --- Lengths --------------------------------------------------------------------------------------


def _lengths(corpus: Corpus, cells_of: Cells) -> Content:
    shown: list[tuple[str, str, str, list[Lengths]]] = []
    types = [
        column
        for (column, *_), cells in _of(cells_of, 1)
        if column not in (balance.CONDITION, balance.LANGUAGE) and len(cells) <= balance.MOST_PANELS
    ]
    for column in (balance.LANGUAGE, *types[:2]):
        lengths = balance.text_lengths(corpus, column)
        shown.append((f"text-{column}", f"Length of texts per {column}", "Texts", lengths))
    by = types[0] if types else balance.LANGUAGE
    lengths = balance.durations(corpus, by)
    shown.append((f"duration-{by}", f"Duration of clips per {by}", "Clips", lengths))
    figures, rows, words = [], [], []
    for key, title, counted_as, lengths in shown:
        if not lengths:
            continue
        if len(lengths) <= balance.MOST_PANELS:
            figures.append(_histogram(key, title, counted_as, lengths))
        rows += [{"about": title, **_length_row(each)} for each in lengths]
    for each in shown[0][3]:
        ends = f"{each.shortest:g} to {each.longest:g}"
        words.append(
            f"{each.group}: {counted(each.n, 'text')} of {ends} {each.unit}, mean {each.mean:.1f}, "
            f"SD {each.sd:.1f}."
        )
    if not words:
        words = ["No clip has a text."]
    if not shown[-1][3]:
        words.append("Durations are not known, since the audio was not read.")
    table = Table(
        "lengths",
        "Lengths",
        (
            Column("group", "Group"),
            Column("unit", "Unit"),
            Column("n", "Number", "count"),
            Column("mean", "Mean", "number", 1),
            Column("sd", "SD", "number", 1),
            Column("median", "Median", "number", 1),
            Column("shortest", "Shortest", "number", 1),
            Column("longest", "Longest", "number", 1),
        ),
        rows,
        "Texts count without punctuation, each sentence once; clips count all.",
        folded=True,
        group="about",
    )
    return Content(words, figures, [table] if rows else [])


def _histogram(key: str, title: str, counted_as: str, lengths: Sequence[Lengths]) -> Figure:
    units = list(dict.fromkeys(each.unit for each in lengths))
    rows = [
        {
            "group": f"{each.group}, {each.unit}" if len(units) > 1 else each.group,
            "low": low,
            "high": high,
            "value": count,
            "mean": each.mean,
        }
        for each in lengths
        for low, high, count in each.bins
    ]
    axis = enumerated(units, "or").capitalize()
    note = "Dashed lines: means."
    return Figure(key, title, "histogram", rows, x=axis, y=counted_as, note=note)


def _length_row(each: Lengths) -> dict[str, Any]:
    return {key: value for key, value in asdict(each).items() if key != "bins"}


# --- Findings -------------------------------------------------------------------------------------


def _findings(findings: Sequence[Finding], corpus: Corpus, *, audio: bool) -> Mapping[str, Content]:
    """A section for each group of checks, with a table for each check that found something."""
    texts = any(clip.text for clip in corpus.clips)
    counts = Counter(each.kind for each in findings)
    contents = {}
    for section in SECTIONS:
        kinds = {kind: words for kind, (where, words) in KINDS.items() if where == section}
        if not kinds:
            continue
        tables = [
            _finding_table(kind, words, [each for each in findings if each.kind == kind])
            for kind, words in kinds.items()
        ]
        tables = [table for table in tables if table.rows]
        numbers = [f"{table.title}: {counts[table.key]:,}." for table in tables]
        words = [" ".join(numbers)] if numbers else []
        explained = [EXPLAINED[section]] if section in EXPLAINED else []
        if not audio and section in ("files", "audio"):
            words, explained = ["The audio was not read."], []
        elif not texts and section in ("texts", "tags", "personal"):
            words, explained = ["No clip has a text."], []
        elif not words:
            words = ["Nothing was found."]
        contents[section] = Content([*words, *explained], tables=tables)
    return contents


def _finding_table(kind: str, title: str, findings: Sequence[Finding]) -> Table:
    more = len(findings) - MOST_SHOWN
    note = f"{more:,} more are in findings.csv." if more > 0 else ""
    rows = [
        {"place": _place(each.clip), **_finding_row(each, MOST_OTHERS)}
        for each in findings[:MOST_SHOWN]
    ]
    long = len(rows) > MOST_OPEN
    return Table(kind, title, FINDING_COLUMNS, rows, note, folded=long)


def _place(clip: CorpusClip) -> str:
    """The row and the file, where the row does not name it."""
    return clip.where if not clip.file or clip.file in clip.where else f"{clip.where}: {clip.file}"


def _finding_row(each: Finding, most: int | None = None) -> dict[str, Any]:
    """A finding as a row; of many other clips the page names some, the CSV all."""
    others = [other.where for other in each.others[:most]]
    more = f" and {len(each.others) - len(others):,} more" if len(each.others) > len(others) else ""
    what = each.what
    if len(each.others) > 1 and most is not None:
        what += f" The others: {'; '.join(others)}{more}."
    elif each.others and each.kind != "near_text" and most is not None:
        what += f" The other: {others[0]}."
    return {
        "check": each.kind,
        "row": each.clip.where,
        "file": each.clip.file,
        "stimulus": each.clip.stimulus,
        "what": what,
        "remedy": each.remedy,
        "value": each.value,
        "others": "; ".join(others) if most is None else "",
    }


# --- Files ----------------------------------------------------------------------------------------


def _files(corpus: Corpus, cells_of: Cells, findings: Sequence[Finding]) -> Mapping[str, str]:
    of_clip: dict[str, list[str]] = {}
    for each in findings:
        for clip in (each.clip, *each.others):
            of_clip.setdefault(clip.where, []).append(each.kind)
    clips = [_clip_row(clip, of_clip.get(clip.where, ())) for clip in corpus.clips]
    cells = [_long_row(cell, names) for names, own in cells_of.items() for cell in own]
    rows = ([_finding_row(each) for each in findings], clips, cells)
    tables = (bare_table_csv(Table("", "", (), each), {}) for each in rows)
    return dict(zip(FILES, tables, strict=True))


def _clip_row(clip: CorpusClip, kinds: Iterable[str]) -> dict[str, Any]:
    rate = clip.length / clip.duration_s if clip.duration_s and clip.length else None
    return {
        "stimulus": clip.stimulus,
        "file": clip.file,
        "row": clip.where,
        **pick_cells(clip, "item", "condition", "language", "text", "normalised", "length"),
        "unit": "characters" if in_characters(clip.language) else "words",
        "duration_s": None if clip.duration_s is None else round(clip.duration_s, 3),
        "per_second": None if rate is None else round(rate, 3),
        "findings": " ".join(dict.fromkeys(kinds)),
    }


def _long_row(cell: Cell, columns: Sequence[str]) -> dict[str, Any]:
    columns, names = (*columns, ""), (*cell.names, "")
    return {
        "column": columns[0],
        "value": names[0],
        "by": columns[1],
        "by_value": names[1],
        "clips": cell.clips,
        "sentences": cell.sentences,
        "minutes": None if cell.minutes is None else round(cell.minutes, 3),
    }


# --- Pages ----------------------------------------------------------------------------------------


def report_sections(report: CorpusReport) -> list[Section]:
    """The sections as HTML, for a page of the site or one of its own."""
    titles = {"summary": "Summary", **SECTIONS}
    return [
        Section(f"corpus-{key}", titles[key], _content_html(key, content))
        for key, content in report.sections.items()
    ]


def _content_html(key: str, content: Content) -> Markup:
    part = PartRecord(
        key=key,
        version="1",
        title="",
        problem="",
        sentences=(),
        figures=(),
        tables=(),
        warnings=(),
        methods=(),
        files={},
    )
    tables = join(table_html(table) for table in content.tables)
    return content_html(part, content, no_link, tables=tables)


def page_html(report: CorpusReport, made_at: str) -> str:
    """A whole page that needs no other file, no network and no script."""
    return render(
        "page",
        title=f"Corpus check of {report.name}",
        figure_style=Markup(PAGE_STYLE),
        sections=report_sections(report),
        made_at=made_at,
        of_ratings=False,
    )
