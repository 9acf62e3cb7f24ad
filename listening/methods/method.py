"""Method, Scale, PlannedTrial, how the clips of a trial are played, and the registry of methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar

from listening.common.plugins import class_named, file_problems, package_folder
from listening.common.registry import Registry
from listening.methods.error_spans import read_spans
from listening.methods.estimand import Estimand
from listening.methods.marks import NO_ERRORS, read_marks

if TYPE_CHECKING:
    from listening.methods.error_spans import HeardPart
    from listening.methods.transcript_scores import SpokenText

WAVEFORMS = ("none", "reference")
BETRAYS = (
    'waveform = "{}" would show each clip by its silences, its level and its clipping, which tell '
    'systems apart without listening; write "reference", which is the same picture for all clips'
)
LONGEST_LABEL = 2000
PROMPT = "prompt"  # the role of recordings that are heard before clips, and never rated
TEXTS = ("text", "transcript")  # widgets in which raters type
MARKS = "marks"  # the widget in which raters mark words of the text
SPANS = "spans"  # the widget in which raters mark spans of the waveform
OPEN = (*TEXTS, MARKS, SPANS)  # widgets whose answers are too many to list
JOINT = "|"  # between the labels of an answer that holds several
# Of a clip, columns of stimuli.csv kept among its attributes; raters never get the right answer
CORRECT_ANSWER = "correct_answer"
QUESTION = "question"  # the clip's own, which {question} in a criterion stands for
ALTERNATIVES = "alternatives"  # the answers to choose from; also the widget that shows them
SCREENS = ("sequence", "parallel")
WIDGETS = (  # files of templates/widgets
    *("alternatives", "best_worst", "choice", "many", "marks", "ranking", "slider", "sliders"),
    *("spans", "steps", "text", "transcript"),
)
CONTRACT_ROLES = (("a", "test"), ("b", "test"), ("human", "reference"), ("low", "anchor"))
Options = Mapping[str, Any]  # of a task or a criterion, by name
DefaultCriterion = tuple[str, str, Options]  # key, question, options of its own scale


@dataclass(frozen=True)
class Playback:
    """What must be heard before an answer, and what pressing a clip does."""

    share: float | None = 1.0  # of every clip; None: its first two seconds
    restart: bool = False  # where clips play together, a press starts at the beginning
    reference_first: bool = False
    hidden_reference: bool = True  # among the rated clips, where there is an open one
    waveform: bool = False  # of the reference, on the time line
    needs_top: bool = False  # one of the rated clips must get the highest grade
    plays: int | None = None  # how often the clip may be played; None: as often as one likes

    def in_order(self, facts: Mapping[str, Any]) -> bool:
        """Whether the page says that the reference was heard before a rated clip sounded.

        `facts` are those of the answer: milliseconds of the page's own time, which goes on over a
        reload (static/js/rater/deck.js).
        """
        if not self.reference_first:
            return True
        reference, rated = facts.get("reference_heard_ms"), facts.get("first_rated_ms")
        return isinstance(reference, int) and isinstance(rated, int) and reference <= rated


def together(options: Options, share: float | None) -> Playback:
    """What a study may choose wherever clips play together; `share` unless it says so."""
    return Playback(share=_share(options, share), restart=_flag(options, "restart"))


def with_reference(options: Options, *, always: bool = False) -> Playback:
    """The same, and what only an open reference allows.

    `always`: one is open and hidden whatever the study says, and the hidden one is to be graded so.
    """
    common = together(options, None)
    if not always:
        opens_reference(options)
    return Playback(
        share=common.share,
        restart=common.restart,
        reference_first=_flag(options, "reference_first"),
        hidden_reference=always or hides_reference(options),
        needs_top=always,
        waveform=_waveform(options),
    )


def opens_reference(options: Options) -> bool:
    """Whether raters hear an open reference; ValueError where an option needs one and none is."""
    opened = _flag(options, "open_reference", default=True)
    if not opened:
        for name in ("reference_first", "waveform", "reference"):
            if options.get(name) not in (None, False, "none"):
                raise ValueError(f"{name} needs an open reference, and open_reference is false")
    return opened


def hides_reference(options: Options) -> bool:
    """Whether the reference is among the rated clips, too."""
    return _flag(options, "hidden_reference", default=True)


def _share(options: Options, default: float | None) -> float | None:
    share = options.get("heard", default)
    if share is None:
        return None
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
        raise ValueError(f"heard is a share above 0 and up to 1, like 0.5, not {share!r}")
    return float(share)


def _flag(options: Options, name: str, *, default: bool = False) -> bool:
    value = options.get(name, default)
    if not isinstance(value, bool):
        raise ValueError(f"{name} is true or false, not {value!r}")
    return value


def _waveform(options: Options) -> bool:
    wanted = options.get("waveform", "none")
    if wanted not in WAVEFORMS:
        if wanted in ("clips", "clip", "all", "each"):
            raise ValueError(BETRAYS.format(wanted))
        raise ValueError(f'waveform is "none" or "reference", not {wanted!r}')
    return bool(wanted == "reference")


def gettext_noop(message: str) -> str:
    """Marks words for raters; the pages translate them when they show them."""
    return message


@dataclass(frozen=True)
class StimulusRef:
    """What a method may know about a stimulus when it plans trials."""

    pk: int
    item: int
    condition: str
    role: str = "test"


@dataclass(frozen=True)
class PlannedTrial:
    """One presentation: what is rated, maybe versus another or after a context."""

    item: int
    column: str  # the condition, or the pair of conditions, that the design balances
    rated: tuple[int, ...]
    versus: int | None = None
    context: tuple[int, ...] = ()


@dataclass(frozen=True)
class Part:
    """One clip of a trial as the rater meets it: what it is called, and what it is there for."""

    stimulus: int
    name: str = "Clip"
    role: str = "rated"  # rated, versus, reference (open) or context


@dataclass(frozen=True)
class Step:
    """One allowed answer: what is stored, its number, and the words that the rater sees."""

    label: str
    score: float | None  # None: an answer without a number
    text: str = ""
    hotkey: str = ""
    apart: bool = False  # drawn away from the others, such as "not in this clip"


@dataclass(frozen=True)
class Scale:
    """The allowed answers of a criterion; `widget` names templates/widgets/<widget>.html.

    `choice` and `steps`: one of the steps. `many`: some of them, joined by “|” in their order.
    `slider`, `sliders`: a number within `span` (low, high, step); steps are words along the way.
    `ranking`: the place of each clip, 1 the best. `best_worst`: one clip is the best, another the
    worst, the others neither. `text`: at most `longest` characters.
    `alternatives`: one of those that the clip brings; see `of_clip`.
    `transcript`: the same, or the step that says that nothing was understood.
    `marks`: words of the text, each with one of the steps as its kind; or the step apart.
    `spans`: the same of spans of the waveform.
    """

    steps: tuple[Step, ...] = ()
    widget: str = "choice"
    span: tuple[float, float, float] | None = None
    longest: int = 0

    def score(self, label: str) -> float | None:
        """The number of a label, None where it has none; ValueError when the scale lacks it."""
        if self.widget in TEXTS and label not in self.labels:
            if label.strip() and len(label) <= min(self.longest, LONGEST_LABEL):
                return None
        elif self.widget in (MARKS, SPANS) and label != NO_ERRORS:
            self._check_marks(label)
            return None
        elif self.widget == "many":
            chosen = label.split(JOINT)
            if chosen == [s.label for s in self.steps if s.label in chosen]:
                return None
        elif self.span is not None:
            return self._number(label)
        for step in self.steps:
            if step.label == label:
                return step.score
        raise ValueError(f"“{label[:80]}” is not on this scale")

    def _check_marks(self, label: str) -> None:
        read = read_marks if self.widget == MARKS else read_spans
        try:
            read(label, [step.label for step in self.steps if not step.apart])
        except ValueError as error:
            raise ValueError(f"“{label[:80]}” is not on this scale: {error}") from None

    def _number(self, label: str) -> float:
        low, high, step = self.span or (0.0, 0.0, 1.0)
        value = float(label) + 0.0  # no answer is -0
        steps = (value - low) / step
        if not low <= value <= high or abs(steps - round(steps)) > 1e-6 or label != f"{value:g}":
            raise ValueError(f"“{label[:80]}” is not on this scale")
        return value

    def of_clip(self, attributes: Mapping[str, Any]) -> Scale:
        """The scale on which a clip with these attributes is rated: where each clip brings its
        alternatives, with these as steps, of which the right one scores 1 and all others 0."""
        if self.widget != ALTERNATIVES:
            return self
        correct = str(attributes.get(CORRECT_ANSWER, "")).strip()
        steps = (
            Step(label, float(label == correct), label, str(place))
            for place, label in enumerate(alternatives_in(attributes), start=1)
        )
        return replace(self, steps=tuple(steps))

    def named(self, names: Mapping[str, str]) -> Scale:
        """The same scale with other words at some labels, as in another language."""
        steps = (replace(step, text=names.get(step.label, step.text)) for step in self.steps)
        return replace(self, steps=tuple(steps))

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(step.label for step in self.steps)

    def as_dict(self) -> dict[str, Any]:
        """For the database; what equals its default is left out."""
        steps = [
            {"label": s.label, "score": s.score, "text": s.text, "hotkey": s.hotkey}
            | ({"apart": True} if s.apart else {})
            for s in self.steps
        ]
        span = {"span": list(self.span)} if self.span else {}
        longest = {"longest": self.longest} if self.longest else {}
        return {"widget": self.widget, "steps": steps, **span, **longest}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Scale:
        span = tuple(data["span"]) if "span" in data else None
        steps = tuple(Step(**step) for step in data["steps"])
        return cls(steps, data["widget"], span, data.get("longest", 0))


def alternatives_in(attributes: Mapping[str, Any]) -> list[str]:
    """The alternatives that a clip brings, in the order of its row."""
    written = str(attributes.get(ALTERNATIVES, ""))
    return [label.strip() for label in written.split(JOINT) if label.strip()]


def number_scale(low: float, high: float, step: float, names: Mapping[str, str]) -> Scale:
    """Labels "1", "1.5" … from low to high; whole numbers get 1-9 as keys and names as words."""
    count = round((high - low) / step)
    if step <= 0 or count < 1 or abs(low + count * step - high) > 1e-9 or count > 100:
        raise ValueError(f"a scale from {low:g} to {high:g} cannot have steps of {step:g}")
    steps = []
    for k in range(count + 1):
        value = round(float(low + k * step), 6)
        label = f"{value:g}"
        hotkey = label if value.is_integer() and 1 <= value <= 9 else ""
        steps.append(Step(label, value, names.get(label, ""), hotkey))
    return Scale(tuple(steps), "steps")


def slider_scale(low: float, high: float, step: float, names: Mapping[str, str]) -> Scale:
    """A slider from low to high with words at some places; ValueError where one lies beside it."""
    bare = Scale((), "slider", (float(low), float(high), float(step)))
    return Scale(tuple(_mark(bare, *mark) for mark in names.items()), "slider", bare.span)


def _mark(bare: Scale, label: str, words: str) -> Step:
    try:
        return Step(label, bare.score(label), words)
    except ValueError:
        raise ValueError(f"names puts words at “{label}”, which is not on the slider") from None


def names_in(options: Options) -> dict[str, str]:
    """The option `names`: a study's own words for labels."""
    names = options.get("names", {})
    if not isinstance(names, Mapping) or not all(isinstance(word, str) for word in names.values()):
        raise ValueError('names is a table of words, like { "1" = "…" }')
    return dict(names)


