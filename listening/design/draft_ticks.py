"""What a draft's pages tick: checks, ready-made questions, answers that end a session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from listening.checks import Check
from listening.design.draft_toml import Table, value_at
from listening.design.ready_questions import READY_MADE

FORM = "about-you"  # the questionnaire that ticked questions go into


class _Check:
    """Whether a check is made before the first clip."""

    def __init__(self, key: str) -> None:
        self.key = key

    def shown(self, top: Table) -> bool:
        return value_at(top, ("study", "checks", self.key)) is not None

    def put(self, top: Table, wanted: Any) -> None:
        checks = top.setdefault("study", {}).setdefault("checks", [])
        if not wanted:
            checks[:] = [check for check in checks if check.get("key") != self.key]
        elif not self.shown(top):
            checks.append({"key": self.key})


def _forms(top: Table) -> list[Table]:
    """Questionnaires before the clips that use ready-made questions, or may."""
    return [q for q in top.get("questionnaires", []) if q.get("when", "before") == "before"]


def _used(form: Mapping[str, Any]) -> list[str]:
    use = form.get("use", [])
    return [use] if isinstance(use, str) else list(use)


class _Form:
    """Whether a ready-made set of questions is asked before the clips."""

    def __init__(self, key: str) -> None:
        self.key = key

    def shown(self, top: Table) -> bool:
        return any(self.key in _used(form) for form in _forms(top))

    def put(self, top: Table, wanted: Any) -> None:
        if not wanted:
            self._take_out(top)
        elif not self.shown(top):
            forms = top.setdefault("questionnaires", [])
            own = next((f for f in _forms(top) if _used(f)), None)
            if own is None:
                taken = {form.get("key") for form in forms}
                name = next(n for n in (FORM, f"{FORM}-2", f"{FORM}-3") if n not in taken)
                own = {"key": name, "when": "before"}
                forms.append(own)
            own["use"] = [name for name in READY_MADE if name in (*_used(own), self.key)]

    def _take_out(self, top: Table) -> None:
        """With what was changed of its questions; a questionnaire that asks nothing goes."""
        gone = {question["key"] for question in READY_MADE[self.key]}
        for form in _forms(top):
            if self.key in _used(form):
                form["use"] = [name for name in _used(form) if name != self.key]
                left = [q for q in form.get("questions", []) if q.get("key") not in gone]
                form["questions"] = left
                for name in ("use", "questions"):
                    if not form[name]:
                        form.pop(name)
        if "questionnaires" in top:
            kept = [f for f in top["questionnaires"] if "use" in f or "questions" in f]
            top["questionnaires"] = kept


class _ScreenOut:
    """Whether an answer to a ready-made question ends the session; the question is asked then."""

    def __init__(self, form: str, question: str, answer: str) -> None:
        self.form, self.question, self.answer = form, question, answer

    def _own(self, top: Table) -> tuple[Table | None, Table | None]:
        form = next((f for f in _forms(top) if self.form in _used(f)), None)
        questions = form.get("questions", []) if form else []
        return form, next((q for q in questions if q.get("key") == self.question), None)

    def shown(self, top: Table) -> bool:
        _, question = self._own(top)
        return self.answer in (question or {}).get("screen_out", [])

    def put(self, top: Table, wanted: Any) -> None:
        if bool(wanted) == self.shown(top):
            return
        if wanted:
            _Form(self.form).put(top, True)
        form, question = self._own(top)
        if form is None:
            return
        if question is None:
            question = {"key": self.question}
            form.setdefault("questions", []).append(question)
        answers = [a for a in question.get("screen_out", []) if a != self.answer]
        question["screen_out"] = [*answers, *([self.answer] if wanted else [])]
        if not question["screen_out"]:
            del question["screen_out"]
        if set(question) == {"key"}:
            form["questions"].remove(question)
        if not form["questions"]:
            del form["questions"]


SCREEN_OUTS = {
    "screen.loudspeaker": _ScreenOut("device", "listening_device", "loudspeaker"),
    "screen.loss": _ScreenOut("hearing", "hearing", "loss"),
    "screen.not_native": _ScreenOut("demographics", "native_speaker", "no"),
    "screen.under_18": _ScreenOut("demographics", "age", "under_18"),
}
Tick = _Check | _Form | _ScreenOut
TICKS: dict[str, Tick] = {
    **{f"checks.{key}": _Check(key) for key in Check.registry},
    **{f"forms.{key}": _Form(key) for key in READY_MADE},
    **SCREEN_OUTS,
}
