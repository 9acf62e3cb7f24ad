"""Two clips of one item: which one is better, with or without a tie."""

from random import Random

from listening.methods.estimand import PREFERENCE, Estimand
from listening.methods.method import Options, Scale, Step, gettext_noop, names_in
from listening.methods.paired import Paired

NO_DIFFERENCE = gettext_noop("No difference")


class Ab(Paired):
    key = "ab"
    title = "AB comparison"
    estimand = Estimand(
        key="ab",
        name="AB",
        phrase="the share of AB preferences (a tie counts half)",
        axis="AB: share that chose it, a tie counts half",
        ends=(0.0, 1.0),
        neutral=0.5,
        comparison=PREFERENCE,
        decimals=3,
        equivalence=0.02,
        ceilings=False,
        scores=(0.0, 0.5, 1.0),
        answers={1.0: "it", 0.5: "a tie", 0.0: "the other"},
    )
    standard = "Paired comparison (ISO 5495): the share that prefers the condition, a tie is half"
    default_question = gettext_noop("Which clip is better?")
    default_criteria = (("preference", default_question, {}),)
    part_names = ("A", "B")

    def scale(self, options: Options) -> Scale:
        names, tie = names_in(options), options.get("tie", False)
        if not isinstance(tie, bool | str):
            raise ValueError(f"tie is true, false or the words of that answer, not {tie!r}")
        steps = [
            Step("A", 1.0, names.get("A", gettext_noop("A is better")), "1"),
            Step("B", 0.0, names.get("B", gettext_noop("B is better")), "2"),
        ]
        if tie:
            words = tie if isinstance(tie, str) else names.get("tie", NO_DIFFERENCE)
            steps.append(Step("tie", 0.5, words, "3"))
        return Scale(tuple(steps), "choice")

    def stored_score(self, score: float | None, *, versus_first: bool, rng: Random) -> float | None:
        """Raters say whether A is better; stored is whether `condition` is."""
        return score if score is None or not versus_first else 1.0 - score
