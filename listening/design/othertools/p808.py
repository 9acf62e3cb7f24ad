"""The files of Microsoft's P.808 toolkit (master.cfg, rating_clips.csv …) as a study."""

from __future__ import annotations

import configparser
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from listening.common.condition_names import without_condition
from listening.common.spreadsheets import TableError, read_table
from listening.design.othertools.conversion import (
    CannotTake,
    Conversion,
    Table,
    file_below,
    listed,
    slug,
    sounds_below,
)
from listening.design.scanning import UnclearNames, scan

METHODS = {"acr": "acr_html", "dcr": "dcr_ccr_html", "ccr": "dcr_ccr_html", "p835": "p835_html"}
IN_PAIRS = ("dcr", "ccr")
REFERENCE = "reference"
DEFAULTS = {"number_of_clips_per_session": 10, "number_of_trapping_per_session": 1}
DEFAULTS |= {"number_of_gold_clips_per_session": 1}
SESSIONS = "allowed_max_hit_in_project"
MOST_SESSIONS = 1000
PAYMENT = "hit_base_payment"
PATTERN, KEYS = "condition_pattern", "condition_keys"
TAKEN = (*DEFAULTS, SESSIONS, PAYMENT, PATTERN, KEYS)
WHY = {
    "cookie": "Earnest knows sessions without a cookie of the project",
    "bonus": "Earnest pays nothing by itself; Recruiting has bonuses at Prolific",
    "quantity_hits": "it is about a bonus",
    "quality_top": "it is about a bonus",
}
STORAGE = "clips are taken from your folder, not from a store"
SOURCES = {  # of each file: its columns of clips, of answers, of references
    "clips": ("rating_clips", "", "references"),
    "training": ("training_clips", "", "training_references"),
    "gold": ("gold_clips", "gold_clips_ans", ""),
    "trapping": ("trapping_clips", "trapping_ans", ""),
}


@dataclass(frozen=True)
class P808Files:
    """What the toolkit's master script is given; texts of the files."""

    method: str
    clips: str
    training: str = ""
    gold: str = ""
    trapping: str = ""
    cfg: str = ""
    pattern: str = ""  # a regular expression whose groups are the condition


def p808_study(files: P808Files, audio: Path, begun: Table, *, raters: int) -> Conversion:
    """The study; `begun` is study.toml with the one task of the method, by the preset p808."""
    return _Reader(files, audio, begun, raters).read()


def _clips(count: int) -> str:
    return "1 clip is" if count == 1 else f"{count:,} clips are"


