"""What a rater's page may know of study, tasks, scales, checks and clips: words, but no truth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.templatetags.static import static
from django.utils.translation import gettext as _

from listening.checks import Check, CheckSettings
from listening.design.duration import SessionLength
from listening.design.questionnaires import refused_answers
from listening.design.traps import TrapPlan
from listening.methods import Method, Part, Playback, Scale, Step
from listening.methods.rubrics import KIND
from listening.methods.vocalisation_types import canonical, types_marked
from listening.sessions.line_marks import Lines, marked_lines

HEADPHONE_CHECKS = frozenset({"huggins", "antiphase", "stereo"})


def entry_facts(study: Any, length: SessionLength) -> dict[str, Any]:
    """What stands on the first page, of a stored study or of a study folder's."""
    return {
        "welcome_paragraphs": _paragraphs(length.fill(study.texts.get("welcome", ""))),
        "consent_paragraphs": _paragraphs(length.fill(study.texts.get("consent", ""))),
        "screens": length.screens,
        "screens_vary": length.varies,
        "minutes": length.minutes,
        "headphones": _headphones(study),
        "erased_after": study.erase_after_days,
        "erased_on": study.erase_on,
        "reasons_erased": study.erase_reasons,
    }


def _headphones(study: Any) -> str:
    """Whether a rater "needs" headphones, is better "without" them, or "may" use them.

    Needed are they where a check or an answer screens out who has none; without them is right
    where an answer screens out both kinds.
    """
    refused = {
        device
        for questionnaire in study.questionnaires
        for question in questionnaire["questions"]
        if question["key"] == "listening_device"
        for device in refused_answers(question, language="")
    }
    tested = any(
        check["key"] in HEADPHONE_CHECKS and check.get("on_fail", "screen_out") == "screen_out"
        for check in study.checks
    )
    if tested or "loudspeaker" in refused:
        return "needs"
    return "without" if {"in_ear", "over_ear"} <= refused else "may"


def _paragraphs(text: str) -> list[str]:
    return [part.strip() for part in text.split("\n\n") if part.strip()]


def task_facts(
    index: int,
    *,
    title: str,
    instructions: str,
    method: Method,
    playback: Playback,
    autoplay: bool,
    criteria: Iterable[tuple[str, str, Scale]],
    justification: Mapping[str, Any],
) -> dict[str, Any]:
    """Texts and scales of a task; a criterion is its question, its help and its scale."""
    return {
        "index": index,
        "title": title,
        "instructions": instructions,
        "screen": method.screen,
        "heard_out": playback.share == 1,
        "playback": _rules(playback, method.screen),
        "several": method.screen == "parallel",
        "autoplay": autoplay and method.screen != "parallel",
        "criteria": [
            {
                "index": place,
                "question": translated(question),
                "help": translated(help_text),
                "scale": scale_facts(scale),
            }
            for place, (question, help_text, scale) in enumerate(criteria)
        ],
        "justification": _justification(justification),
        **{
            name: static(file)
            for name, file in (("script", method.script), ("style", method.style))
            if file
        },
    }


def _rules(playback: Playback, screen: str) -> dict[str, Any]:
    """What a page must know: where clips do not play together, of no reference at all."""
    rules = asdict(playback)
    if screen == "parallel":
        del rules["plays"]
        return rules
    names = ("share", "restart") if playback.plays is None else ("share", "restart", "plays")
    return {name: rules[name] for name in names}


def criterion_words(
    question: str, help_text: str, scale: Scale, words: Mapping[str, Any]
) -> tuple[str, str, Scale]:
    """A criterion in the words of one language; labels stay, since they are what is stored."""
    said_question, said_help = words.get("question"), words.get("help_text")
    return said_question or question, said_help or help_text, scale.named(words.get("names", {}))


def kind_facts(dimension: str, text: str, task: Mapping[str, Any]) -> dict[str, str]:
    """The kind of a clip as the page fills it into questions; nothing where none names it.

    Its dimension, else the types that its text marks. A type of vocalisation is named in the
    page's language, other words are the researcher's.
    """
    if not any(KIND in each["question"] + each["help"] for each in task["criteria"]):
        return {}
    kinds = [dimension] if dimension else types_marked(text)
    return {"dimension": ", ".join(map(_kind_title, kinds)) or _("the sound that was asked for")}


