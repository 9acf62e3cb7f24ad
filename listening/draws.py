"""Seeds that nobody outside can work out, though the codes in them stand on the rater's page."""

from __future__ import annotations

import hmac

from django.conf import settings


def secret_seed(*words: object) -> str:
    """The same for the same words, and only for who holds the server's key.

    What is drawn of it (the order of clips, where traps stand, what is right) is no secret
    without: codes of sessions and trials are in the page, and how we draw is open source.
    """
    text = " ".join(map(str, words))
    return hmac.digest(settings.SECRET_KEY.encode(), text.encode(), "sha256").hex()


def draws_of(trial: str) -> str:
    """What fixes a trial's own draws, such as the letters of its clips."""
    return secret_seed("trial", trial)