class _Reader:
    def __init__(self, files: P808Files, audio: Path, begun: Table, raters: int) -> None:
        self.files, self.raters, self.top = files, raters, begun
        self.conversion = Conversion(begun)
        self.sounds_by_name = sounds_below(audio)
        self.audio = audio
        self.missing: list[str] = []
        self.values = self.settings()
        (self.task,) = begun["tasks"]

    def read(self) -> Conversion:
        clips = self.table("clips")
        if self.files.method not in IN_PAIRS and any(row["reference"] for row in clips):
            self.conversion.omitted.append("the references of clips: only dcr and ccr play them")
            clips = [{**row, "reference": ""} for row in clips]
        pairs = [(self.sound(row["clip"]), self.sound(row["reference"])) for row in clips]
        more = {name: self.table(name) for name in ("training", "gold", "trapping")}
        heard = {n: [(r, self.sound(r["clip"])) for r in rows] for n, rows in more.items()}
        if self.missing:
            raise CannotTake(
                f"{_clips(len(self.missing))} not below “{self.audio}”: "
                f"{listed(self.missing)}. Nothing is fetched: copy them there under their names."
            )
        self.task["block_size"] = min(self.number("number_of_clips_per_session"), len(clips)) or 1
        self.rated([(clip, reference) for clip, reference in pairs if clip])
        self.practised([sound for _, sound in heard["training"] if sound])
        self.trapped({name: heard[name] for name in ("gold", "trapping")})
        self.fit()
        return self.conversion

    # --- Files ------------------------------------------------------------------------------------

    def settings(self) -> dict[str, str]:
        """Fields that count for the method; all others are named, without their values."""
        parser = configparser.ConfigParser(interpolation=None)
        try:
            parser.read_string(self.files.cfg)
        except configparser.Error as error:
            raise CannotTake(f"The configuration cannot be read: {error}.") from None
        own = ("create_input", METHODS[self.files.method])
        values: dict[str, str] = {}
        for section in parser.sections():
            if section in own:
                values |= dict(parser.items(section))
                self.conversion.omitted += [
                    f"[{section}] {name}: {_why(name)}"
                    for name in parser.options(section)
                    if name not in TAKEN
                ]
            else:
                other = section.endswith("_html")
                why = "it is of another method" if other else STORAGE
                self.conversion.omitted.append(f"[{section}]: {why}")
        return values

    def number(self, name: str) -> int:
        text = self.values.get(name, str(DEFAULTS.get(name, 0)))
        if not text.strip().isdecimal():
            raise CannotTake(f"{name} is “{text}”. Write a whole number.")
        return int(text)

    def table(self, name: str) -> list[dict[str, str]]:
        text = getattr(self.files, name)
        clip, answer, reference = SOURCES[name]
        if not text.strip() and name != "clips":
            return []
        if not text.strip():
            raise CannotTake(f"The table of {name} has no column “{clip}”. Add it.")
        try:
            table = read_table(text, short_rows=True)
        except TableError as error:
            raise CannotTake(f"The table of {name} cannot be read: {error}.") from None
        self.conversion.guessed += [f"table of {name}: {note.rstrip('.')}" for note in table.notes]
        rows = [row for _, row in table.records()]
        needed = [clip, *([answer] if answer else [])]
        if name == "clips" and self.files.method in IN_PAIRS:
            needed.append(reference)
        for column in needed:
            if not rows or column not in rows[0]:
                raise CannotTake(f"The table of {name} has no column “{column}”. Add it.")
        columns = {clip: "clip", answer: "answer", reference: "reference"}
        for column in rows[0]:
            if column not in columns:
                self.conversion.omitted.append(
                    f"column “{column}” of the table of {name}: it has no place"
                )
        read = [
            {"clip": (row[clip] or "").strip(), "answer": (row.get(answer) or "").strip(),
             "reference": (row.get(reference) or "").strip()}
            for row in rows
        ]  # fmt: skip
        unique = list({tuple(row.items()): row for row in read if row["clip"]}.values())
        if len(unique) < len(read):
            why = "empty, or the same as another row"
            self.conversion.omitted.append(
                f"{len(read) - len(unique):,} rows of the table of {name}: {why}"
            )
        return unique

    def sound(self, url: str) -> Path | None:
        """The clip of an address: by the longest end of its path that is below the folder."""
        if not url:
            return None
        try:
            path = urlsplit(url).path
        except ValueError:  # such as one half of [ ]
            path = url
        parts = [unquote(part) for part in path.split("/") if part]
        for start in range(len(parts)):
            if (below := file_below(self.audio, "/".join(parts[start:]))) is not None:
                return below
        namesakes = self.sounds_by_name.get(parts[-1] if parts else "", [])
        if len(namesakes) == 1:
            return namesakes[0]
        reason = "several of this name" if namesakes else "none of this name"
        self.missing.append(f"{url} ({reason})")
        return None

    # --- Rows -------------------------------------------------------------------------------------

    def rated(self, pairs: list[tuple[Path, Path | None]]) -> None:
        if self.files.method in IN_PAIRS:
            self.top["conditions"] = [{"key": REFERENCE, "label": "Reference", "role": "reference"}]
        cells = self.cells([clip for clip, _ in pairs])
        for clip, reference in pairs:
            condition, item = cells[clip]
            self.conversion.clip(condition, item, clip)
            known = any(
                r["item"] == item and r["condition"] == REFERENCE for r in self.conversion.rows
            )
            if reference and not known:
                self.conversion.clip(REFERENCE, item, reference)
        if len({condition for condition, _ in cells.values()}) * len(
            {item for _, item in cells.values()}
        ) > len(cells):
            self.task["allow_missing"] = True

    def cells(self, clips: list[Path]) -> dict[Path, tuple[str, str]]:
        """Condition and sentence of each clip, by the pattern or by what the names suggest."""
        pattern = self.files.pattern or self.values.get(PATTERN, "")
        if pattern:
            return self.by_pattern(clips, pattern)
        names = {clip.relative_to(self.audio).as_posix(): clip for clip in clips}
        try:
            scanned = scan(names)
        except UnclearNames as unclear:
            raise CannotTake(
                f"Which condition a clip is of is not plain from its name. {unclear.what} Give "
                "--condition-pattern, as condition_pattern of the toolkit: a regular expression "
                "whose groups are the condition, such as '_c(?P<condition>[0-9]+)_'."
            ) from None
        if scanned.ignored:
            odd = listed([f"“{path}” {why}" for path, why in scanned.ignored])
            raise CannotTake(f"Not all names are alike: {odd}. Give --condition-pattern.")
        self.conversion.guessed.append(f"conditions by the names of files: {scanned.how}")
        return {names[path]: cell for cell, path in scanned.cells.items()}

    def by_pattern(self, clips: list[Path], pattern: str) -> dict[Path, tuple[str, str]]:
        try:
            expression = re.compile(pattern)
        except re.error as error:
            raise CannotTake(f"The pattern “{pattern}” is none: {error}.") from None
        if not expression.groups:
            raise CannotTake(f"The pattern “{pattern}” has no group: put the condition in ( ).")
        cells: dict[Path, tuple[str, str]] = {}
        odd: list[str] = []
        for clip in clips:
            match = expression.search(clip.name)
            if match is None:
                odd.append(clip.name)
                continue
            condition = "-".join(group for group in match.groups() if group)
            cells[clip] = condition, slug(without_condition(clip.stem, match).strip("-_ ."))
        if odd:
            raise CannotTake(f"The pattern “{pattern}” does not fit {listed(odd)}.")
        twice = len(cells) - len(set(cells.values()))
        if twice:
            raise CannotTake(
                f"With the pattern “{pattern}” {twice:,} clips have the condition and the sentence "
                "of another one. Put into its groups what tells conditions apart, and nothing else."
            )
        return cells

    def practised(self, sounds: list[Path]) -> None:
        if not sounds:
            return
        if self.files.method in IN_PAIRS:
            self.conversion.omitted.append(
                f"{len(sounds)} training clips: in pairs their references would be needed, too; "
                "add [[tasks.training]] by hand"
            )
            return
        self.task["training"] = [
            {"stimulus": self.conversion.clip("training", clip.stem, clip, trap="training")}
            for clip in sounds
        ]
        self.conditions_for_traps("training")

    def trapped(self, heard: Mapping[str, list[tuple[dict[str, str], Path | None]]]) -> None:
        kinds: list[Table] = []
        for name, rows in heard.items():
            count = self.number(f"number_of_{'gold_clips' if name == 'gold' else name}_per_session")
            if not rows or not count:
                if rows:
                    self.conversion.omitted.append(f"the {name} clips: a session has 0 of them")
                continue
            for row, sound in rows:
                if sound:
                    self.conversion.clip(name, sound.stem, sound, trap=name, expected=row["answer"])
            kind: dict[str, Any] = {"kind": name, "count": count}
            kinds.append(kind | ({"tolerance": 1} if name == "gold" else {}))
            self.conditions_for_traps(name)
        if kinds:
            placing = {"per": self.task["block_size"], "placement": "outside"}
            self.task["traps"] = {**placing, "kinds": kinds}
            if self.files.method == "p835":
                for kind in kinds:
                    kind["criterion"] = "overall"
        if any(kind["kind"] == "gold" for kind in kinds):
            self.conversion.guessed.append(
                "an answer to a gold clip may be off by one point, as in P.808"
            )

    def conditions_for_traps(self, key: str) -> None:
        self.top.setdefault("conditions", []).append({"key": key, "role": "trap"})

    def fit(self) -> None:
        task = self.task
        rated = [row for row in self.conversion.rows if not row.get("trap")]
        items = {row["item"] for row in rated}
        task["conditions"] = list(dict.fromkeys(row["condition"] for row in rated))
        if task["block_size"] > len(items):
            task["repeat_items"] = True
        task["ratings_per_stimulus"] = self.raters
        self.conversion.guessed.append(
            f"the toolkit's files have no number of ratings (it is set at the recruiting site): "
            f"every clip is to get {self.raters} (--raters)"
        )
        if (often := min(self.number(SESSIONS), MOST_SESSIONS)) > 1:
            self.top["study"]["sessions_per_rater"] = often
            task["blocks_per_rater"] = often
        if paid := self.values.get(PAYMENT, "").strip():
            try:
                amount = float(paid)
            except ValueError:
                amount = math.nan
            if not 0 <= amount < math.inf:
                raise CannotTake(f"{PAYMENT} is “{paid}”. Write a number such as 0.5.")
            self.top["study"]["payment"] = {"by": "us", "currency": "USD", "per_session": amount}
            self.conversion.guessed.append(f"{PAYMENT} is in USD, as at Mechanical Turk")
        self.conversion.guessed.append(
            "texts, checks and questions are those of the preset p808, not of your HIT's HTML: "
            "read them, and put in your consent"
        )


def _why(name: str) -> str:
    return next((why for part, why in WHY.items() if part in name), "Earnest has no such setting")
