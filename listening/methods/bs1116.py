"""Two clips against an open reference, one of them the reference again (ITU-R BS.1116)."""

from collections.abc import Iterator, Sequence
from random import Random

from listening.methods.estimand import BESIDE_REFERENCE, Estimand
from listening.methods.item_groups import against_reference
from listening.methods.method import (
    JOINT,
    Method,
    Options,
    Part,
    PlannedTrial,
    Playback,
    Scale,
    Step,
    StimulusRef,
    context_of,
    gettext_noop,
    names_in,
    with_reference,
)

IMPAIRMENT = {
    "1": gettext_noop("Very annoying"),
    "2": gettext_noop("Annoying"),
    "3": gettext_noop("Slightly annoying"),
    "4": gettext_noop("Perceptible, but not annoying"),
    "5": gettext_noop("Imperceptible"),
}
TOP = "5"  # imperceptible


class Bs1116(Method):
    """Double-blind triple stimulus with hidden reference.

    The hidden reference is A or B, each equally often. A rating holds both grades as its label,
    that of the object first, and their difference as its score.
    """

    key = "bs1116"
    title = "Small impairments"
    estimand = Estimand(
        key="sdg",
        name="SDG",
        phrase="the subjective difference grade (SDG)",
        axis="SDG: 0 imperceptible, -4 very annoying",
        ends=(-4.0, 4.0),
        comparison=BESIDE_REFERENCE,
        equivalence=0.1,
        continuous=True,
        ceilings=False,
    )
    standard = "ITU-R BS.1116-3: grade of the object minus grade of the hidden reference"
    default_question = gettext_noop(
        "How annoying is what you hear in each clip that is not in the reference?"
    )
    default_criteria = (("impairment", default_question, {}),)
    labels_refused = gettext_noop("One of the clips is the reference itself. Give it 5.0.")
    heard_out = False
    screen = "parallel"

    def scale(self, options: Options) -> Scale:
        words = {**IMPAIRMENT, **names_in(options)}
        steps = tuple(Step(label, float(label), words[label]) for label in IMPAIRMENT)
        return Scale(steps, "sliders", (1.0, 5.0, 0.1))

    def playback(self, options: Options) -> Playback:
        return with_reference(options, always=True)

    def trials(self, stimuli: Sequence[StimulusRef], options: Options) -> Iterator[PlannedTrial]:
        known = {"reference": options["reference"]} if "reference" in options else {}
        return against_reference(stimuli, known)

    def parts(self, trial: PlannedTrial, *, versus_first: bool, rng: Random) -> list[Part]:
        """The open reference, then A and B: the object and the hidden reference."""
        if trial.versus is None:
            raise ValueError("a difference grade needs a reference")
        pair = [trial.rated[0], trial.versus]
        a, b = pair[::-1] if versus_first else pair
        reference = Part(trial.versus, gettext_noop("Reference"), "reference")
        return [*context_of(trial), reference, Part(a, "A"), Part(b, "B")]

    def check_labels(self, labels: Sequence[str]) -> None:
        if TOP not in labels:
            raise ValueError("one of the two clips must have the grade 5")

    def joined_answer(
        self, labels: Sequence[str], scores: Sequence[float | None], *, versus_first: bool
    ) -> tuple[str, float | None]:
        """Both grades, that of the object first, and the object's minus the hidden reference's."""
        a, b = zip(labels, scores, strict=True)
        (own, grade), (hidden, top) = (b, a) if versus_first else (a, b)
        difference = None if grade is None or top is None else round(grade - top, 6) + 0.0
        return own + JOINT + hidden, difference
