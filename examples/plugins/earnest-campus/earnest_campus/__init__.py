"""A university's own pool of students: each leaves with a code that the pool checks."""

import hashlib
import hmac

from listening.design.providers import Provider, Visit

PLUGIN_API_VERSION = 1


class Campus(Provider):
    """The code is an HMAC of number, sign-up and outcome, so that nobody can hand it on."""

    key = "campus"  # stands in study files: never renamed
    title = "Campus pool"
    participant, submission = "student", "signup"
    placeholders = {"student": "{{student}}", "signup": "{{signup}}"}
    enter_as = "link of the experiment"
    one_id_per_person = True
    takes_codes = True
    secret = "key of the experiment"

    @classmethod
    def code(cls, outcome: str, visit: Visit, secret: str) -> str:
        if not secret:
            return ""
        words = f"{visit.participant}:{visit.submission}:{outcome}"
        return hmac.new(secret.encode(), words.encode(), hashlib.sha256).hexdigest()[:12].upper()
