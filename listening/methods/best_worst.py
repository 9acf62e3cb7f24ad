"""Several clips of one item: which is the best and which the worst (best-worst scaling)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

from listening.methods.balanced_subsets import balanced_subsets, screens_per_item
from listening.methods.estimand import Estimand
from listening.methods.item_groups import MOST_TOGETHER, TOGETHER, by_item, check_fewest
from listening.methods.method import (
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
    together,
)
from listening.methods.mushra import lettered

BEST, WORST, NEITHER = "best", "worst", "neither"
FEWEST = 3  # of two clips, the best tells the worst
USUAL = 4


class BestWorst(Method):
    key = "best_worst"
    title = "Best-worst scaling"
    estimand = Estimand(
        key="best_worst",
        name="Best-worst score",
        phrase="the best-worst score (times best minus times worst, over times shown)",
        axis="Best-worst score: -1 always worst to 1 always best",
        ends=(-1.0, 1.0),
        best_and_worst=True,
        equivalence=0.05,
        ceilings=False,
        scores=(-1.0, 0.0, 1.0),
    )
    standard = "Best-worst scaling, case 1 (Louviere, Flynn and Marley 2015): best minus worst"
    default_question = gettext_noop("Which clip is the best, and which the worst?")
    default_criteria = (("best_worst", default_question, {}),)
    screen = "parallel"
    labels_refused = gettext_noop("Choose one clip as the best and another one as the worst.")

    def scale(self, options: Options) -> Scale:
        names = names_in(options)
        steps = (
            Step(BEST, 1.0, names.get(BEST, gettext_noop("Best"))),
            Step(NEITHER, 0.0),
            Step(WORST, -1.0, names.get(WORST, gettext_noop("Worst"))),
        )
        return Scale(steps, "best_worst")

    def playback(self, options: Options) -> Playback:
        return together(options, 1.0)

    def columns(self, stimuli: Sequence[StimulusRef], options: Options) -> list[str]:
        size, groups = _size(options), by_item(stimuli).values()
        most = max((screens_per_item(len(group), size) for group in groups), default=1)
        return [_column(number, most) for number in range(most)]

    def trials(self, stimuli: Sequence[StimulusRef], options: Options) -> Iterator[PlannedTrial]:
        """All clips of an item where a screen holds them, else balanced subsets of its systems."""
        check_fewest(stimuli, FEWEST)
        size, groups = _size(options), by_item(stimuli)
        names = sorted({s.condition for s in stimuli})
        number = {name: code for code, name in enumerate(names)}
        for group in groups.values():
            if twice := [c for c, n in Counter(s.condition for s in group).items() if n > 1]:
                raise ValueError(f"an item has two clips of “{twice[0]}”, which cannot be told")
        present = tuple(tuple(number[s.condition] for s in group) for group in groups.values())
        design = balanced_subsets(present, size)
        most = max(map(len, design), default=1)
        for (item, group), subsets in zip(groups.items(), design, strict=True):
            clip = {number[s.condition]: s.pk for s in group}
            for place, subset in enumerate(subsets):
                yield PlannedTrial(item, _column(place, most), tuple(clip[c] for c in subset))

    def parts(self, trial: PlannedTrial, *, versus_first: bool, rng: Random) -> list[Part]:
        return [*context_of(trial), *lettered(trial.rated, rng)]

    def presented_first(self, *, versus_first: bool) -> str:
        return ""

    def check_labels(self, labels: Sequence[str]) -> None:
        if labels.count(BEST) != 1 or labels.count(WORST) != 1:
            raise ValueError("a screen has one best clip and one worst clip")


def _size(options: Options) -> int:
    """The option `clips`: how many clips a screen holds."""
    size = options.get("clips", USUAL)
    if isinstance(size, bool) or not isinstance(size, int) or not FEWEST <= size <= MOST_TOGETHER:
        raise ValueError(f"clips is a whole number from {FEWEST} to {MOST_TOGETHER}, not {size!r}")
    return size


def _column(place: int, most: int) -> str:
    """What the design calls the screens of an item."""
    return TOGETHER if most == 1 else f"screen {place + 1:02} of {most:02}"
