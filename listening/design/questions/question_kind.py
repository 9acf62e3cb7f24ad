"""A kind of question: its fields in study.toml, the answers that fit it, and what is exported.

A new kind is one file in this package, and one class in static/js/rater/question.js.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar

from listening.common.plugins import class_named, file_problems, package_folder
from listening.common.registry import Registry

if TYPE_CHECKING:
    from listening.design.studyfile.problems import Notebook

Question = Mapping[str, Any]
Translate = Callable[[str], str]
FIELDS = ("options", "other", "low", "high", "longest")  # of study.toml, which some kinds have
COVARIATES = ("", "answers", "numbers")


@dataclass(frozen=True)
class Sentence:
    """Words for the rater and the numbers that stand in them."""

    words: str
    values: Mapping[str, Any]

    def translated(self, translate: Translate) -> str:
        return translate(self.words) % self.values if self.values else translate(self.words)


class Unfit(Exception):
    """An answer that does not fit its question: the sentence that the rater reads."""

    def __init__(self, words: str, **values: Any) -> None:
        super().__init__(words)
        self.sentence = Sentence(words, values)


class QuestionKind:
    """What is known of a kind of question; this class itself stands for an unknown one."""

    registry: ClassVar[Registry[QuestionKind]] = Registry(
        "kind of question",
        "listening.design.questions",
        order=lambda each: each.order,
        group="earnest.questions",
    )
    key: ClassVar[str] = ""
    title: ClassVar[str] = ""
    order: ClassVar[float] = 9  # in lists
    fields: ClassVar[tuple[str, ...]] = ()  # of FIELDS
    options_title: ClassVar[str] = "Answers, one per line"  # above them in the editor
    labels_points: ClassVar[bool] = False  # are the options words for some points?
    most_points: ClassVar[int] = 0  # from low to high, which are whole numbers; 0: any numbers
    chosen: ClassVar[bool] = False  # is the answer one of some that are known beforehand?
    several: ClassVar[bool] = False  # may an answer be several of the options?
    measured: ClassVar[bool] = False  # is the answer a number without words?
    free_text: ClassVar[bool] = False  # does the rater write words, which may name people?
    covariate: ClassVar[str] = ""  # how scores are compared: between "answers", or by "numbers"
    seconds: ClassVar[float] = 5.0  # that an answer takes
    starts: ClassVar[Mapping[str, Any]] = {}  # fields of a question that was just added
    # What the editor offers instead of the kind: name -> title and fields of a new question.
    variants: ClassVar[Mapping[str, tuple[str, Mapping[str, Any]]]] = {}
    # Of a plug-in: static files such as "earnest_matrix/matrix.js"; the module adds its class to
    # `kinds` of static/js/rater/question.js.
    script: ClassVar[str] = ""
    style: ClassVar[str] = ""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if cls.registry.add(cls) and "variants" not in cls.__dict__:
            cls.variants = {cls.key: (cls.title, cls.starts)}

    @classmethod
    def contract_problems(cls) -> list[str]:
        """What a plug-in's kind does against the contract."""
        wrong = [] if cls.title else ["title is empty; researchers read it"]
        if not isinstance(cls.order, int | float):
            wrong.append(f"order must be a number, is {cls.order!r}")
        if not {*cls.fields} <= {*FIELDS}:
            wrong.append(f"fields is {cls.fields!r}, but must be of {FIELDS}")
        if cls.covariate not in COVARIATES:
            wrong.append(f"covariate is {cls.covariate!r}, but must be of {COVARIATES}")
        if not cls.script:
            wrong.append("script is empty; the rater's page needs its class")
        package = package_folder(cls.__module__.partition(".")[0])
        wrong += file_problems(package, cls.script, cls.style)
        return wrong or cls.answer_problems()

    @classmethod
    def answer_problems(cls) -> list[str]:
        """What is wrong with a simulated answer to a question as the editor adds it."""
        starts = cls.starts.get("options", ())
        options = [o if isinstance(o, dict) else {"value": o, "text": o} for o in starts]
        empty = {"key": "try", "question": "?", "help": "", "low": None, "high": None}
        question = {**empty, "longest": 500, **cls.starts, "kind": cls.key, "options": options}
        values = [option["value"] for option in options]
        values = cls.points_of(question) if cls.labels_points else values
        try:
            stored = cls.judge(question, cls.simulate(question, values, Random(1)), values)
        except Unfit as unfit:
            return [f"judge refuses what simulate answers: {unfit}"]
        for part in cls.parts(question):
            cls.part_of(stored, part)
        return []

    @classmethod
    def variant_of(cls, question: Question) -> str:
        """Return which variant of the editor a question is."""
        return str(question.get("kind", ""))

    @classmethod
    def fits(cls, low: Any, high: Any) -> bool:
        """Return whether a question may go from low to high."""
        if not cls.most_points:
            return True
        whole = isinstance(low, int) and isinstance(high, int)
        return whole and 1 <= high - low < cls.most_points

    @classmethod
    def points_of(cls, question: Question) -> list[str]:
        """Return the points from low to high, as answers are stored; none where they do not fit."""
        ends: tuple[Any, Any] = (question.get("low"), question.get("high"))
        return [str(n) for n in range(ends[0], ends[1] + 1)] if cls.fits(*ends) else []

    @classmethod
    def check(cls, fields: dict[str, Any], given: Any, where: str, notes: Notebook) -> None:
        """Note what is wrong with a question of study.toml; it may complete its fields.

        ``fields`` are those that could be read, and ``given`` is the table as it is written.
        """

    @classmethod
    def points(cls, fields: Mapping[str, Any], where: str, notes: Notebook) -> list[str]:
        """Return `points_of` a question, and note why there are none."""
        low, high = fields["low"], fields["high"]
        points = cls.points_of(fields)
        if low is None or high is None:
            what = f"A {cls.key} needs its first and its last point."
            on_page = "Enter the lowest and the highest point."
            notes.toml(where, what, "Add low = 1 and high = 5, for example.", on_page)
        elif not points:
            what = f"A {cls.key} from {low} to {high} cannot be shown."
            remedy = f"Use whole numbers, 2 to {cls.most_points:,} points."
            notes.toml(f"{where}.high", what, remedy)
        return points

    @classmethod
    def judge(cls, question: Question, answer: Any, values: Sequence[str]) -> Any:
        """Return the answer to store; `Unfit` says why it does not fit.

        ``values`` are those of the options, also “prefer_not” where the rater may decline.
        """
        raise NotImplementedError("judge is missing")

    @classmethod
    def parts(cls, question: Question) -> dict[str, str]:
        """Return the parts of an answer that have columns of their own, each with its words.

        The name of a part follows the question's in the name of the column; "" adds nothing.
        """
        return {"": question["question"]}

    @classmethod
    def part_of(cls, answer: Any, part: str) -> Any:
        """Return a part of a stored answer: a text, a number, a list, or None."""
        return answer

    @classmethod
    def simulate(cls, question: Question, values: Sequence[str], random: Random) -> Any:
        """Return an answer as a rater's page sends it; ``values`` are options to choose from."""
        return random.choice(values)


def question_kind(question: Question) -> type[QuestionKind]:
    """The kind of a stored question; `MissingClass` where its plug-in is not installed."""
    return class_named(QuestionKind.registry, question["kind"])


def known_kind(key: object) -> type[QuestionKind]:
    """The kind with this key; `QuestionKind` itself where there is none, as in a draft."""
    return QuestionKind.registry.get(str(key), QuestionKind)


def part_key(question: Question, part: str) -> str:
    """The name of a part of an answer in exports."""
    return f"{question['key']}_{part}" if part else str(question["key"])


def needs_options(given: Mapping[str, Any], where: str, notes: Notebook) -> bool:
    """Return whether the options are written, and note that they are missing."""
    if "options" not in given:
        notes.toml(f"{where}.options", "This field is missing.", 'Add options = ["…", "…"].')
    return "options" in given