def _kind_title(kind: str) -> str:
    known = canonical(kind)
    named = _(known)
    return named if named != known else kind


def example_facts(examples: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """The clips (address, caption) that are heard with a task's instructions."""
    return [
        {"clip": url, "name": _("Example %(n)s") % {"n": place}, "caption": caption}
        for place, (url, caption) in enumerate(examples, start=1)
    ]


def occasion_facts(key: str, done: int, total: int) -> dict[str, str]:
    """Of a questionnaire between trials: the key of this occasion, and where the rater stands."""
    place = _("Questions · %(done)s of %(total)s done") % {"done": done, "total": total}
    return {"key": key, "place": place}


def alternatives_facts(steps: Iterable[Step]) -> list[dict[str, Any]]:
    """The alternatives of a trial in their order; number keys go by their place."""
    return [
        {"label": step.label, "text": step.text, "hotkey": str(place), "apart": False}
        for place, step in enumerate(steps, start=1)
    ]


def scale_facts(scale: Scale) -> dict[str, Any]:
    """What the page may know of a scale: labels and words, never scores."""
    steps = [
        {"label": s.label, "text": translated(s.text), "hotkey": s.hotkey, "apart": s.apart}
        for s in scale.steps
    ]
    span = list(scale.span) if scale.span else None
    return {"widget": scale.widget, "steps": steps, "span": span, "longest": scale.longest}


def translated(words: str) -> str:
    """Our own words in the study's language; a researcher's stay as they are."""
    return _(words) if words else ""


def _justification(rules: Mapping[str, Any]) -> dict[str, Any] | None:
    if not rules:
        return None
    return {
        "required": bool(rules.get("required")),
        "min_chars": int(rules.get("min_chars", 0)),
        "prompt": rules.get("prompt", ""),
        "good": list(rules.get("good", [])),
        "poor": list(rules.get("poor", [])),
    }


def check_facts(
    check: Check, settings: CheckSettings, seed: str, attempt: int, sound: Callable[[int], str]
) -> dict[str, Any]:
    """One attempt of a check: its sounds and questions, and not what is right."""
    return {
        "key": check.key,
        "title": _(settings.title),
        "text": _(settings.text),
        "kind": check.kind,
        "attempt": attempt,
        "attempts": settings.attempts,
        "feedback": _(check.feedback_sentence(settings)) if attempt > 1 else "",
        "clip": sound(0) if check.kind == "volume" else "",
        "trials": [
            {
                "clip": sound(place),
                "question": _(trial.question),
                "options": [
                    {"value": o.value, "text": _(o.text), "hotkey": o.hotkey} for o in trial.options
                ],
            }
            for place, trial in enumerate(check.plan(settings, seed))
        ],
    }


def clip_facts(
    parts: Sequence[Part], address: Callable[[int, Part], str], lines: Callable[[int], Lines]
) -> dict[str, Any]:
    """The clips of a trial and what stands beside each, in the order of the screen."""
    clips = [address(place, part) for place, part in enumerate(parts)]
    return {
        "clips": clips,
        "parts": [
            {"name": _(part.name), "role": role, "lines": marked_lines(lines(part.stimulus), clip)}
            for part, role, clip in zip(parts, page_roles(parts), clips, strict=True)
        ],
    }


def page_roles(parts: Sequence[Part]) -> list[str]:
    """Roles as the page may know them: of two compared clips the second, whichever is the rated."""
    roles = [part.role for part in parts]
    if "versus" not in roles:
        return roles
    places = iter(("versus", "rated"))
    return [next(places) if role in ("versus", "rated") else role for role in roles]


def shows_text(show_text: bool, traps: TrapPlan, trap: str) -> bool:
    """Whether the item's words stand beside the clip: always, or as a trap's instruction."""
    return show_text or any(kind.text and kind.kind == trap for kind in traps.kinds)
