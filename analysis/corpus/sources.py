"""A corpus read from a study folder, a table or a folder of audio files; nothing is changed.

Read are: ``stimuli.csv`` of a study folder; CSV and JSON lines with a column of files; LJSpeech's
``metadata.csv``; Kaldi's and ESPnet's ``wav.scp``, ``text``, ``utt2spk`` and ``utt2lang``; and
folders of audio with texts of the same names beside them or in another folder, as in VCTK.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

from analysis.corpus.clips import ROLE, Corpus, CorpusClip
from analysis.formatting import counted
from listening.common.sound_files import EXTENSIONS, is_system_file
from listening.common.spreadsheets import (
    TableError,
    clean_name,
    decoded,
    holds_json,
    json_records,
    layout_of,
    located,
    raw_bytes,
    read_table,
)
from listening.design.pasted_texts import UnclearTexts, texts_in
from listening.design.scanning import UnclearNames, scan

STIMULI, STUDY, SCP = "stimuli.csv", "study.toml", "wav.scp"
TABLES = (".csv", ".tsv", ".jsonl", ".txt")
COLUMNS = {  # the column of ours, and what other tables call it
    "file": ("file", "path", "filename", "file_name", "audio", "audio_path", "wav", "clip"),
    "stimulus": ("stimulus", "utt_id", "utterance", "id"),
    "item": ("item", "sentence_id", "text_id"),
    "condition": ("condition", "system"),
    "text": ("text", "sentence", "transcription", "caption"),
    "transcript": ("transcript",),
    "language": ("language", "lang", "locale"),
}
TEXT_FILES = ("metadata.csv", "metadata.txt", "metadata.list", "text", "transcripts.txt")
TEXT_ENDINGS = (".txt", ".lab", ".normalized.txt")
MICROPHONE = re.compile(r"_mic\d$")  # VCTK's two recordings of one sentence share its text


class CorpusError(ValueError):
    """A source that cannot be read as a corpus; a line per problem, with its remedy."""


def read_corpus(
    source: Path,
    *,
    texts: Path | None = None,
    language: str = "",
    pattern: str = "",
    audio: Path | None = None,
) -> Corpus:
    """Return the corpus of a study folder, a table or a folder of audio files.

    ``texts`` is a file with a line name|text for each sentence; ``language`` is the BCP 47 tag of
    texts that have none; ``pattern`` says how files of a folder are named (`design.scanning`).
    ``audio`` is the folder that the paths of a table start from, its own one by default. Raises
    CorpusError with every problem at once.
    """
    if not source.exists():
        raise CorpusError(f"{source}: there is no such file or folder; check the path")
    try:
        if source.is_file():
            clips, notes = _of_file(source, language, audio)
        elif (source / STIMULI).is_file():
            own, roles = _study_facts(source)
            clips, notes = _of_table(source / STIMULI, own or language, audio)
            clips = [_with_role(clip, roles.get(clip.condition, "")) for clip in clips]
        elif (source / SCP).is_file():
            clips, notes = _of_scp(source / SCP, language)
        else:
            clips, notes = _of_folder(source, texts, language, pattern)
    except TableError as error:
        raise CorpusError("\n".join(located(source, line) for line in error.problems)) from None
    except UnclearTexts as error:
        raise CorpusError(f"{texts or source}: {error}") from None
    if not clips:
        raise CorpusError(f"{source}: no audio files or rows; name another file or folder")
    return Corpus(source.name or str(source), tuple(clips), tuple(notes))


def _of_file(path: Path, language: str, audio: Path | None) -> tuple[list[CorpusClip], list[str]]:
    if path.name == SCP or path.suffix == ".scp":
        return _of_scp(path, language)
    if path.suffix.lower() not in TABLES:
        raise CorpusError(
            f"{path}: is no table; name a folder, wav.scp or a table ({', '.join(TABLES)})"
        )
    text, _ = decoded(raw_bytes(path))
    if not holds_json(text) and _is_without_header(text):
        return _of_lines(path, text, language)
    return _of_table(path, language, audio)


# --- Tables ---------------------------------------------------------------------------------------


def _of_table(path: Path, language: str, audio: Path | None) -> tuple[list[CorpusClip], list[str]]:
    rows, notes = _rows(path)
    names = named_columns({name for _, row in rows for name in row})
    if not {"file", "text", "transcript"} & set(names):
        raise CorpusError(
            f"{path}: no column of files or texts; call one “file”, with paths relative to the "
            "table, or one “text”"
        )
    folder = audio or path.parent
    usual = {name: ours for ours, name in names.items()}
    clips, empty = [], 0
    for where, row in rows:
        cells = {usual.get(name, name): value for name, value in row.items() if value}
        file = cells.get("file", "")
        empty += not file
        name = Path(file).with_suffix("").as_posix() if file else where
        columns = {
            k: v for k, v in cells.items() if k not in ("file", "stimulus", "text", "transcript")
        }
        clips.append(
            CorpusClip(
                stimulus=cells.get("stimulus") or clean_name(name),
                file=file,
                where=where,
                path=str(folder / file) if file else "",
                item=cells.get("item", ""),
                condition=cells.get("condition", ""),
                text=cells.get("text") or cells.get("transcript", ""),
                transcript=cells.get("transcript", ""),
                language=cells.get("language") or language,
                columns=columns,
            )
        )
    named = [clip for clip in clips if clip.path]
    if named and not any(Path(clip.path).is_file() for clip in named):
        notes.append(
            f"No file of the table was found in {folder}. Name the folder from which its paths "
            "start: --audio FOLDER."
        )
    if empty:
        notes.append(f"{counted(empty, 'row')} without a file: only the text is checked.")
    for ours, name in names.items():
        if ours != name:
            notes.append(f"The column “{name}” is read as {ours}.")
    return clips, notes


def _rows(path: Path) -> tuple[list[tuple[str, dict[str, str]]], list[str]]:
    """Each row's place and its cells, without blanks around them; and notes on the layout."""
    text, note = decoded(raw_bytes(path))
    if path.suffix.lower() == ".jsonl" or holds_json(text):
        rows = []
        for number, record in json_records(text):
            if not isinstance(record, dict):
                raise CorpusError(
                    f'{path}, line {number}: must be a JSON object, such as {{"file": "a.wav"}}'
                )
            cells = {str(name).strip(): _text_of(value) for name, value in record.items()}
            rows.append((f"{path.name}, line {number}", cells))
        return rows, [note] if note else []
    table = read_table(text, short_rows=True)
    read = [
        (f"{path.name}, row {number}", {n: c.strip() for n, c in cells.items() if n})
        for number, cells in table.records()
    ]
    return read, [*([note] if note else []), *table.notes]


