"""Random codes that name things on the outside without betraying their order or content."""

import re
import secrets

ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"  # no 0/o, 1/i/l: people read codes aloud

RATER_CODE = re.compile(rf"\b(?:r|sim|try)-[{ALPHABET}]{{10}}\b")  # wherever it stands in a text


def random_code(length: int) -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def link_code() -> str:
    return random_code(12)


def session_code() -> str:
    return random_code(26)


def rater_code() -> str:
    return "r-" + random_code(10)


def scripted_rater_code() -> str:
    """Tells in every table and export that no person gave these ratings."""
    return "sim-" + random_code(10)


def pilot_rater_code() -> str:
    """Of a researcher who tries a draft."""
    return "try-" + random_code(10)


def trial_code() -> str:
    return random_code(16)


def completion_code() -> str:
    return random_code(8).upper()
