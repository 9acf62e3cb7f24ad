"""A study folder for a word list: study.toml and stimuli.csv, and the words to be synthesised."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import Template

from listening.common.whole_files import write_whole
from listening.design.studyfile import CSV, TOML
from listening.design.studyfile.problems import quoted
from listening.design.studyfile.writer import rows_text
from listening.methods.word_lists import ListedWord, word_list

WORDS_CSV = "words.csv"
WORD = "{word}"
SYSTEM = re.compile(r"[a-z0-9](?:[-_a-z0-9]{0,60}[a-z0-9])?")
ENDINGS = ("wav", "flac", "ogg", "mp3", "m4a")
PER_BLOCK = {"drt": 24, "mrt": 25}
TEMPLATE = Path(__file__).with_suffix(".toml")


class WordListError(ValueError):
    """Why no folder was written; the message says what to do."""


def write_word_list_study(
    name: str,
    folder: Path,
    systems: Sequence[str],
    *,
    ending: str = "wav",
    carrier: str = WORD,
    purpose: str = "",
) -> tuple[int, list[str]]:
    """Write study.toml, stimuli.csv and words.csv into a folder; nothing in it is replaced.

    ``carrier`` is the sentence to be synthesised, with {word} in the place of the word. Returns
    the number of clips and the files of clips that are not there yet, relative to the folder.
    """
    _check(systems, ending, carrier)
    for each in (TOML, CSV, WORDS_CSV):
        if (folder / each).exists():
            raise WordListError(
                f"{folder / each} is there, and was not touched. Name a new folder."
            )
    words = word_list(name)
    rows = [stimulus_row(word, system, ending) for system in systems for word in words]
    conditions = "".join(f'[[conditions]]\nkey = "{each}"\n\n' for each in systems)
    key = re.sub(r"[^-a-zA-Z0-9_]+", "-", folder.resolve().name).strip("-")[:80] or name
    toml = Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        purpose=purpose, key=key, name=name, conditions=conditions, block=PER_BLOCK[name]
    )
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in (
        (WORDS_CSV, _words_text(words, ending, carrier)),
        (CSV, rows_text(rows)),
        (TOML, toml),
    ):
        write_whole(folder / file, text.encode())
    files = dict.fromkeys(row["file"] for row in rows)
    return len(rows), [file for file in files if not (folder / file).is_file()]


def stimulus_row(word: ListedWord, system: str, ending: str = "wav") -> dict[str, str]:
    """The row of stimuli.csv for a word of a list as one system says it."""
    return {
        "stimulus": f"{system}-{word.item}",
        "condition": system,
        "item": word.item,
        "file": f"audio/{system}/{word.word}.{ending}",
        "text": word.word,
        "dimension": word.dimension,
        "alternatives": "|".join(word.alternatives),
        "correct_answer": word.word,
    }


def _check(systems: Sequence[str], ending: str, carrier: str) -> None:
    twice = [system for system in dict.fromkeys(systems) if systems.count(system) > 1]
    if twice:
        raise WordListError(f"The list of systems names {quoted(twice)} twice. Name each once.")
    for system in systems:
        if not SYSTEM.fullmatch(system):
            raise WordListError(
                f"The system “{system}” cannot be a key. Use letters a-z, digits, - and _."
            )
    if ending not in ENDINGS:
        raise WordListError(f"The ending “{ending}” is none of {', '.join(ENDINGS)}.")
    if WORD not in carrier:
        raise WordListError(f"The sentence “{carrier}” must hold {WORD}, where the word is spoken.")


def _words_text(words: Sequence[ListedWord], ending: str, carrier: str) -> str:
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(("file", "sentence"))
    writer.writerows(_sentences(words, ending, carrier))
    return table.getvalue()


def _sentences(words: Sequence[ListedWord], ending: str, carrier: str) -> Iterator[tuple[str, str]]:
    """Each word once, with the file that each system's folder has it in."""
    for word in dict.fromkeys(each.word for each in words):
        yield f"{word}.{ending}", carrier.replace(WORD, word)
