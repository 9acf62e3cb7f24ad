"""Exclusion rules: each a named, versioned object that gives a mask and a reason for every row."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import NDArray

from analysis.scales import WITHOUT_SCORE

if TYPE_CHECKING:
    import pandas as pd

Reasons = NDArray[np.object_]
Needed = tuple[tuple[str, int, int], ...]  # (kind of trap, passes, of)

_registry: dict[str, type[Rule]] = {}


@dataclass(frozen=True)
class Rule:
    """What leaves ratings out of an analysis; a subclass with a ``key`` registers itself."""

    key: ClassVar[str] = ""
    version: ClassVar[str] = "1"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _registry[cls.key] = cls

    def reasons(self, table: pd.DataFrame) -> Reasons:
        """Why each row of the table (n,) is left out; an empty text where it is kept."""
        raise NotImplementedError

    def describe(self) -> str:
        """The rule with its parameters, in one line of plain words."""
        raise NotImplementedError

    def parameters(self) -> dict[str, Any]:
        """The rule's parameters as plain values."""
        return asdict(self)


@dataclass(frozen=True)
class MissingScore(Rule):
    """A rating without a score enters no estimate; choices without one are counted instead."""

    key = "missing_score"

    def reasons(self, table: pd.DataFrame) -> Reasons:
        counted = table["estimand"].isin(WITHOUT_SCORE) & (table["label"] != "")
        return _where(table["score"].isna() & ~counted, "the rating has no score")

    def describe(self) -> str:
        return "ratings without a score"


@dataclass(frozen=True)
class Duplicate(Rule):
    """The same rater's second rating of the same stimulus in the same trial is left out."""

    key = "duplicate"

    def reasons(self, table: pd.DataFrame) -> Reasons:
        again = table.duplicated(subset=list(_TRIAL), keep="first") & (table["trap"] == "")
        return _where(again, "the same rater rated the same stimulus in the same trial before")

    def describe(self) -> str:
        return "second ratings of one stimulus by one rater in one trial"


@dataclass(frozen=True)
class SessionStatus(Rule):
    """Ratings of sessions that were withdrawn or rejected are left out."""

    key = "session_status"
    leave_out: tuple[str, ...] = ("withdrawn", "rejected")

    def reasons(self, table: pd.DataFrame) -> Reasons:
        status = table["session_status"]
        reasons = _where(status.isin(self.leave_out), "the session was ")
        return np.where(reasons == "", "", reasons + status.to_numpy(dtype=object))

    def describe(self) -> str:
        return f"ratings of sessions that were {' or '.join(self.leave_out)}"


@dataclass(frozen=True)
class AttTraps(Rule):
    """A block counts only if each kind of trap was passed often enough (Audio Turing Test, 3.2).

    ``needed`` holds (kind, passes, of): of every ``of`` traps of the kind, ``passes`` must be
    passed; a block that holds several such sets must pass in each. A block in which a trap is
    still unanswered is incomplete, and does not count. Kinds that a task never uses ask nothing.
    """

    key = "att_traps"
    needed: Needed = (("flawed", 1, 1), ("human", 1, 2))
    methods: tuple[str, ...] = ("att",)

    def reasons(self, table: pd.DataFrame) -> Reasons:
        judged = table["method"].isin(self.methods).to_numpy(dtype=bool)
        reasons = np.full(len(table), "", dtype=object)
        for _, task in table[judged].groupby(["study", "task"], sort=False):
            used = tuple(need for need in self.needed if (task["trap"] == need[0]).any())
            at = table.index.get_indexer(task.index)
            reasons[at] = _verdicts(task, used, planned=False)
        return reasons

    def describe(self) -> str:
        told = f"{_asked(self.needed)} ({', '.join(self.methods)} tasks)"
        return f"blocks that did not pass {told}"


@dataclass(frozen=True)
class TaskTraps(Rule):
    """A block counts only if it passes the traps that the study plans for its task.

    ``plans`` holds (task, needed), whatever the task's method; ``needed`` is as in AttTraps. A
    block in which a planned trap is unanswered does not count. Other tasks are not judged.
    """

    key = "task_traps"
    plans: tuple[tuple[str, Needed], ...]

    def reasons(self, table: pd.DataFrame) -> Reasons:
        needed = dict(self.plans)
        reasons = np.full(len(table), "", dtype=object)
        for (_, name), task in table.groupby(["study", "task"], sort=False):
            if str(name) in needed:
                at = table.index.get_indexer(task.index)
                reasons[at] = _verdicts(task, needed[str(name)], planned=True)
        return reasons

    def describe(self) -> str:
        told = "; ".join(f"{_asked(needed)} in task {task}" for task, needed in self.plans)
        return f"blocks that did not pass the study's traps: {told}"

    def text(self) -> str:
        """The plans as `rule_from` reads them: TASK/KIND=PASSES/OF, commas between."""
        parts = [
            f"{task}/{_UNSAFE.sub(lambda found: quote(found[0], safe=''), kind)}={passes}/{of}"
            for task, needed in self.plans
            for kind, passes, of in needed
        ]
        return ",".join(parts)