class Method:
    """A test method; a subclass registers itself by its `key`."""

    key: ClassVar[str]
    title: ClassVar[str]
    estimand: ClassVar[Estimand]  # what the mean of its scores is; no other file knows
    other_estimands: ClassVar[tuple[Estimand, ...]] = ()  # what it is with other options
    standard: ClassVar[str]  # where the procedure is defined
    default_question: ClassVar[str]
    justification_required: ClassVar[bool] = False
    # (key, question, options of its own scale) each; by default one, with the estimand's key
    default_criteria: ClassVar[tuple[tuple[str, str, Mapping[str, Any]], ...]] = ()
    heard_out: ClassVar[bool] = True  # every clip to its end before the answer?
    labels_refused: ClassVar[str] = ""  # what raters read where `check_labels` refuses an answer
    offers_choices: ClassVar[bool] = False  # whether an answer may be the right one of several
    compares_text: ClassVar[bool] = False  # do raters type the text of a clip, which is hidden?
    marks_errors: ClassVar[bool] = False  # is an answer a list of marked errors?
    scores_by_text: ClassVar[bool] = False  # is an answer scored with the text of its clip?
    screen: ClassVar[str] = "sequence"  # how clips are played: one after the other, or "parallel"
    # Of a plug-in with a widget of its own: static files such as "earnest_dial/dial.js"; the module
    # adds its class to `kinds` of static/js/rater/criteria.js.
    script: ClassVar[str] = ""
    style: ClassVar[str] = ""
    registry: ClassVar[Registry[Method]] = Registry(
        "method", "listening.methods", group="earnest.methods"
    )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for own in cls.estimands() if hasattr(cls, "estimand") else ():
            for method in Method.registry.declared.values():
                if any(other.key == own.key and other != own for other in method.estimands()):
                    raise ValueError(f"two methods declare the estimand “{own.key}” differently")
        Method.registry.add(cls)

    @classmethod
    def contract_problems(cls) -> list[str]:
        """What a plug-in's method does against the contract; empty when all is well."""
        texts = ("title", "standard", "default_question")
        wrong = [f"{name} must be a text" for name in texts if not _is_text(cls, name)]
        if not isinstance(getattr(cls, "estimand", None), Estimand):
            wrong.append("estimand must be an Estimand")
        if cls.screen not in SCREENS:
            wrong.append(f"screen is {cls.screen!r}, but must be {' or '.join(SCREENS)}")
        package = package_folder(cls.__module__.partition(".")[0])
        wrong += file_problems(package, cls.script, cls.style)
        return wrong or cls()._answer_problems(package)

    def _answer_problems(self, package: Path) -> list[str]:
        """What is wrong with its scales and trials, made as for a study without options."""
        wrong = []
        for _key, _question, options in self.default_criteria or (("", "", {}),):
            with suppress(ValueError):  # it needs an option
                self.playback(options)
                scale = self.scale(options)
                if Scale.from_dict(scale.as_dict()) != scale:
                    wrong.append("its scale is another one after it was stored")
                if scale.widget not in WIDGETS:
                    wrong += _widget_problems(package, scale.widget)
        clips = [
            StimulusRef(10 * item + place, item, condition, role)
            for item in (1, 2)
            for place, (condition, role) in enumerate(CONTRACT_ROLES)
        ]
        with suppress(ValueError):
            for trial in self.trials(clips, {}):
                self.parts(trial, versus_first=False, rng=Random(0))
        return wrong

    @classmethod
    def estimands(cls) -> tuple[Estimand, ...]:
        """What the mean of its scores may be; without options it is the first."""
        return (cls.estimand, *cls.other_estimands)

    def estimand_for(self, options: Options) -> Estimand:
        """What the mean of the scores of a task with these options is."""
        return self.estimand

    def question_for(self, options: Options) -> str:
        """What a criterion asks that has no question of its own."""
        return self.default_question

    def criteria_for(self, options: Options) -> tuple[tuple[str, str, Mapping[str, Any]], ...]:
        """The criteria of a task that names none, as in `default_criteria`."""
        return self.default_criteria or ((self.estimand.key, self.default_question, {}),)

    def scale(self, options: Options) -> Scale:
        """The scale that the options ask for; ValueError says why they do not fit the method."""
        raise NotImplementedError

    def playback(self, options: Options) -> Playback:
        """How the clips are to be heard; ValueError says why an option does not fit."""
        return Playback(share=1.0 if self.heard_out else None)

    def columns(self, stimuli: Sequence[StimulusRef], options: Options) -> list[str]:
        """What the design balances over, in a stable order: conditions, or pairs of them."""
        return sorted({trial.column for trial in self.trials(stimuli, options)})

    def trials(self, stimuli: Sequence[StimulusRef], options: Options) -> Iterator[PlannedTrial]:
        """Every trial that one replicate of the design holds, one per item and column."""
        for s in sorted(without_prompts(stimuli), key=lambda s: (s.item, s.condition)):
            yield PlannedTrial(item=s.item, column=s.condition, rated=(s.pk,))

    def stored_score(self, score: float | None, *, versus_first: bool, rng: Random) -> float | None:
        """The score as stored; pair methods turn the sign here, once, on the server.

        `rng` is seeded by the trial: it draws here what it drew in `parts`.
        """
        return score

    def joined_answer(
        self, labels: Sequence[str], scores: Sequence[float | None], *, versus_first: bool
    ) -> tuple[str, float | None] | None:
        """The label and score of the one rating that all rated clips of a screen make together.

        None where each rated clip has a rating of its own.
        """
        return None

    def ordered_alternatives(self, scale: Scale, options: Options, rng: Random) -> tuple[Step, ...]:
        """The alternatives of a trial's clip in the order in which the rater sees them."""
        return scale.steps

    def check_alternatives(self, attributes: Mapping[str, Any]) -> None:
        """ValueError when the alternatives or the right answer of a clip do not fit."""

    def needs_text(self, options: Options) -> bool:
        """Whether answers of a task with these options are scored with the text of the clip."""
        return self.scores_by_text

    def marks_time(self, options: Options) -> bool:
        """Whether answers of a task with these options name times of the clip."""
        return False

    def time_score(self, label: str, heard: HeardPart) -> float | None:
        """The number of an answer that names times of the clip as it was uploaded."""
        raise NotImplementedError

    def text_score(self, label: str, spoken: SpokenText, options: Options) -> float | None:
        """The number of an answer about a clip that says this; see `needs_text`.

        ValueError where the answer does not fit the text.
        """
        raise NotImplementedError

    def check_language(self, language: str, options: Options) -> None:
        """ValueError where texts in this language, a BCP 47 tag, cannot be scored."""

    def check_words(self, words: Sequence[str], options: Options) -> None:
        """ValueError where the words of a clip's text cannot be scored."""

    def words_to_mark(self, spoken: SpokenText) -> list[str] | None:
        """The words of a clip's text as the page shows them to be marked; None: it shows none."""
        return None

    def passes(self, label: str, expected: Sequence[str], scale: Scale) -> bool:
        """Whether an answer to a trap or in training is one of the expected ones."""
        return label in expected

    def in_words(self, label: str, scale: Scale, spoken: SpokenText) -> str:
        """An expected answer about the text of a clip, as the feedback of training says it."""
        return label

    def parts(self, trial: PlannedTrial, *, versus_first: bool, rng: Random) -> list[Part]:
        """The clips of a trial in the order in which the rater meets them."""
        return [*context_of(trial), *(Part(pk, gettext_noop("Clip")) for pk in trial.rated)]

    def presented_first(self, *, versus_first: bool) -> str:
        """Which of two compared clips came first: rated or versus; empty where none did."""
        return "versus" if versus_first else "rated"

    def check_labels(self, labels: Sequence[str]) -> None:
        """ValueError when the labels of one criterion, one per rated clip, do not fit together."""


