"""A webMUSHRA configuration (YAML) as a study: its format is in webMUSHRA's doc/experimenter.md."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from listening.common.plain_yaml import YamlError, is_true, read_yaml
from listening.common.spreadsheets import strict_number
from listening.design.anchors import LABELS
from listening.design.othertools.conversion import (
    CannotTake,
    Conversion,
    Table,
    file_below,
    listed,
    once,
    slug,
)
from listening.design.othertools.conversion import plain_text as words_of
from listening.design.scanning import UnclearNames, scan

LIKERT = ("likert_single_stimulus", "likert_multi_stimulus")
TAKEN = ("type", "id", "name", "content", "stimuli", "response")
FEWEST, MOST = 2, 11  # points that the method mos may have


class Reader(Protocol):
    """What goes through the pages of a configuration."""

    conversion: Conversion

    def leave(self, table: Table, name: str, taken: tuple[str, ...]) -> None: ...

    def task_for(self, key: str, page: Table, name: str, **more: Any) -> Table: ...

    def item(self, name: str) -> str: ...

    def stimuli(self, page: Table, name: str, item: str, dimension: str) -> None: ...


def likert_task(reader: Reader, page: Table, name: str) -> None:
    """A task for each scale: all pages with the same answers are one."""
    reader.leave(page, name, TAKEN)
    scale = scale_of(page, name)
    if page["type"] == "likert_multi_stimulus":
        why = "raters answer about one clip at a time, in an order of their own"
        reader.conversion.omitted.append(f"all clips of page “{name}” on one screen: {why}")
    scale_json = json.dumps(scale, ensure_ascii=False, sort_keys=True)
    tasks = [task for task in reader.conversion.top["tasks"] if task["key"].startswith("likert")]
    same = [
        t["key"]
        for t in tasks
        if json.dumps(_scale_fields(t), ensure_ascii=False, sort_keys=True) == scale_json
    ]
    key = same[0] if same else f"likert-{len(tasks) + 1}"
    task = reader.task_for(key, page, name, **scale)
    if "criteria" not in task:
        question = (task["instructions"] or task["title"] or "How do you rate this clip?")[:480]
        task["criteria"] = [{"key": "rating", "question": question.split("\n")[0]}]
    reader.stimuli(page, name, reader.item(name), key)


def _scale_fields(task: Table) -> Table:
    return {"method": task["method"], "options": task["options"]}


def scale_of(page: Table, name: str) -> Table:
    """Points from 1 where the values are those; else choices in their order, without scores."""
    response = page.get("response")
    if not isinstance(response, list) or len(response) < FEWEST:
        raise CannotTake(f"Page “{name}” has no list of two responses or more. Give it one.")
    answers: list[tuple[str, str]] = []
    for each in response:
        if not isinstance(each, dict) or not each.get("value", each.get("label")):
            raise CannotTake(f"A response of page “{name}” has no value. Give it one.")
        value = str(each.get("value", each.get("label")))
        answers.append((value, " ".join(str(each.get("label") or value).split())))
    values = [value for value, _ in answers]
    numbers = [str(number) for number in range(1, len(values) + 1)]
    if values == numbers and len(values) <= MOST:
        names = {value: label for value, label in answers if label != value}
        options: dict[str, Any] = {"points": len(values)} | ({"names": names} if names else {})
        return {"method": "mos", "options": options}
    choices = [{"label": value, "text": label} for value, label in answers]
    return {"method": "free_choice", "options": {"choices": choices}}


KINDS = {"text": "text", "long_text": "text", "number": "number", "likert": "one"}


def questionnaire(fields: Any) -> tuple[Table, list[str]]:
    """The questionnaire, and what of it is not taken over."""
    questions: list[Table] = []
    left: list[str] = []
    for each in fields if isinstance(fields, list) else []:
        kind = KINDS.get(str(each.get("type"))) if isinstance(each, dict) else None
        if kind is None:
            left.append(f"a question of the last page ({each}): Earnest has no such kind")
            continue
        known = [q["key"] for q in questions]
        questions.append(
            _question(each, kind, once(slug(str(each.get("name") or "q")), known), left)
        )
    if not questions:
        return {}, left
    return {"key": "after", "when": "after", "questions": questions}, left


def _question(each: Table, kind: str, key: str, left: list[str]) -> Table:
    words = " ".join(str(each.get("label") or each.get("name") or key).split())
    question: Table = {"key": key[:40], "question": words[:500], "kind": kind}
    if is_true(each.get("optional")):
        question["required"] = False
    if kind == "number":
        for name, limit in (("low", "min"), ("high", "max")):
            number = strict_number(each.get(limit, ""))
            if number is not None:
                question[name] = int(number) if number.is_integer() else number
    if each["type"] == "text":
        question["longest"] = 120
    if kind == "one":
        answers = [r for r in each.get("response") or [] if isinstance(r, dict)]
        question["options"] = [
            {"value": str(r.get("value")), "text": str(r.get("label") or r.get("value"))}
            for r in answers
        ]
    if "default" in each:
        left.append(f"the default of the question “{key}”: nothing is answered before it is asked")
    return question


LOOSE = re.compile(r"^(\s*(?:-\s+)*)([A-Za-z_][\w ]*):\s+(?![|>'\"\[{&*!])(.*(?:: | #).*)$")
TRUE_MUSHRA = ("type", "id", "name", "content", "reference", "stimuli")
ANCHORS = {"createAnchor35": "anchor35", "createAnchor70": "anchor70"}
WHY = {  # fields that are not taken over, and why
    "bufferSize": "the browser chooses it",
    "stopOnErrors": "every sound is decoded at import instead",
    "showButtonPreviousPage": "given answers cannot be changed",
    "remoteService": "Earnest keeps the answers itself",
    "enableLooping": "raters can always repeat a part or all of a clip",
    "strict": "Earnest asks for no number of conditions",
    "randomize": "Earnest draws an order of the clips for every rater and screen",
    "showConditionNames": "raters never see the names of conditions",
    "switchBack": "raters can always go back to a clip",
    "stimulus": "the check of the volume has a sound of its own",
    "defaultVolume": "raters set the volume of their device",
    "showResults": "raters are not shown results",
    "writeResults": "results are always kept",
    "showErrors": "an answer that could not be stored is kept in the browser and sent again",
    "popupContent": "the last page says when all is stored",
    "confirmationCode": "write it into [study.completion_codes] as complete, or Earnest makes one",
    "generateSubjectId": "every session has a code of its own",
    "mustConsent": "nobody begins without consent",
    "mustRate": "every question must be answered",
    "mustPlayback": "every clip must be heard before it is rated",
    "img": "answers are words",
}
OTHER_TESTS = {
    "bs1116": "a hidden reference among two clips (BS.1116): add a task of the method bs1116",
    "paired_comparison": "which of two clips is the reference: nearest is the method abx with "
    "versus, or ab where you ask which one is better",
    "preference_test": "add a task of the method ab, with pairs",
    "headphones_screen": 'add [[study.checks]] with key = "huggins", the same test',
}


def read_config(text: str) -> tuple[Table, int]:
    """The configuration, and how many of its texts had to be read as webMUSHRA reads them.

    All values are texts, as they are written.
    """
    loose = 0
    try:
        read = read_yaml(text, as_texts=True)
    except YamlError as first:
        lines = text.expandtabs(4).splitlines()
        mended = [LOOSE.sub(_quoted, line) for line in lines]
        loose = sum(a != b for a, b in zip(lines, mended, strict=True))
        try:
            read = read_yaml("\n".join(mended), as_texts=True)
        except YamlError as error:
            shown = error if loose else first
            raise CannotTake(f"This is no YAML: {shown}. Mend it and try again.") from None
    if not isinstance(read, dict) or not isinstance(read.get("pages"), list):
        raise CannotTake("This is no configuration of webMUSHRA: it has no list of pages.")
    return read, loose


def _quoted(match: re.Match[str]) -> str:
    return f"{match[1]}{match[2]}: {json.dumps(match[3].strip(), ensure_ascii=False)}"


def webmushra_study(config: Table, root: Path, *, consent: str, raters: int) -> Conversion:
    """The study; CannotTake where a sound is missing or nothing is asked that Earnest asks."""
    return _Reader(config, root, consent, raters).read()


class Rated(NamedTuple):
    """A clip that a page asks about: its page as an item, its label, and its sound."""

    item: str
    label: str
    sound: Path


class _Reader:
    """Goes through the pages once; `left` has fields by what is said of them, then pages."""

    def __init__(self, config: Table, root: Path, consent: str, raters: int) -> None:
        self.config, self.root, self.raters = config, root, raters
        title = " ".join(str(config.get("testname") or "Listening test").split())[:200]
        study: Table = {"key": slug(str(config.get("testId") or title)), "title": title}
        study |= {"language": str(config.get("language") or "en"), "lease_minutes": 60}
        study |= {"ends": "as_is", "texts": {"consent": consent}}
        self.conversion = Conversion({"study": study, "conditions": [], "tasks": []})
        self.fields: dict[tuple[str, str], list[str]] = defaultdict(list)
        self.items: dict[str, str] = {}
        self.missing: list[str] = []
        self.rated: dict[str, list[Rated]] = defaultdict(list)  # by task
        self.intro: list[str] = []

    def read(self) -> Conversion:
        self.leave(self.config, "the study", ("testname", "testId", "language", "pages"))
        for page in self.pages(self.config["pages"], random=False):
            self.page(page)
        if self.missing:
            raise CannotTake(
                f"Sound files that are not there: {listed(self.missing)}. Paths "
                f"are looked up below “{self.root}”: name webMUSHRA's own folder with --root."
            )
        tasks = self.conversion.top["tasks"]
        if not tasks:
            raise CannotTake(
                "No page of it asks what a method of Earnest asks (mushra, likert_single_stimulus, "
                "likert_multi_stimulus). "
                + " ".join(f"{line}." for line in self.conversion.omitted)
            )
        for task in tasks:
            for item, condition, sound in self.placed(task["key"]):
                self.conversion.clip(condition, item, sound, dimension=task["key"])
        self.fit(tasks)
        return self.conversion

    def placed(self, task: str) -> list[Rated]:
        """The clips of a task by item and condition: labels, or file names where all are alike."""
        clips = self.rated[task]
        folders: dict[str, set[str]] = defaultdict(set)
        for clip in clips:
            folders[clip.label].add(clip.sound.parent.name)
        if len(folders) == 1 and len(clips) > 1:
            return self.by_file_names(task, clips)
        named = [name for name in folders if len(folders[name]) > 1]
        if named and set.intersection(*(folders[name] for name in folders)):
            labels, apart = listed(list(folders)), listed(sorted(set.union(*folders.values())))
            self.conversion.guessed.append(
                f"conditions of the task {task} are the labels of stimuli ({labels}), though each "
                f"of {listed(named)} has clips of several folders ({apart}): check that a label is "
                "one system"
            )
        return clips

    def by_file_names(self, task: str, clips: list[Rated]) -> list[Rated]:
        """Clips of one label, with the conditions and items that their files' names suggest."""
        label = f"all {len(clips)} clips of the task {task} have the label “{clips[0].label}”"
        names = {clip.sound.relative_to(self.root).as_posix(): clip for clip in clips}
        try:
            scanned = scan(names)
        except UnclearNames:
            scanned = None
        if (
            scanned is None
            or scanned.ignored
            or len(names) < len(clips)
            or len(scanned.systems) < 2
        ):
            self.conversion.guessed.append(
                f"{label} and are one condition: give stimuli the names of their systems if there "
                "are several"
            )
            return clips
        self.conversion.guessed.append(
            f"{label}, so conditions ({listed(scanned.systems)}) and items are read from the names "
            f"of files: {scanned.how}"
        )
        cells = {path: cell for cell, path in scanned.cells.items()}
        return [Rated(cells[path][1], cells[path][0], names[path].sound) for path in names]

    def fit(self, tasks: list[Table]) -> None:
        conditions = {row["condition"] for row in self.conversion.rows}
        known = self.conversion.top["conditions"]
        known += [{"key": key} for key in sorted(conditions - {c["key"] for c in known})]
        for task in tasks:
            task["ratings_per_stimulus"] = self.raters
            own = [row for row in self.conversion.rows if row["dimension"] == task["key"]]
            task["conditions"] = list(dict.fromkeys(row["condition"] for row in own))
            items = {row["item"] for row in own}
            task["block_size"] = len(items) if task["method"] == "mushra" else len(own)
            if len(own) < len(items) * len(task["conditions"]):
                task["allow_missing"] = True
            if task["block_size"] > len(items):
                task["repeat_items"] = True
            task["dimensions"] = [task["key"]]
        self.conversion.guessed.append(
            f"webMUSHRA has no number of raters: every clip is to get {self.raters} ratings "
            "(--raters), each rater gets all screens of a task"
        )
        if "welcome" not in self.conversion.top["study"]["texts"]:
            self.conversion.guessed.append("no page says welcome: [study.texts] has no welcome")
        if not any(name == "consent" for name, _ in self.items.items()):
            self.conversion.guessed.append("the consent is Earnest's: replace it by your board's")
        for (field, why), places in self.fields.items():
            self.conversion.omitted.append(
                f"{field} ({listed(list(dict.fromkeys(places)))}): {why}"
            )

    def pages(self, node: Any, *, random: bool) -> Iterator[Table]:
        """Every page, in the order of the file."""
        fixed = [p for p in node if isinstance(p, dict) and p.get("type") == "mushra"]
        if len(fixed) > 1 and not random and "random" not in node:
            names = listed([str(p.get("id")) for p in fixed])
            why = "Earnest draws an order of the screens for every rater"
            self.conversion.omitted.append(f"the fixed order of the pages {names}: {why}")
        for each in node:
            if isinstance(each, list):
                yield from self.pages(each, random=random or "random" in node)
            elif isinstance(each, dict):
                yield each
            elif each != "random":
                self.conversion.omitted.append(f"“{each}” among the pages: no page is called so")

    def page(self, page: Table) -> None:
        kind, name = str(page.get("type")), str(page.get("id") or page.get("name") or "?")
        if kind in ("generic", "consent", "volume", "finish"):
            getattr(self, kind)(page, name)
        elif kind == "mushra":
            self.mushra(page, name)
        elif kind in LIKERT:
            likert_task(self, page, name)
        else:
            why = OTHER_TESTS.get(kind, "Earnest has no such page")
            self.conversion.omitted.append(f"page “{name}” ({kind}): {why}")

    # --- Pages of words ---------------------------------------------------------------------------

    def text(self, page: Table, name: str) -> str:
        words, lost = words_of(str(page.get("content") or ""))
        if lost:
            self.conversion.omitted.append(
                f"page “{name}”: {', '.join(lost)} in its text; only words stay"
            )
        return words

    def generic(self, page: Table, name: str) -> None:
        self.leave(page, name, ("type", "id", "name", "content"))
        if words := self.text(page, name):
            self.intro.append(words)

    def consent(self, page: Table, name: str) -> None:
        self.leave(page, name, ("type", "id", "name", "content"))
        self.items["consent"] = name
        self.conversion.top["study"]["texts"]["consent"] = self.text(page, name)

    def volume(self, page: Table, name: str) -> None:
        self.leave(page, name, ("type", "id", "name", "content"))
        check = {
            "key": "volume",
            "title": str(page.get("name") or ""),
            "text": self.text(page, name),
        }
        self.conversion.top["study"]["checks"] = [{k: v for k, v in check.items() if v}]

    def finish(self, page: Table, name: str) -> None:
        self.leave(page, name, ("type", "id", "name", "content", "questionnaire"))
        if words := self.text(page, name):
            self.conversion.top["study"]["texts"]["end"] = words
        if fields := page.get("questionnaire"):
            form, left = questionnaire(fields)
            self.conversion.top["questionnaires"] = [form] if form else []
            self.conversion.omitted += left

    # --- Pages that are rated ---------------------------------------------------------------------

    def task_for(self, key: str, page: Table, name: str, **more: Any) -> Table:
        """The task of this key; begun with the words of its first page."""
        words = self.text(page, name)
        tasks: list[Table] = self.conversion.top["tasks"]
        for task in tasks:
            if task["key"] == key:
                if words and words not in task["instructions"]:
                    why = "all screens of a task have the instructions of its first one"
                    self.conversion.omitted.append(f"the text of page “{name}”: {why}")
                self.conversion.omitted += [
                    f"a text between screens (“{words[:60]}”): it has no place"
                    for words in self.intro
                ]
                self.intro = []
                return task
        texts = self.conversion.top["study"]["texts"]
        if self.intro and not tasks and "welcome" not in texts:
            texts["welcome"], self.intro = "\n\n".join(self.intro), []
        instructions = "\n\n".join([*self.intro, words])
        self.intro = []
        task = {
            "key": key,
            "title": str(page.get("name") or ""),
            "instructions": instructions.strip(),
        }
        tasks.append(task | more)
        return tasks[-1]

    def mushra(self, page: Table, name: str) -> None:
        self.leave(page, name, (*TRUE_MUSHRA, *ANCHORS, "showWaveform"))
        task = self.task_for("mushra", page, name, method="mushra", options={})
        task["options"].setdefault("reference", "reference")
        if is_true(page.get("showWaveform")):
            task["options"]["waveform"] = "reference"
        item = self.item(name)
        reference = self.sound(page.get("reference"), name, "reference")
        self.ensure_condition("reference", "Reference", "reference")
        if reference:
            self.conversion.clip("reference", item, reference, dimension="mushra")
        for field, key in ANCHORS.items():
            if is_true(page.get(field)) and reference:
                self.ensure_condition(key, LABELS[key], "anchor")
                target = f"audio/{key}/{slug(item)}.flac"
                self.conversion.anchors[target] = (reference, key)
                self.conversion.row(key, item, target, dimension="mushra")
        self.stimuli(page, name, item, "mushra")

    def stimuli(self, page: Table, name: str, item: str, dimension: str) -> None:
        stimuli = page.get("stimuli")
        if not isinstance(stimuli, Mapping) or not stimuli:
            raise CannotTake(f"Page “{name}” has no stimuli. Give it some, or take it away.")
        for label, path in stimuli.items():
            condition = "system reference" if str(label) == "reference" else str(label)
            if sound := self.sound(path, name, str(label)):
                self.rated[dimension].append(Rated(item, condition, sound))

    def item(self, name: str) -> str:
        """An item of its own for each page, also where two pages have one id."""
        item = once(name[:70], self.items)
        if item != name:
            self.conversion.guessed.append(f"a second page “{name}” is the item “{item}”")
        self.items[item] = name
        return item

    def ensure_condition(self, key: str, label: str, role: str) -> None:
        conditions = self.conversion.top["conditions"]
        if key not in [c["key"] for c in conditions]:
            conditions.append({"key": key, "label": label, "role": role})

    def sound(self, path: Any, name: str, what: str) -> Path | None:
        file = file_below(self.root, str(path or ""))
        if file is not None:
            return file
        self.missing.append(f"“{path}” ({what} of page “{name}”)")
        return None

    def leave(self, table: Table, name: str, taken: tuple[str, ...]) -> None:
        """Each field that is not taken over, with the reason."""
        for field in table:
            if field not in taken:
                why = WHY.get(field, "Earnest has no such setting")
                self.fields[field, why].append(name)
