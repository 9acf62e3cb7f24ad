"""The consent text composed of what ethics boards ask for, in the language of those who read it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from listening.methods.method import gettext_noop

AGE = "18"
ETHICS = {  # field -> what it is, for the researcher
    "controller": "Data controller, with address",
    "purpose": "What the study is for",
    "risks": "Risks (empty: none beyond listening)",
    "payment": "What raters get (empty: nothing is said)",
    "data": "Other data kept, besides answers, times and device",
    "kept": "For how long, and where",
    "shared": "Other recipients, and published data",
    "withdrawal": "Withdrawal, if there is more to say than: at any moment",
    "approval": "Ethics board and number of the approval",
    "complaints": "Whom to complain to (ethics board, data protection officer)",
    "age": f"Least age (empty: {AGE})",
}
STANDARD_SENTENCE = "standard"  # in place of own words: the ready sentence on synthetic voices
LONG = ("purpose", "risks", "data", "kept", "shared", "withdrawal")  # of more than a line


def composed(
    ethics: Mapping[str, str], contact: str, erased_days: int | None, say: Callable[[str], str]
) -> str:
    """The whole text; `say` translates our own words. {minutes} stays for the study's figure."""
    statements = {name: ethics.get(name, "").strip() for name in ETHICS}
    paragraphs = (
        " ".join(each) for each in _paragraphs(statements, contact.strip(), erased_days, say)
    )
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def _paragraphs(
    statements: Mapping[str, str], contact: str, erased_days: int | None, say: Callable[[str], str]
) -> Iterator[list[str]]:
    def line(words: str, name: str) -> list[str]:
        own = statements[name].removesuffix(".") if words.endswith(".") else statements[name]
        return [say(words).replace("{words}", own)] if own else []

    task = gettext_noop(
        "In this study you listen to short recordings and say how they sound to you. It takes "
        "about {minutes} minutes."
    )
    yield [*line(gettext_noop("This study is run by {words}."), "controller"), say(task)]
    yield line(gettext_noop("What it is for: {words}"), "purpose")
    no_risk = gettext_noop(
        "We know of no risk beyond that of listening: keep the volume comfortable."
    )
    yield line(gettext_noop("Risks: {words}"), "risks") or [say(no_risk)]
    yield line(gettext_noop("For taking part you get: {words}"), "payment")
    yield [say(KEPT), *line(gettext_noop("We also keep: {words}"), "data")]
    yield [
        *line(gettext_noop("How long it is kept: {words}"), "kept"),
        *([say(ERASED).replace("{days}", str(erased_days))] if erased_days is not None else []),
        *line(gettext_noop("Who else gets it: {words}"), "shared"),
    ]
    yield [say(VOLUNTARY), *line("{words}", "withdrawal")]
    yield [
        *line(gettext_noop("Ethics approval: {words}."), "approval"),
        *([say(gettext_noop("Questions: {words}")).replace("{words}", contact)] if contact else []),
        *line(gettext_noop("Complaints: {words}"), "complaints"),
    ]
    yield [say(AGREE).replace("{age}", statements["age"] or AGE)]


KEPT = gettext_noop(
    "We keep your answers, how long you took, how often you played a clip and the kind of device "
    "you used. We do not ask for your name."
)
ERASED = gettext_noop(
    "What could tell who you are, such as the id of a platform, is erased {days} days after the "
    "study has ended."
)
VOLUNTARY = gettext_noop(
    "Taking part is voluntary. You may stop at any moment, and you may withdraw: then all your "
    "answers are deleted."
)
AGREE = gettext_noop("You are at least {age} years old and you agree to take part.")
