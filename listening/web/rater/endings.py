"""The end of a session for a rater: what happened, submission and pay, and one button.

The last page of a session uses it, and the entry page when recruiting is closed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from listening.design.consent import STANDARD_SENTENCE
from listening.recruitment import connecting

SUBMISSIONS_URL = connecting.pages_of_participants() + "/submissions"
COMPLETE_URL = SUBMISSIONS_URL + "/complete"
FINISH = gettext_noop("Go back and finish there")
GIVE_BACK = gettext_noop("Go to Prolific and return your place")
HAPPENED = {
    "complete": gettext_noop("Your answers are stored."),
    "needs_review": gettext_noop(
        "Your answers are stored. Many clips were passed over or answered very quickly, so a "
        "person looks at this session first. Thank you."
    ),
    "partial": gettext_noop(
        "You were away for a while and the remaining clips went to other people. "
        "What you answered is stored. Thank you."
    ),
    "screened_out": gettext_noop(
        "Thank you for your time. This study needs other listeners or other equipment, so it "
        "ends here for you. You did nothing wrong."
    ),
    "failed_check": gettext_noop(
        "Thank you for your time. One of the checks says that fine differences cannot be heard "
        "well enough with this equipment or in this place, so it ends here. You did nothing wrong."
    ),
    "withdrawn": gettext_noop("All your answers have been deleted."),
}
HEARD_CLIPS = ("complete", "needs_review", "partial", "withdrawn")
SYNTHETIC = gettext_noop(
    "This study used synthetic audio: a computer generated or changed some or all of what you "
    "heard."
)
WITH_CODE = {  # on Prolific, where the button carries the code of this outcome
    "complete": gettext_noop(
        "This last step tells Prolific that you are done. Without it you may not be paid."
    ),
    "needs_review": gettext_noop(
        "This last step tells Prolific that you have finished. About the pay a person decides, "
        "after a look at your answers."
    ),
    "partial": gettext_noop(
        "This last step tells Prolific how far you came. About the pay for it the researchers "
        "decide. It is not a rejection."
    ),
    "screened_out": gettext_noop(
        "This last step tells Prolific that the study was not a match: your place goes to somebody "
        "else, and if the way to here is paid, you are paid there. It is not a rejection."
    ),
    "no_consent": gettext_noop(
        "This last step tells Prolific that you do not take part, and your place goes to somebody "
        "else. It is not a rejection."
    ),
}
SCREENED_OUT_AS_PLANNED = {  # what the code does there, where the study was recruited from here
    "FIXED_SCREEN_OUT_PAYMENT": gettext_noop(
        "This last step tells Prolific that the study was not a match: your place goes to somebody "
        "else, and Prolific pays you for the way to here. It is not a rejection."
    ),
    "REQUEST_RETURN": gettext_noop(
        "This last step tells Prolific that the study was not a match. Prolific will ask you to "
        "return your place; after that the researchers pay you for your time. It is not a "
        "rejection."
    ),
}
BACK = gettext_noop(
    "This last step takes you back to where you came from and says how your session ended. Without "
    "it, it may not be counted."
)
WITHOUT_CODE = gettext_noop(
    "Please return your place on Prolific, so that it goes to somebody else and is not counted "
    "against you. Nothing is paid for a returned place unless the researchers pay a part: ask them."
)
ELSEWHERE = {  # who came by a link, with a code of their own
    True: gettext_noop(
        "Give this code to the people who invited you: it shows how your session ended."
    ),
    False: gettext_noop("Nothing more is needed. You can close this page."),
}
AT_PLATFORM = gettext_noop(
    "Go back to %(platform)s and finish there. If you are asked for a code, enter this one."
)
ANOTHER_BROWSER = gettext_noop(
    "Your completion code is shown in the browser in which you began. If you came from Prolific, "
    "open the study there once more."
)


WITHDRAWAL = {  # what withdrawing does to pay, said before it is done
    "prolific": gettext_noop(
        "If you withdraw, your answers are deleted and no completion code is given. Please return "
        "your place on Prolific then. Whether a part is paid is for the researchers to decide."
    ),
    "source": gettext_noop(
        "If you withdraw, your answers are deleted and no completion code is given. Whether a part "
        "is paid is for the researchers to decide: ask them."
    ),
    "link": gettext_noop(
        "If you withdraw, your answers are deleted and no completion code is given. If the study "
        "is paid, ask the researchers about a part of it."
    ),
}


def withdrawal_sentence(*, from_prolific: bool, source: bool) -> str:
    """What withdrawing does to answers and pay, for who comes by Prolific, a source or a link."""
    way = "prolific" if from_prolific else "source" if source else "link"
    return _(WITHDRAWAL[way])


def submit_sentence() -> str:
    """What a rater's last step at the provider does."""
    return _(BACK)


def way_out(
    outcome: str,
    *,
    code: str,
    from_prolific: bool,
    does: str = "",
    back: str = "",
    platform: str = "",
) -> dict[str, Any]:
    """What becomes of place and pay, and the button for it; `url` is None where none is needed.

    `does` is what the code does at Prolific, where that is known; `back` the address to which
    another source wants its people back; `platform` the name of one where codes are entered.
    """
    if from_prolific and code:
        next_ = WITH_CODE.get(outcome, WITH_CODE["complete"])
        if outcome == "screened_out":
            next_ = SCREENED_OUT_AS_PLANNED.get(does, next_)
        url = f"{COMPLETE_URL}?{urlencode({'cc': code})}"
        return {"next": _(next_), "button": _(FINISH), "return_url": url}
    if from_prolific:
        return {"next": _(WITHOUT_CODE), "button": _(GIVE_BACK), "return_url": SUBMISSIONS_URL}
    if back:
        return {"next": _(BACK), "button": _(FINISH), "return_url": back}
    if code and platform:
        next_ = _(AT_PLATFORM) % {"platform": platform}
        return {"next": next_, "button": "", "return_url": None}
    return {"next": _(ELSEWHERE[bool(code)]), "button": "", "return_url": None}


def end_facts(
    outcome: str,
    texts: Mapping[str, str],
    *,
    code: str,
    from_prolific: bool,
    commented: bool,
    failed_check: bool = False,
    own: bool = True,
    **way: str,
) -> dict[str, Any]:
    """The last page of a session; a browser that is not its own gets neither code nor button.

    `way` is what else `way_out` takes.
    """
    happened = HAPPENED["failed_check" if failed_check else outcome]
    text = texts.get("end") if outcome == "complete" else ""
    if own:
        out = way_out(outcome, code=code, from_prolific=from_prolific, **way)
    else:
        out = {"next": _(ANOTHER_BROWSER) if code else "", "button": "", "return_url": None}
    return {
        "outcome": outcome,
        "code": code if own else "",
        "text": text or _(happened),
        **out,
        "debrief": "\n\n".join(_debriefing(outcome, texts)),
        "comment_prompt": texts.get("comment_prompt", ""),
        "comment": bool(texts.get("comment_prompt"))
        and outcome in ("complete", "partial", "needs_review")
        and not commented
        and own,
        "withdrawable": own and outcome != "withdrawn",
    }


def _debriefing(outcome: str, texts: Mapping[str, str]) -> Iterator[str]:
    """What the study was about, to who completed it; that voices were synthetic, to who heard any.

    Disclosure of synthetic audio: EU AI Act, Article 50.
    """
    if outcome == "complete" and texts.get("debrief"):
        yield texts["debrief"].strip()
    if outcome in HEARD_CLIPS and (sentence := texts.get("synthetic_voices")):
        yield _(SYNTHETIC) if sentence == STANDARD_SENTENCE else sentence