def _text_of(value: Any) -> str:
    return "" if value is None else str(value).strip()


def named_columns(names: Iterable[str]) -> dict[str, str]:
    """Our name of a column -> its name in the table, as far as they are known."""
    folded = {name.casefold(): name for name in sorted(names)}
    results = {}
    for ours, others in COLUMNS.items():
        if known := next((folded[each] for each in others if each in folded), None):
            results[ours] = known
    return results


def _is_without_header(text: str) -> bool:
    """Whether the first line is a clip already, as in LJSpeech's table."""
    first = text.lstrip().partition("\n")[0]
    if first.count("|") == 2 and len({*first.strip().split("|")}) == 2:
        return True  # the text and its normalized form are the same, which no header has
    layout = layout_of(text)
    narrow = len(layout.names) in (2, 3) and layout.delimiter in ("|", "\t")
    return narrow and not named_columns(layout.names)


def _of_lines(path: Path, text: str, language: str) -> tuple[list[CorpusClip], list[str]]:
    """LJSpeech's ``name|text|normalized``: the files are sought beside the table and in wavs/."""
    files = _audio_by_stem(path.parent)
    clips, unknown = [], []
    for number, line in enumerate(text.splitlines(), start=1):
        name, _, rest = line.partition("|" if "|" in line else "\t")
        if not line.strip():
            continue
        stem = Path(clean_name(name)).stem if "." in name[-6:] else clean_name(name)
        paths = files.get(stem, [])
        if not paths:
            unknown.append(f"{path.name}, line {number} ({stem})")
        words = [cell.strip() for cell in rest.split("|") if cell.strip()]
        file = paths[0].relative_to(path.parent).as_posix() if paths else ""
        clips.append(
            CorpusClip(
                stimulus=stem,
                file=file or stem,
                where=f"{path.name}, line {number}",
                path=str(paths[0]) if paths else str(path.parent / stem),
                text=words[0] if words else "",
                language=language,
            )
        )
    return clips, []


# --- Kaldi and ESPnet -----------------------------------------------------------------------------


def _of_scp(path: Path, language: str) -> tuple[list[CorpusClip], list[str]]:
    """``wav.scp`` with ``text``, ``utt2spk`` and ``utt2lang`` beside it."""
    sides = {name: _pairs(path.parent / name) for name in ("text", "utt2spk", "utt2lang")}
    clips, piped = [], 0
    for number, line in enumerate(decoded(raw_bytes(path))[0].splitlines(), start=1):
        name, _, place = line.strip().partition(" ")
        place = place.strip()
        if not name:
            continue
        piped += place.endswith("|")
        speaker = sides["utt2spk"].get(name, "")
        tag = sides["utt2lang"].get(name, "")
        clips.append(
            CorpusClip(
                stimulus=name,
                file=place,
                where=f"{path.name}, line {number}",
                path="" if place.endswith("|") else _scp_path(path.parent, place),
                text=sides["text"].get(name, ""),
                language=tag or language,
                columns={k: v for k, v in (("speaker", speaker), ("language", tag)) if v},
            )
        )
    notes = []
    if piped:
        notes.append(
            f"{path.name} has {counted(piped, 'command')} in place of files. Commands are not run, "
            "and their audio is not checked: write the files, and name them there."
        )
    return clips, notes


