"""One clip rated three times: its speech, its background, and overall (ITU-T P.835)."""

from listening.methods.estimand import Estimand
from listening.methods.method import Method, Options, Scale, gettext_noop, names_in, number_scale
from listening.methods.mos import P800_NAMES

SIGNAL = {
    "1": gettext_noop("Very distorted"),
    "2": gettext_noop("Fairly distorted"),
    "3": gettext_noop("Somewhat distorted"),
    "4": gettext_noop("Slightly distorted"),
    "5": gettext_noop("Not distorted"),
}
BACKGROUND = {
    "1": gettext_noop("Very intrusive"),
    "2": gettext_noop("Somewhat intrusive"),
    "3": gettext_noop("Noticeable but not intrusive"),
    "4": gettext_noop("Slightly noticeable"),
    "5": gettext_noop("Not noticeable"),
}
WORDS = {"signal": SIGNAL, "background": BACKGROUND, "overall": P800_NAMES}
QUESTIONS = {
    "signal": gettext_noop("Attending only to the speech signal: how distorted is the speech?"),
    "background": gettext_noop("Attending only to the background: how intrusive is it?"),
    "overall": gettext_noop("How is this clip overall, for everyday conversation?"),
}


class P835(Method):
    key = "p835"
    title = "Speech, background and overall quality"
    estimand = Estimand(
        key="p835",
        name="P.835",
        phrase="the mean opinion scores of P.835",
        axis="P.835: mean opinion score",
        ends=(1.0, 5.0),
        equivalence=0.1,
    )
    standard = "ITU-T P.835, with the three questions on one screen as in P.808"
    default_question = QUESTIONS["overall"]
    default_criteria = tuple((part, QUESTIONS[part], {"part": part}) for part in WORDS)

    def scale(self, options: Options) -> Scale:
        part = options.get("part", "overall")
        if part not in WORDS:
            raise ValueError(f"part is signal, background or overall, not {part!r}")
        return number_scale(1, 5, 1, {**WORDS[part], **names_in(options)})
