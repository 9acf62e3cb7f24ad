"""The base of all kinds of reviews: what is drawn, what a reviewer sees, which answer is one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar

from listening.common.registry import Registry
from listening.models import ReviewAssignment, ReviewJob, Study
from listening.review.rules import ItemVerdicts, Rule, decide_codes


class BadVerdict(ValueError):
    """An answer that is none; the message says why."""


class BadSettings(ValueError):
    """Settings that a kind cannot work with; the message names the remedy."""


@dataclass(frozen=True)
class Target:
    """What an item will be: of a trial or of a stimulus."""

    trial: int | None = None
    stimulus: int | None = None
    others: tuple[int, ...] = ()
    part: str = ""
    clip: Mapping[str, Any] | None = None  # of a stimulus: see listening.review.targets


@dataclass(frozen=True)
class Mark:
    """What an answer holds against an item: one of the kind's words."""

    words: str
    seconds: tuple[float, float] | None = None  # None: of the whole clip
    places: tuple[int, ...] = ()  # clips of a group that stand out, from 0

    @property
    def length_s(self) -> float | None:
        return None if self.seconds is None else round(self.seconds[1] - self.seconds[0], 3)


@dataclass(frozen=True)
class NoSettings:
    """Of a kind that has none."""


class Kind(ABC):
    """A subclass with a ``key`` registers itself.

    ``settings`` is a frozen dataclass with defaults; `ReviewJob.settings` holds its fields.
    Its page is ``templates/review/faces/<key>.html`` and ``static/js/review/<key>.js``.
    """

    registry: ClassVar[Registry[Kind]]
    key: ClassVar[str] = ""
    title: ClassVar[str] = ""
    what: ClassVar[str] = "items"  # in the plural, for pages
    consequence: ClassVar[str] = ""  # what analyses and files make of its outcomes, as a sentence
    passing: ClassVar[str] = ""  # the category of what is well, of kinds that have a pass mark
    words: ClassVar[Mapping[str, str]] = {}  # what a mark in an answer is called
    settings: ClassVar[type[Any]] = NoSettings
    marks_times: ClassVar[bool] = False  # answers name times, counted in the stored copy of a clip
    several: ClassVar[bool] = False  # a category may hold several codes, "a|b"
    per_item: ClassVar[int] = 2  # reviewers of each, unless somebody says otherwise
    resolving: ClassVar[str] = "none"
    rules: ClassVar[tuple[str, ...]] = ()  # keys of listening.review.rules that fit its answers

    @property
    def face(self) -> str:
        """The part of the desk that shows an item."""
        return f"review/faces/{self.key}.html"

    @property
    def script(self) -> str:
        return f"js/review/{self.key}.js"

    @property
    def form(self) -> str:
        """The fields of its settings, for the form of a new review."""
        return f"review/forms/{self.key}.html"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Kind.registry.add(cls)

    @classmethod
    def settings_from(cls, raw: Mapping[str, Any]) -> Any:
        """The settings as a dataclass; BadSettings names a field that is unknown or of no use."""
        known = {field.name: field for field in fields(cls.settings)}
        if unknown := sorted(set(raw) - set(known)):
            raise BadSettings(f"“{cls.title}” has no setting {', '.join(unknown)}.")
        values = {
            name: tuple(value) if isinstance(value, list) else value for name, value in raw.items()
        }
        lacking = [
            name
            for name, each in known.items()
            if each.default is MISSING and each.default_factory is MISSING and name not in values
        ]
        if lacking:
            raise BadSettings(f"Missing settings: {', '.join(lacking)}.")
        return cls.settings(**values)

    def lacking(self, study: Study) -> str:
        """Why there is nothing to review in this study, as a sentence; "" where there is."""
        return ""

    def read(self, form: Mapping[str, str]) -> dict[str, Any]:
        """Settings from the fields of templates/review/forms/<key>.html; BadSettings if none."""
        return {}

    @property
    def results(self) -> str:
        """The template of what it came to, for the researcher's page; "": none of its own."""
        return ""

    def results_of(self, job: ReviewJob) -> dict[str, Any]:
        """What that template shows."""
        return {}

    def marks(self, answer: Mapping[str, Any]) -> list[Mark]:
        """What a stored answer holds against its item."""
        return []

    def aspects(self, answer: Mapping[str, Any]) -> dict[str, bool]:
        """By key of `words`: whether a stored answer says so. What it cannot say is not in it."""
        return {}

    def hears(self, job: ReviewJob) -> bool:
        """Whether reviewers may hear the clips of its items."""
        return True

    @abstractmethod
    def targets(self, study: Study, settings: Any, seed: int) -> Sequence[Target]:
        """What is drawn of the study by the seed; the same ones, and more where more came since."""

    @abstractmethod
    def desk(self, settings: Any) -> dict[str, Any]:
        """What the desk is told of the question: choices and their keys."""

    @abstractmethod
    def show_items(
        self, job: ReviewJob, assignments: Sequence[ReviewAssignment]
    ) -> list[dict[str, Any]]:
        """What a reviewer sees of each item, made by `listening.review.shown_items` alone."""

    def decide(self, rule: Rule, verdicts: ItemVerdicts) -> str:
        """What an item comes to; "" while nothing is decided."""
        return decide_codes(rule, verdicts) if self.several else rule.decide(verdicts)

    def suggests(self, job: ReviewJob) -> bool:
        """Whether the desk waits for hints though the settings ask for none."""
        return False

    def hints(self, settings: Any, assignments: Sequence[ReviewAssignment]) -> dict[str, Any]:
        """By code of the assignment: what rules suggest, told only after one's own verdict."""
        return {}

    @abstractmethod
    def say(self, category: str) -> str:
        """A category in words."""

    @abstractmethod
    def checked(self, settings: Any, answer: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """The answer as it is stored, and the category that agreement compares; or BadVerdict."""


def percent(form: Mapping[str, str], name: str, default: float) -> float:
    """A share from a field in percent."""
    text = form.get(name, "").strip().replace(",", ".").removesuffix("%").strip()
    try:
        value = float(text) / 100 if text else default
    except ValueError:
        raise BadSettings(f"“{text}” is not a percentage.") from None
    if not 0 <= value <= 1:
        raise BadSettings("A percentage must be 0 to 100.")
    return value


Kind.registry = Registry("kind of review", "listening.review.kinds")


def kind_named(key: str) -> Kind:
    return Kind.registry[key]()