def _scp_path(folder: Path, place: str) -> str:
    """Recipes name files from the folder in which they run: this one, or one above it."""
    for base in (folder, *folder.parents):
        if (base / place).is_file():
            return str(base / place)
    return str(folder / place)


def _pairs(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    lines = (line.strip().partition(" ") for line in decoded(raw_bytes(path))[0].splitlines())
    return {name: rest.strip() for name, _, rest in lines if name}


# --- Folders --------------------------------------------------------------------------------------


def _of_folder(
    folder: Path, texts: Path | None, language: str, pattern: str
) -> tuple[list[CorpusClip], list[str]]:
    """Every audio file below a folder: system and sentence by the names, as `scan_audio` reads.

    Where names say neither, the subfolder is the condition and the file's name the sentence.
    """
    paths = sorted(path for stem in _audio_by_stem(folder).values() for path in stem)
    if not paths:
        return [], []
    cells, how = _named_cells([path.relative_to(folder).as_posix() for path in paths], pattern)
    stems = [path.stem for path in paths]
    sentences = list(dict.fromkeys([*stems, *(sentence for _, sentence in cells.values())]))
    words, notes = _texts_of(folder, texts, sentences)
    notes.insert(0, how)
    clips = []
    for path in paths:
        file = path.relative_to(folder)
        above = file.parent.as_posix() if len(file.parts) > 1 else ""
        condition, item = cells.get(file.as_posix(), (above, MICROPHONE.sub("", path.stem)))
        names = (path.stem, MICROPHONE.sub("", path.stem), item)
        text = next((words[name] for name in names if name in words), "")
        clips.append(
            CorpusClip(
                stimulus=file.with_suffix("").as_posix(),
                file=file.as_posix(),
                where=f"{folder.name}/{file.as_posix()}",
                path=str(path),
                item=item,
                condition=condition,
                text=text,
                language=language,
                columns={"condition": condition} if condition else {},
            )
        )
    return clips, notes


def _named_cells(files: list[str], pattern: str) -> tuple[dict[str, tuple[str, str]], str]:
    """File -> its system and sentence as the names say, and how they were read."""
    try:
        scanned = scan(files, pattern)
    except UnclearNames as unclear:
        if pattern:
            raise CorpusError(unclear.what) from None
        offered = f" Name another reading, such as --pattern {quote(unclear.patterns[0])}"
        return {}, (
            "The names do not say which system says which sentence: folders are taken for "
            f"conditions, and names for sentences.{offered * bool(unclear.patterns)}"
        )
    return {file: cell for cell, file in scanned.cells.items()}, f"Names: {scanned.how}."


def _texts_of(
    folder: Path, texts: Path | None, stems: list[str]
) -> tuple[Mapping[str, str], list[str]]:
    """The text of each file's name, out of the file of texts or text files of the same names."""
    text_file = texts or next((folder / n for n in TEXT_FILES if (folder / n).is_file()), None)
    if text_file is not None:
        if not text_file.is_file():
            raise CorpusError(f"{text_file}: there is no such file; check the path after --texts")
        results, unknown = texts_in(decoded(raw_bytes(text_file))[0], stems)
        notes = [f"The texts are those of {text_file.name}."]
        if unknown:
            notes.append(
                f"{counted(len(unknown), 'line')} of {text_file.name} without an audio file, such "
                f"as “{unknown[0][:60]}”."
            )
        return results, notes
    results, wanted = {}, {*stems, *(MICROPHONE.sub("", stem) for stem in stems)}
    for path in _files_below(folder):
        for ending in TEXT_ENDINGS:
            stem = path.name.removesuffix(ending)
            if path.name.endswith(ending) and stem in wanted:
                results[stem] = " ".join(decoded(raw_bytes(path))[0].split())
    return results, [f"Text files of the same names have {counted(len(results), 'text')}."] * bool(
        results
    )


def _audio_by_stem(folder: Path) -> dict[str, list[Path]]:
    results: dict[str, list[Path]] = defaultdict(list)
    for path in _files_below(folder):
        if path.suffix.lower().removeprefix(".") in EXTENSIONS and not path.name.startswith("."):
            results[path.stem].append(path)
    return {stem: sorted(paths) for stem, paths in results.items()}


def _files_below(folder: Path) -> list[Path]:
    results = []
    for parent, folders, files in os.walk(folder):
        folders.sort()
        results += [Path(parent, name) for name in sorted(files)]
    return [p for p in results if not is_system_file(p.relative_to(folder).as_posix())]


def _study_facts(folder: Path) -> tuple[str, dict[str, str]]:
    """The language of a study's texts and the roles of its conditions, as far as study.toml says.

    A file with mistakes says nothing here: importing the study names them.
    """
    try:
        study = tomllib.loads((folder / STUDY).read_text("utf-8"))
        language = study.get("study", {}).get("language", "en")
        roles = {c["key"]: str(c.get("role", "")) for c in study.get("conditions", ())}
        return str(language), roles
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return "", {}


def _with_role(clip: CorpusClip, role: str) -> CorpusClip:
    return replace(clip, columns={**clip.columns, ROLE: role}) if role else clip
