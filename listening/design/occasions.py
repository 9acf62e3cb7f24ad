"""Questionnaires between tasks or blocks: when, how often, and the keys of their answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from listening.design.questions import known_kind, part_key, question_kind

AFTER_TASK, BETWEEN_BLOCKS = "after_task", "between_blocks"
BETWEEN = (AFTER_TASK, BETWEEN_BLOCKS)  # asked while trials are still to come
MARK = "@"  # no key of a questionnaire holds it
DONE = ("answered", "skipped")  # states of trials that the rater has behind them
TO_COME = ("planned", "void")  # a void one may come back, or another in its place

Questionnaire = Mapping[str, Any]


class TaskPlan(NamedTuple):
    """A task as far as occasions go."""

    key: str
    blocks: int  # of one session, at most


class TrialPosition(NamedTuple):
    """A trial of a session: which task it belongs to, counted from 1, and which block."""

    task: int
    block: int
    state: str


@dataclass(frozen=True)
class Occasion:
    """One time that a questionnaire is asked: after a task, or after so many of its blocks."""

    questionnaire: str
    task: int  # its place in the study, from 1: a task's key may tell raters too much
    task_key: str
    blocks: int = 0  # 0: after the whole task

    @property
    def key(self) -> str:
        """Under which its answers are kept and sent, such as “effort@2” or “effort@2.1”."""
        return f"{self.questionnaire}{MARK}{self.task}" + (f".{self.blocks}" if self.blocks else "")

    @property
    def description(self) -> str:
        """For researchers."""
        return f"after {self.task_key}" + (f" block {self.blocks}" if self.blocks else "")


def is_between(questionnaire: Questionnaire) -> bool:
    return questionnaire["when"] in BETWEEN


def asks_between(questionnaires: Iterable[Questionnaire]) -> bool:
    return any(is_between(each) for each in questionnaires)


def questionnaire_of(key: str) -> str:
    """The questionnaire whose answers are kept under this key."""
    return key.partition(MARK)[0]


def occasions_of(questionnaire: Questionnaire, tasks: Sequence[TaskPlan]) -> list[Occasion]:
    """Every time that a rater of all these tasks is asked; none for those before and after."""
    own = questionnaire["key"]
    occasions: list[Occasion] = []
    for place, task in enumerate(tasks, start=1):
        if not _is_of(questionnaire, task.key):
            continue
        if questionnaire["when"] == AFTER_TASK:
            occasions.append(Occasion(own, place, task.key))
        elif questionnaire["when"] == BETWEEN_BLOCKS:
            every = questionnaire["every"]
            occasions += (
                Occasion(own, place, task.key, n) for n in range(every, task.blocks, every)
            )
    return occasions


class Column(NamedTuple):
    """An answer in a table: its name, and where it is kept."""

    name: str
    answers_key: str
    question: str
    kind: str
    part: str  # of the answer; "": all of it

    def answer_in(self, stored: Mapping[str, Any]) -> Any:
        """What the stored questionnaires of a session hold; None where it was not answered."""
        answer = stored.get(self.answers_key, {}).get("answers", {}).get(self.question)
        kind = question_kind({"kind": self.kind})
        return None if answer is None else kind.part_of(answer, self.part)


def columns_of(questionnaire: Questionnaire, tasks: Sequence[TaskPlan]) -> list[Column]:
    """One column for each part of each question, at each occasion where there are several."""
    own = questionnaire["key"]
    return [
        Column(
            f"question_{own}_{part_key(question, part)}{description and f'_{description}'}",
            key,
            question["key"],
            question["kind"],
            part,
        )
        for key, description in answer_keys(questionnaire, tasks, "_")
        for question in questionnaire["questions"]
        for part in known_kind(question["kind"]).parts(question)
    ]


def answer_keys(
    questionnaire: Questionnaire, tasks: Sequence[TaskPlan], joined: str = " "
) -> list[tuple[str, str]]:
    """The keys of its answers, each with its occasion in words; "" where there is only one."""
    if not is_between(questionnaire):
        return [(questionnaire["key"], "")]
    return [
        (each.key, each.description.replace(" ", joined))
        for each in occasions_of(questionnaire, tasks)
    ]


def due_occasion(
    questionnaires: Iterable[Questionnaire],
    tasks: Mapping[int, str],
    trials: Sequence[TrialPosition],
    answered: Iterable[str],
) -> Occasion | None:
    """What is asked before the next trial; `trials` in their order, `tasks` by their places.

    A block that went to somebody else before it was finished counts for nothing, and a task is
    over when nothing of it is left, wherever what replaces a lost block stands.
    """
    known = set(answered)
    standing = list(_standing(trials))
    for questionnaire in questionnaires:
        for task, whole, more in standing:
            if not _is_of(questionnaire, tasks[task]):
                continue
            occasion = Occasion(questionnaire["key"], task, tasks[task])
            if questionnaire["when"] == BETWEEN_BLOCKS:
                after_blocks = whole - whole % questionnaire["every"] if more else 0
                occasion = Occasion(questionnaire["key"], task, tasks[task], after_blocks)
                is_due = after_blocks > 0
            else:
                is_due = questionnaire["when"] == AFTER_TASK and not more
            if is_due and occasion.key not in known:
                return occasion
    return None


def trials_until(
    questionnaires: Sequence[Questionnaire],
    tasks: Mapping[int, str],
    trials: Sequence[TrialPosition],
    answered: Iterable[str],
    ahead: int,
) -> int:
    """How many of the next trials, at most `ahead`, may be answered before something is asked."""
    taken, known = list(trials), list(answered)
    coming = [n for n, trial in enumerate(taken) if trial.state == "planned"]
    for free, at in enumerate(coming[:ahead]):
        if due_occasion(questionnaires, tasks, taken, known):
            return free
        taken[at] = taken[at]._replace(state="answered")
    return ahead


def _is_of(questionnaire: Questionnaire, task: str) -> bool:
    return task in questionnaire.get("task", ()) or not questionnaire.get("task")


def _standing(trials: Sequence[TrialPosition]) -> Iterator[tuple[int, int, bool]]:
    """Of each task that was begun: its place, its whole blocks, and whether more of it comes."""
    for task in dict.fromkeys(trial.task for trial in trials):
        own = [trial for trial in trials if trial.task == task]
        if not any(trial.state in DONE for trial in own):
            continue
        states: dict[int, set[str]] = {}
        for trial in own:
            states.setdefault(trial.block, set()).add(trial.state)
        whole = sum(block_states.issubset(DONE) for block_states in states.values())
        yield task, whole, any(trial.state in TO_COME for trial in own)