@dataclass(frozen=True)
class HeardFraction(Rule):
    """Ratings of clips that were not heard far enough are left out; unknown counts as heard."""

    key = "heard_fraction"
    minimum: float = 0.95

    def reasons(self, table: pd.DataFrame) -> Reasons:
        short = table["heard_fraction"] < self.minimum
        return _where(short, f"less than {self.minimum:g} of the clip was heard")

    def describe(self) -> str:
        return f"ratings given before {self.minimum:g} of the clip was heard"


@dataclass(frozen=True)
class AnswerTime(Rule):
    """Ratings that were given too quickly are left out; an unknown time counts as slow enough."""

    key = "answer_time"
    minimum_ms: int = 1000

    def reasons(self, table: pd.DataFrame) -> Reasons:
        quick = (table["latency_ms"] < self.minimum_ms).fillna(False)
        return _where(quick, f"answered in less than {self.minimum_ms} ms")

    def describe(self) -> str:
        return f"ratings given in less than {self.minimum_ms} ms"


@dataclass(frozen=True)
class NotCounted(Rule):
    """Ratings that fill no place of the plan are left out: another's, or asked a second time."""

    key = "not_counted"

    def reasons(self, table: pd.DataFrame) -> Reasons:
        lost = ~table["counts"].fillna(True).astype(bool) & (table["trap"] == "")
        return _where(lost, "it fills no place of the plan: given to another rater, or asked twice")

    def describe(self) -> str:
        return "ratings that fill no place of the plan: given to another rater, or asked twice"


@dataclass(frozen=True)
class HiddenReference(Rule):
    """Raters who do not find the hidden reference are left out (ITU-R BS.1534-3).

    The hidden reference is the stimulus that is its own ``versus_stimulus``. A rater goes from a
    MUSHRA task with every criterion when they rate it below ``below`` on more than ``share`` of
    the items.
    """

    key = "hidden_reference"
    below: float = 90.0
    share: float = 0.15

    def reasons(self, table: pd.DataFrame) -> Reasons:
        mushra = (table["estimand"] == "mushra") & (table["trap"] == "")
        hidden = mushra & (table["stimulus"] == table["versus_stimulus"]) & table["score"].notna()
        low = (table["score"] < self.below).astype(float).where(hidden)
        missed = low.groupby([table["study"], table["task"], table["rater"]]).transform("mean")
        told = f"hidden reference below {self.below:g} on more than {self.share:.0%} of the items"
        return _where(mushra & (missed > self.share), told)

    def describe(self) -> str:
        return f"raters with the hidden reference below {self.below:g} on over {self.share:.0%}"


_UNSAFE = re.compile(r"[%,=/\s]")
_TRIAL = (
    "study",
    "task",
    "criterion",
    "session",
    "rater",
    "block",
    "position",
    "item",
    "stimulus",
    "versus_stimulus",
)
STRUCTURAL: tuple[Rule, ...] = (MissingScore(), Duplicate())
DEFAULT: tuple[Rule, ...] = (SessionStatus(), AttTraps(), NotCounted())


@dataclass(frozen=True)
class Screened:
    """A table with, for each rule, the reason why each row is left out (empty where kept)."""

    table: pd.DataFrame
    reasons: Mapping[Rule, Reasons]

    def kept(self, rules: Sequence[Rule]) -> pd.DataFrame:
        """The rows for estimates: no trap, and left out by no structural rule nor by these."""
        keep = (self.table["trap"] == "").to_numpy(dtype=bool)
        for rule in {*STRUCTURAL, *rules}:
            keep = keep & (self.reasons[rule] == "")
        return self.table[keep]

    def counts(self) -> list[dict[str, Any]]:
        """Per rule: ratings, raters and blocks that it touches.

        ``ratings_told`` are those that no rule before it leaves out (their sum is what is left out
        in all), ``ratings_only_here`` those that no other rule leaves out.
        """
        rated = (self.table["trap"] == "").to_numpy(dtype=bool)
        hits = {rule: (reasons != "") & rated for rule, reasons in self.reasons.items()}
        touched = np.sum(list(hits.values()), axis=0) if hits else np.zeros(len(rated))
        before = np.cumsum([np.zeros(len(rated)), *hits.values()], axis=0)
        return [
            {
                "rule": rule.key,
                "version": rule.version,
                "what": rule.describe(),
                "ratings": int(hit.sum()),
                "ratings_told": int((hit & (before[place] == 0)).sum()),
                "ratings_only_here": int((hit & (touched == 1)).sum()),
                "raters": int(self.table["rater"][hit].nunique()),
                "blocks": len(self.table[hit].drop_duplicates(["task", "session", "block"])),
            }
            for place, (rule, hit) in enumerate(hits.items())
        ]


def study_rules(plans: Mapping[str, Sequence[Mapping[str, Any]]]) -> tuple[Rule, ...]:
    """The default rules of a study: its own trap plans by task (kind, count, pass_at_least)."""
    found = []
    for task, kinds in plans.items():
        needed = tuple((k["kind"], k["pass_at_least"], k["count"]) for k in kinds)
        if needed:
            found.append((task, needed))
    own: tuple[Rule, ...] = (TaskTraps(tuple(found)),) if found else ()
    return (SessionStatus(), *own, NotCounted())