def _is_text(cls: type, name: str) -> bool:
    text = getattr(cls, name, None)
    return isinstance(text, str) and bool(text.strip())


def _widget_problems(package: Path, widget: str) -> Iterator[str]:
    """What is wrong with a widget that a package brings; its name keeps it apart from others."""
    if not f"{widget}_".startswith(f"{package.name}_"):
        yield f"the widget {widget} must be called {package.name}, or {package.name}_ and more"
    if not (package / "templates" / "widgets" / f"{widget}.html").is_file():
        yield f"its package has no templates/widgets/{widget}.html"


def without_prompts(stimuli: Sequence[StimulusRef]) -> list[StimulusRef]:
    """The stimuli that may be rated alone or set against another system."""
    return [s for s in stimuli if s.role != PROMPT]


def context_of(trial: PlannedTrial) -> list[Part]:
    """What is heard before a trial and not rated."""
    return [Part(pk, gettext_noop("Context"), "context") for pk in trial.context]


def methods_with_choices() -> list[str]:
    """The keys of methods of which an answer may be the right one of several."""
    return sorted(key for key, method in Method.registry.items() if method.offers_choices)


def method_named(key: str) -> Method:
    """The method with this key; `MissingClass` lists those there are."""
    return class_named(Method.registry, key)()
