"""Method, Scale, PlannedTrial and the registry of methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


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
class Step:
    """One allowed answer: what is stored, its number, and the words that the rater sees."""

    label: str
    score: float
    text: str = ""
    hotkey: str = ""


@dataclass(frozen=True)
class Scale:
    """The allowed answers of a criterion; `widget` names templates/widgets/<widget>.html."""

    steps: tuple[Step, ...]
    widget: str = "choice"

    def score(self, label: str) -> float:
        """The number of a label; ValueError when the scale does not hold it."""
        for step in self.steps:
            if step.label == label:
                return step.score
        raise ValueError(f"“{label}” is not on this scale")

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(step.label for step in self.steps)

    def as_dict(self) -> dict[str, Any]:
        steps = [
            {"label": s.label, "score": s.score, "text": s.text, "hotkey": s.hotkey}
            for s in self.steps
        ]
        return {"widget": self.widget, "steps": steps}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Scale:
        return cls(tuple(Step(**step) for step in data["steps"]), data["widget"])


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


class Method:
    """A test method; a subclass registers itself by its `key`."""

    key: ClassVar[str]
    title: ClassVar[str]
    estimand: ClassVar[str]  # the name of this score's mean: mos, hls, cmos
    standard: ClassVar[str]  # where the procedure is defined
    default_question: ClassVar[str]
    justification_required: ClassVar[bool] = False
    clip_names: ClassVar[tuple[str, ...]] = ("Clip",)  # one per clip, in the order they are heard
    registry: ClassVar[dict[str, type[Method]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        key = cls.__dict__.get("key")
        if key is None:
            return
        if key in Method.registry:
            raise ValueError(f"two methods claim the key “{key}”")
        Method.registry[key] = cls

    def scale(self, options: Mapping[str, Any]) -> Scale:
        """The scale that the options ask for; ValueError says why they do not fit the method."""
        raise NotImplementedError

    def columns(self, stimuli: Sequence[StimulusRef], options: Mapping[str, Any]) -> list[str]:
        """What the design balances over, in a stable order: conditions, or pairs of them."""
        return sorted({s.condition for s in stimuli})

    def trials(
        self, stimuli: Sequence[StimulusRef], options: Mapping[str, Any]
    ) -> Iterator[PlannedTrial]:
        """Every trial that one replicate of the design holds, one per item and column."""
        for s in sorted(stimuli, key=lambda s: (s.item, s.condition)):
            yield PlannedTrial(item=s.item, column=s.condition, rated=(s.pk,))

    def stored_score(self, score: float, *, versus_first: bool) -> float:
        """The score as stored; pair methods turn the sign here, once, on the server."""
        return score

    def clips(self, trial: PlannedTrial, *, versus_first: bool) -> list[int]:
        """Stimuli in the order in which the rater hears them."""
        return [*trial.context, *trial.rated]


def method_named(key: str) -> Method:
    """The method with this key; KeyError lists those there are."""
    try:
        return Method.registry[key]()
    except KeyError:
        known = ", ".join(sorted(Method.registry))
        raise KeyError(f"no method “{key}”; there are: {known}") from None
