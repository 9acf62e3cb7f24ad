"""Which passwords are refused: short ones (a setting), and those that are guessed first."""

from __future__ import annotations

import string
from typing import Any

from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError

# Words that whoever attacks this site tries first, listed in docs/security.md.
OWN_WORDS = ("admin", "earnest", "listening", "password", "prolific", "rater", "researcher", "test")
AROUND = string.digits + string.punctuation + string.whitespace


class GuessedFirst(CommonPasswordValidator):
    """Common passwords, also twice or with digits and signs around them, and words of this site."""

    def validate(self, password: str, user: Any = None) -> None:
        core = password.casefold().strip(AROUND)
        half = core[: len(core) // 2]
        words = {password.casefold(), core, half if half + half == core else core}
        rest = core
        for word in sorted(OWN_WORDS, key=len, reverse=True):
            rest = rest.replace(word, "")
        if words & self.passwords or (core and not rest.strip(AROUND)):
            raise ValidationError(self.get_error_message(), code="password_too_common")
