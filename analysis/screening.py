"""Exclusion rules: each a named, versioned object that gives a mask and a reason for every row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Reasons = NDArray[np.object_]

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
    """A rating without a score enters no estimate."""

    key = "missing_score"

    def reasons(self, table: pd.DataFrame) -> Reasons:
        return _where(table["score"].isna(), "the rating has no score")

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
    needed: tuple[tuple[str, int, int], ...] = (("flawed", 1, 1), ("human", 1, 2))
    methods: tuple[str, ...] = ("att",)

    def reasons(self, table: pd.DataFrame) -> Reasons:
        judged = table["method"].isin(self.methods).to_numpy(dtype=bool)
        reasons = np.full(len(table), "", dtype=object)
        for _, task in table[judged].groupby(["study", "task"], sort=False):
            self._judge_task(task, reasons, table.index)
        return reasons

    def describe(self) -> str:
        asked = " and ".join(f"{p} of {of} “{kind}” traps" for kind, p, of in self.needed)
        return f"blocks that did not pass {asked} ({', '.join(self.methods)} tasks)"

    def _judge_task(self, task: pd.DataFrame, reasons: Reasons, index: pd.Index) -> None:
        block = task.groupby(["session", "block"], sort=False).ngroup().to_numpy(dtype=np.int64)
        blocks = int(block.max(initial=-1)) + 1
        kind = task["trap"].to_numpy(dtype=object)
        passed = task["trap_passed"].fillna(False).to_numpy(dtype=bool)
        verdict = np.full(blocks, "", dtype=object)
        for name, passes, of in self.needed:
            is_kind = kind == name
            if not is_kind.any():
                continue
            shown = np.bincount(block[is_kind], minlength=blocks)
            right = np.bincount(block[is_kind & passed], minlength=blocks)
            wanted = passes * np.maximum(1, shown // of)
            for i in np.flatnonzero((shown < min(of, shown.max())) & (verdict == "")):
                verdict[i] = f"its block is incomplete: {shown[i]} “{name}” traps were answered"
            for i in np.flatnonzero((right < wanted) & (verdict == "")):
                told = f"{right[i]} of {shown[i]} “{name}” traps, {wanted[i]} needed"
                verdict[i] = f"its block passed {told}"
        reasons[index.get_indexer(task.index)] = verdict[block]


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
    """Ratings whose place in the plan went to another rater are left out; traps have no place."""

    key = "not_counted"

    def reasons(self, table: pd.DataFrame) -> Reasons:
        lost = ~table["counts"].fillna(True).astype(bool) & (table["trap"] == "")
        return _where(lost, "its place in the plan was given to another rater")

    def describe(self) -> str:
        return "ratings whose place in the plan was given to another rater"


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


def screen(table: pd.DataFrame, rules: Sequence[Rule] = DEFAULT) -> Screened:
    """The table judged under the structural rules and the given ones."""
    every = [*STRUCTURAL, *(rule for rule in rules if rule not in STRUCTURAL)]
    return Screened(table, {rule: rule.reasons(table) for rule in every})


def rules() -> dict[str, type[Rule]]:
    """Every rule by its key."""
    return dict(sorted(_registry.items()))


def rule_from(text: str) -> Rule:
    """A rule from text such as ``answer_time:minimum_ms=800`` or ``att_traps:flawed=1/1``.

    For att_traps the parameters are kinds with passes/of; a rule without parameters has its
    defaults.
    """
    key, _, rest = text.partition(":")
    if key not in _registry:
        raise ValueError(f"no rule {key!r}; known are {', '.join(rules())}")
    pairs = [part.partition("=")[::2] for part in rest.split(",") if part]
    rule = _registry[key]
    if rule is AttTraps:
        return AttTraps(needed=tuple(_needed(*pair) for pair in pairs)) if pairs else AttTraps()
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
    if isinstance(rule, SessionStatus):
        return f"{rule.key}:leave_out=" + "+".join(rule.leave_out)
    told = ",".join(f"{name}={value}" for name, value in rule.parameters().items())
    return f"{rule.key}:{told}" if told else rule.key


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
