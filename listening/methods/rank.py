"""All clips of one item put in order, the best first."""

from collections.abc import Iterator, Sequence
from random import Random

from listening.methods.estimand import Estimand
from listening.methods.item_groups import MOST_TOGETHER, TOGETHER, by_item, check_numbers
from listening.methods.method import (
    Method,
    Options,
    Part,
    PlannedTrial,
    Playback,
    Scale,
    StimulusRef,
    context_of,
    gettext_noop,
    together,
)
from listening.methods.mushra import lettered


class Rank(Method):
    key = "rank"
    title = "Ranking"
    estimand = Estimand(
        key="rank",
        name="Rank",
        phrase="the mean rank",
        axis="Rank: mean place, 1 is the best",
        lowest_is_best=True,
        in_places=True,
        ceilings=False,
    )
    standard = "Ranking (ISO 8587): the place, 1 is the best"
    default_question = gettext_noop("Put the clips in order, the best one first.")
    default_criteria = (("order", default_question, {}),)
    screen = "parallel"

    def scale(self, options: Options) -> Scale:
        return Scale((), "ranking", (1.0, float(MOST_TOGETHER), 1.0))

    def playback(self, options: Options) -> Playback:
        return together(options, 1.0)

    def columns(self, stimuli: Sequence[StimulusRef], options: Options) -> list[str]:
        return [TOGETHER]

    def trials(self, stimuli: Sequence[StimulusRef], options: Options) -> Iterator[PlannedTrial]:
        check_numbers(stimuli)
        for item, group in by_item(stimuli).items():
            yield PlannedTrial(item, TOGETHER, tuple(s.pk for s in group))

    def parts(self, trial: PlannedTrial, *, versus_first: bool, rng: Random) -> list[Part]:
        return [*context_of(trial), *lettered(trial.rated, rng)]

    def check_labels(self, labels: Sequence[str]) -> None:
        if sorted(labels) != sorted(str(place + 1) for place in range(len(labels))):
            raise ValueError(f"every clip needs a place of its own, 1 to {len(labels)}")
