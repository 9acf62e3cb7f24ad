"""Microworkers, which checks completion codes itself: each is a hash with the employer's secret.

Source: the blog of Microworkers, "VCODE Verification": "mw-" and the SHA-256 of campaign, worker
and secret key, without separators.
"""

from __future__ import annotations

from hashlib import sha256

from listening.design.providers.provider import Provider, Visit

PAID = ("complete", "needs_review")  # Microworkers accepts the code: it stands for finished work


class Microworkers(Provider):
    key = "microworkers"
    title = "Microworkers"
    participant, submission, project = "worker", "rand_key", "campaign"
    placeholders = {
        "campaign": "{{CAMP_ID}}",
        "worker": "{{MW_ID}}",
        "rand_key": "{{RAND_KEY}}",
    }
    enter_as = "link in the campaign’s description"
    one_id_per_person = True
    takes_codes = True
    secret = "VCODE secret key"

    @classmethod
    def code(cls, outcome: str, visit: Visit, secret: str) -> str:
        if outcome not in PAID or not (secret and visit.participant and visit.project):
            return ""
        return "mw-" + sha256((visit.project + visit.participant + secret).encode()).hexdigest()
