"""How a study was run, in the sentences of a methods section, from the study's own definition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from analysis.formatting import counted, enumerated, short
from analysis.report.report_schema import Conduct

if TYPE_CHECKING:
    from listening.selectors import StudyFacts

HEADPHONE_CHECKS = {
    "huggins": "Huggins pitch",
    "antiphase": "antiphase tones",
    "stereo": "left and right channel",
}
MARKED = {"marks": "words of the text", "spans": "spans of the waveform"}
TRAP_WORDS = {"flawed": "defective clip", "human": "genuine recording"}
MOST_STEPS = 4  # labels without numbers that are named
MOST_FILTERS = 3
ORDER = (
    "Clips were assigned to raters at random in blocks, and presented in an order drawn per session"
)
GAPS = {  # what a file of ratings does not say, for people to fill in
    "questions": "the question and the scale as raters read them",
    "recruitment": "how raters were recruited and paid",
    "headphones": "whether headphones were checked",
    "order": "how clips were assigned and ordered",
}


def conduct_of(facts: StudyFacts) -> Conduct:
    """Return the sentences that a methods section needs of a study."""
    return Conduct(
        questions={
            f"{task['task']} · {criterion['criterion']}": question_words(criterion)
            for task in facts["tasks"]
            for criterion in task["criteria"]
        },
        recruitment=_recruitment(facts),
        headphones=_headphones(facts),
        order=order_words(facts),
        traps=_traps(facts),
    )


def order_words(facts: StudyFacts) -> str:
    """How clips were dealt, and by which rule the two systems of comparisons were chosen."""
    rules = dict.fromkeys(filter(None, (task.get("pairs_drawn") for task in facts["tasks"])))
    parallel = any(task.get("parallel") for task in facts["tasks"])
    screens = "; clips on one screen stood in an order drawn per screen" * parallel
    return ". ".join([f"{ORDER}{screens}", *(f"In comparisons {rule}" for rule in rules)])


def question_words(criterion: Mapping[str, Any]) -> str:
    """Return how a criterion was asked: “How natural is it?” from 1 (“Bad”) to 5 (“Excellent”)."""
    question = " ".join(criterion["question"].split()).rstrip(":")
    return f"“{question}” {scale_words(criterion)}".strip()


def scale_words(criterion: Mapping[str, Any]) -> str:
    """Return a scale in few words: its ends with their labels, or its answers."""
    steps = criterion["steps"]
    if criterion["span"]:
        low, high, step = criterion["span"]
        return f"on a scale from {short(low)} to {short(high)} in steps of {short(step)}"
    if criterion["widget"] == "ranking":
        return "by ranking the clips, 1 the best"
    if criterion["widget"] == "best_worst":
        return "by choosing the best and the worst clip"
    if criterion["widget"] == "transcript":
        return "by typing the words"
    if marked := MARKED.get(criterion["widget"]):
        kinds = [f"“{text or label}”" for label, text in steps[:-1]]
        return f"by marking {marked} as {enumerated(kinds, 'or')}"
    if not steps:
        return "in their own words"
    labels = [text or label for label, text in steps]
    if all(_is_number(label) for label, _ in steps):
        ordered = sorted(steps, key=lambda step: float(step[0]))
        ends = [f"{label} (“{text}”)" if text else label for label, text in ordered]
        return f"on a {len(steps)}-point scale from {ends[0]} to {ends[-1]}"
    some = "choosing any of" if criterion["widget"] == "many" else "choosing one of"
    named = [f"“{text}”" for text in labels[:MOST_STEPS]]
    more = len(labels) - len(named)
    return f"{some} {enumerated([*named, *[f'{more} more'] * bool(more)], 'or')}"


def _is_number(label: str) -> bool:
    try:
        float(label)
    except ValueError:
        return False
    return True


def _recruitment(facts: StudyFacts) -> str:
    sources = [source["name"] for source in facts["sources"]]
    filters = [words for each in facts["recruitments"] for words in each["filters"]]
    if facts["recruitments"]:
        sources = [*sources, "Prolific"] if "Prolific" not in sources else sources
    if not sources:
        return "Raters were recruited by a link to the study"
    named = list(dict.fromkeys(filters))
    more = len(named) - MOST_FILTERS
    filter_names = [*named[:MOST_FILTERS], *[f"{more} more"] * (more > 0)]
    which = f" ({'; '.join(filter_names)})" if filter_names else ""
    return f"Raters were recruited through {enumerated(sources)}{which}"


def _headphones(facts: StudyFacts) -> str:
    checks = [check for check in facts["checks"] if check.get("key") in HEADPHONE_CHECKS]
    if not checks:
        return "No headphone check was made"
    kinds = [
        f"{HEADPHONE_CHECKS[check['key']]}, {check['pass_at_least']} of {check['trials']} right"
        for check in checks
    ]
    failed = "screened out" if checks[0]["on_fail"] == "screen_out" else "let in and marked"
    return f"Headphones were checked ({enumerated(kinds)}); raters who failed were {failed}"


def _traps(facts: StudyFacts) -> str:
    plans = []
    for task in facts["tasks"]:
        kinds = [
            counted(
                trap["count"],
                TRAP_WORDS.get(trap["kind"]) or f"“{trap['kind'].replace('_', ' ')}” trap",
            )
            for trap in task["traps"]
        ]
        if kinds:
            every = counted(task["traps_per"], "clip")
            plans.append(f"{enumerated(kinds)} with known answers among every {every}")
    if not plans:
        return "No attention check was used"
    return f"Attention was checked by {enumerated(dict.fromkeys(plans))}"
