"""`{% modules %}`: links that fetch the scripts of a rater's page at once, not one by one."""

from collections.abc import Iterator
from typing import Any

from django.template import Library
from django.templatetags.static import static
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

register = Library()
EVERY_TRIAL = (  # a test keeps the list whole
    *("rater/api", "rater/clips", "rater/cookies", "rater/criteria", "rater/heard"),
    *("rater/justification", "rater/keys", "rater/known", "rater/memory", "rater/outbox"),
    *("rater/playbackfacts", "rater/playbackrate", "rater/player", "rater/playerview"),
    *("rater/retry", "rater/scales", "rater/sequence", "rater/session", "rater/sessionframe"),
    *("rater/slider", "rater/sound", "rater/stages", "rater/strings", "rater/tabs"),
    *("rater/timeline", "rater/trial", "rater/trialscreen", "rater/withdraw"),
    *("shared/backoff", "shared/csrf", "shared/dom"),
)
SOME = {  # stage, screen or widget -> what it needs
    "check": ("rater/checks", "rater/checktrials", "rater/checkanswers", "rater/stylesheet"),
    "questionnaire": ("rater/questionnaire", "rater/question", "rater/stylesheet"),
    "end": ("rater/ending",),
    "parallel": (
        *("rater/parallel", "rater/board", "rater/boards", "rater/deck", "rater/mixer"),
        *("rater/audiooutput", "rater/transport"),
    ),
    "waveform": ("rater/waveform",),
    "sliders": ("rater/sliderboard",),
    "marks": ("rater/markederrors", "rater/marks"),
    "best_worst": ("rater/bestworstboard",),
    "spans": ("rater/markederrors", "rater/spans", "rater/waveform"),
    "ranking": ("rater/rankboard",),
}


@register.simple_tag(takes_context=True)
def modules(context: Any) -> SafeString:
    needed = [*EVERY_TRIAL, *(each for part in _parts(context) for each in SOME.get(part, ()))]
    links = ((static(f"js/{name}.js"),) for name in dict.fromkeys(needed))
    return format_html_join("\n", '<link rel="modulepreload" href="{}">', links)


def _parts(context: Any) -> Iterator[str]:
    """The present stage, and the screens and widgets of all tasks."""
    yield (context.get("state") or {}).get("stage", "")
    for task in context.get("tasks", ()):
        if task.get("several") or task.get("screen") == "parallel":
            yield "parallel"
        if task["playback"].get("waveform"):
            yield "waveform"
        yield from (criterion["scale"]["widget"] for criterion in task["criteria"])
