"""Why an answer is not stored: a code for the page, and a sentence for the rater."""

from __future__ import annotations

from dataclasses import dataclass

from listening.methods.method import gettext_noop


@dataclass(frozen=True)
class Refusal:
    """The sentence is English, with places like %(n)s for numbers; the door translates it."""

    code: str
    message: str


UNKNOWN_TRIAL = Refusal(
    "unknown_trial", gettext_noop("This clip is not part of your session. Reload the page.")
)
SESSION_OVER = Refusal(
    "session_over", gettext_noop("This session has ended, so the answer was not stored.")
)
NOT_READY = Refusal(
    "not_ready", gettext_noop("There are questions or sound tests to do before the clips.")
)
LEASE_LOST = Refusal(
    "lease_lost",
    gettext_noop(
        "You were away for a while, so this clip went to somebody else. "
        "Please go on with the next one."
    ),
)
WRONG_ORDER = Refusal(
    "wrong_order", gettext_noop("Another clip comes first. Please answer that one.")
)
CRITERION_MISSING = Refusal("criterion_missing", gettext_noop("One question has no answer yet."))
OUTSIDE_SCALE = Refusal(
    "outside_scale", gettext_noop("That answer is not on the scale. Please choose again.")
)
MORE_THAN_ASKED = Refusal(
    "malformed", gettext_noop("The answer holds more than was asked. Reload the page.")
)
REASON_MISSING = Refusal("justification_required", gettext_noop("Please give your reason."))
REASON_TOO_SHORT = Refusal(
    "justification_required",
    gettext_noop("Please give your reason in at least %(n)s characters."),
)
NOT_FETCHED = Refusal(
    "not_fetched", gettext_noop("This clip has not reached you yet. Please listen to it again.")
)
NOT_HEARD = Refusal("not_heard", gettext_noop("Please listen to the whole clip before you answer."))
REFERENCE_LATER = Refusal(  # the page lets the trial be listened to anew, as for what was not heard
    NOT_HEARD.code, gettext_noop("Please listen to the reference first, then to the other clips.")
)


class Refused(Exception):
    """An answer that is not stored, and why; `numbers` belong into the sentence."""

    def __init__(self, refusal: Refusal, **numbers: int) -> None:
        super().__init__(refusal.message % numbers)
        self.code = refusal.code
        self.message = refusal.message
        self.numbers = numbers
