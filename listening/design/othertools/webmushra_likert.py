"""The Likert pages of webMUSHRA: one clip at a time, answered on their own scale."""

from __future__ import annotations

import json
from typing import Any, Protocol

from listening.design.othertools.taken import CannotTake, Table, Taken

LIKERT = ("likert_single_stimulus", "likert_multi_stimulus")
TAKEN = ("type", "id", "name", "content", "stimuli", "response")
FEWEST, MOST = 2, 11  # points that the method mos may have


class Reader(Protocol):
    """What goes through the pages of a configuration."""

    taken: Taken

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
        reader.taken.left.append(f"all clips of page “{name}” on one screen: {why}")
    told = json.dumps(scale, ensure_ascii=False, sort_keys=True)
    tasks = [task for task in reader.taken.top["tasks"] if task["key"].startswith("likert")]
    same = [
        t["key"] for t in tasks if json.dumps(_of(t), ensure_ascii=False, sort_keys=True) == told
    ]
    key = same[0] if same else f"likert-{len(tasks) + 1}"
    task = reader.task_for(key, page, name, **scale)
    if "criteria" not in task:
        question = (task["instructions"] or task["title"] or "How do you rate this clip?")[:480]
        task["criteria"] = [{"key": "rating", "question": question.split("\n")[0]}]
    reader.stimuli(page, name, reader.item(name), key)


def _of(task: Table) -> Table:
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