def screen(table: pd.DataFrame, rules: Sequence[Rule] = DEFAULT) -> Screened:
    """The table judged under the structural rules and the given ones."""
    every = [*STRUCTURAL, *(rule for rule in rules if rule not in STRUCTURAL)]
    return Screened(table, {rule: rule.reasons(table) for rule in every})


def rules() -> dict[str, type[Rule]]:
    """Every rule by its key."""
    return dict(sorted(_registry.items()))


def rule_from(text: str) -> Rule:
    """A rule from text such as ``answer_time:minimum_ms=800`` or ``att_traps:flawed=1/1``.

    For att_traps the parameters are kinds with passes/of, for task_traps task/kind with passes/of;
    another rule without parameters has its defaults.
    """
    key, _, rest = text.partition(":")
    if key not in _registry:
        raise ValueError(f"no rule {key!r}; known are {', '.join(rules())}")
    pairs = [part.partition("=")[::2] for part in rest.split(",") if part]
    rule = _registry[key]
    if rule is AttTraps:
        return AttTraps(needed=tuple(_needed(*pair) for pair in pairs)) if pairs else AttTraps()
    if rule is TaskTraps:
        return _task_traps(pairs)
    if rule is SessionStatus and pairs:
        return SessionStatus(leave_out=tuple(pairs[0][1].split("+")))
    known: dict[str, Any] = {field.name: type(field.default) for field in fields(rule)}
    try:
        return rule(**{name: known[name](value) for name, value in pairs})
    except (KeyError, ValueError):
        names = ", ".join(f"{name}=..." for name in known) or "no parameters"
        raise ValueError(f"rule {key!r} takes {names}, not {rest!r}") from None


def rule_text(rule: Rule) -> str:
    """The text from which `rule_from` makes the rule again."""
    if isinstance(rule, AttTraps):
        return f"{rule.key}:" + ",".join(f"{kind}={p}/{of}" for kind, p, of in rule.needed)
    if isinstance(rule, TaskTraps):
        return f"{rule.key}:{rule.text()}"
    if isinstance(rule, SessionStatus):
        return f"{rule.key}:leave_out=" + "+".join(rule.leave_out)
    told = ",".join(f"{name}={value}" for name, value in rule.parameters().items())
    return f"{rule.key}:{told}" if told else rule.key


def _task_traps(pairs: Sequence[Sequence[str]]) -> TaskTraps:
    plans: dict[str, list[tuple[str, int, int]]] = {}
    for name, passes in pairs:
        task, _, kind = name.partition("/")
        if not task or not kind:
            raise ValueError(f"task_traps: {name!r}; write TASK/KIND=passes/of, like att/human=1/2")
        plans.setdefault(task, []).append(_needed(unquote(kind), passes))
    if not plans:
        raise ValueError("task_traps needs the plan; write task_traps:TASK/KIND=passes/of")
    return TaskTraps(tuple((task, tuple(needed)) for task, needed in plans.items()))


def _asked(needed: Needed) -> str:
    return " and ".join(f"{passes} of {of} “{kind}” traps" for kind, passes, of in needed)


def _verdicts(task: pd.DataFrame, needed: Needed, *, planned: bool) -> Reasons:
    """For each row of a task (n,): why its block does not count, or an empty text.

    What is not known to be planned is taken to be as much as some block of the task has.
    """
    block = task.groupby(["session", "block"], sort=False).ngroup().to_numpy(dtype=np.int64)
    blocks = int(block.max(initial=-1)) + 1
    kind = task["trap"].to_numpy(dtype=object)
    passed = task["trap_passed"].fillna(False).to_numpy(dtype=bool)
    verdict = np.full(blocks, "", dtype=object)
    for name, passes, of in needed:
        is_kind = kind == name
        shown = np.bincount(block[is_kind], minlength=blocks)
        right = np.bincount(block[is_kind & passed], minlength=blocks)
        wanted = passes * np.maximum(1, shown // of)
        whole = of if planned else min(of, shown.max())
        for i in np.flatnonzero((shown < whole) & (verdict == "")):
            verdict[i] = f"its block is incomplete: {shown[i]} “{name}” traps were answered"
        for i in np.flatnonzero((right < wanted) & (verdict == "")):
            told = f"{right[i]} of {shown[i]} “{name}” traps, {wanted[i]} needed"
            verdict[i] = f"its block passed {told}"
    return np.asarray(verdict[block], dtype=object)


def _needed(kind: str, passes: str) -> tuple[str, int, int]:
    right, _, of = passes.partition("/")
    try:
        needed = (kind, int(right), int(of or right))
    except ValueError:
        needed = (kind, 0, 0)
    if not 1 <= needed[1] <= needed[2]:
        raise ValueError(f"{kind}={passes!r} is no trap rule; write passes/of, such as {kind}=1/2")
    return needed


def _where(mask: pd.Series[bool], reason: str) -> Reasons:
    return np.where(mask.to_numpy(dtype=bool), reason, "").astype(object)
