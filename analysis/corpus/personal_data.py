"""Personal data in texts that have a form: addresses, numbers with check digits, user names.

Names of people, postal addresses and what is spelled out ("anna at example dot org") have no form
and are not found.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Callable, Iterator
from urllib.parse import parse_qsl, urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from analysis.corpus.clips import Corpus, Finding

EMAIL = re.compile(r"[A-Za-z0-9._%+'-]{1,64}@[A-Za-z0-9.-]{1,190}")
ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>\"“”]+", re.IGNORECASE)
HANDLE = re.compile(r"(?<![\w.@/])@[A-Za-z][\w.]{2,29}")
IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{2,4}){3,8}\b")
DIGITS = re.compile(r"(?<![\w.,-])\d(?:[ -]?\d){12,18}(?![\w-])")
IDENTITY = re.compile(r"(?<!\d)[1-9]\d{16}[\dXx](?![\dXx])")
SECURITY = re.compile(r"(?<![\d-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\d-])")
IP = re.compile(r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f:]*:[0-9A-Fa-f:]*:[0-9A-Fa-f:]+)")
VERSION = re.compile(r"(version|release|v)\.? ?$", re.IGNORECASE)
PHONES = (  # international; North America; a leading zero, as in most of Europe and Asia
    re.compile(
        r"(?<![\w+])(?<!\d )(?:\+|00)[1-9]\d{0,2}[ ./()-]{0,2}\d(?:[ ./()-]{0,2}\d){5,12}(?!\w)"
    ),
    re.compile(r"(?<![\w.,-])(?:1[-. ])?\(?[2-9]\d{2}\)?[-. ] ?[2-9]\d{2}[-. ]\d{4}(?![\w-])"),
    re.compile(r"(?<![\w.,/-])(?<!\d )\(?0\d{1,5}\)?[ /-]\d{2,10}(?:[ -]\d{2,8}){0,3}(?![\w-])"),
    re.compile(r"(?<!\d)1[3-9]\d[ -]?\d{4}[ -]?\d{4}(?!\d)"),  # mobile phones in China
)
LEAST_DIGITS, MOST_DIGITS = 9, 15  # of a phone number: a date has 8, E.164 allows 15
IDENTITY_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
USER_FIELDS = frozenset({"user", "username", "email", "login", "account", "uid"})
SHOWN = 3  # characters of what was found: a report shall not spread it
NOT_FOUND = (
    "Names of people, postal addresses and what is spelled out in words are not found: read the "
    "texts for them."
)


def personal_data(corpus: Corpus) -> Iterator[Finding]:
    """A finding for each piece of personal data in the text of a sentence."""
    for clip in corpus.sentences():
        texts = dict.fromkeys(filter(None, (clip.text, clip.transcript)))
        for what, piece in dict.fromkeys(each for t in texts for each in personal_data_in(t)):
            yield Finding(
                "personal",
                clip,
                f"The text holds {what}: {masked(piece)}",
                "If it is somebody’s, replace it in the text and the recording, or leave the clip "
                "out.",
            )


def personal_data_in(text: str) -> list[tuple[str, str]]:
    """What a text holds, in words, and where it is written so; each place once."""
    rest = unicodedata.normalize("NFKC", text)
    results = []
    for what, finds in FINDERS:
        for piece in finds(rest):
            results.append((what, piece))
            rest = rest.replace(piece, " " * len(piece))
    return results


def masked(piece: str) -> str:
    """The first characters, and how many there are."""
    return f"“{piece[:SHOWN]}…” ({len(piece)} characters)"


def is_luhn(digits: str) -> bool:
    """Whether the last digit is the check digit of Luhn's algorithm (ISO/IEC 7812-1)."""
    total = 0
    for place, digit in enumerate(map(int, reversed(digits))):
        doubled = digit * 2 if place % 2 else digit
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0


def is_iban(text: str) -> bool:
    """Whether a text without blanks has the check digits of an IBAN (ISO 13616, modulo 97)."""
    if not 15 <= len(text) <= 34:
        return False
    moved = text[4:] + text[:4]
    return int("".join(str(int(character, 36)) for character in moved)) % 97 == 1


def is_identity_number(text: str) -> bool:
    """Whether 18 characters are a Chinese resident identity number (GB 11643, ISO 7064)."""
    total = sum(w * int(d) for w, d in zip(IDENTITY_WEIGHTS, text[:17], strict=True))
    return "10X98765432"[total % 11] == text[17].upper()


def _emails(text: str) -> Iterator[str]:
    for match in EMAIL.finditer(text):
        piece = match[0].strip(".!?'’")
        try:
            validate_email(piece)
        except ValidationError:
            continue
        yield piece


def _addresses(text: str) -> Iterator[str]:
    """Addresses of the web that name a user."""
    for match in ADDRESS.finditer(text):
        piece = match[0].rstrip(".,;:!?)")
        try:
            parts = urlsplit(piece if "://" in piece else f"http://{piece}")
            named = parts.username or "/@" in parts.path or re.search(r"/(u|user)s?/\w", parts.path)
        except ValueError:
            continue
        if named or any(name.casefold() in USER_FIELDS for name, _ in parse_qsl(parts.query)):
            yield piece


def _ibans(text: str) -> Iterator[str]:
    return (m[0] for m in IBAN.finditer(text) if is_iban(m[0].replace(" ", "")))


def _cards(text: str) -> Iterator[str]:
    for match in DIGITS.finditer(text):
        digits = re.sub(r"[ -]", "", match[0])
        if digits[0] in "23456" and is_luhn(digits):
            yield match[0]


def _identities(text: str) -> Iterator[str]:
    return (m[0] for m in IDENTITY.finditer(text) if is_identity_number(m[0]))


def _ips(text: str) -> Iterator[str]:
    for match in IP.finditer(text):
        try:
            place = ipaddress.ip_address(match[0])
        except ValueError:
            continue
        if place.is_global and not VERSION.search(text[: match.start()]):
            yield match[0]


def _phones(text: str) -> Iterator[str]:
    taken: list[tuple[int, int]] = []
    for pattern in PHONES:
        for match in pattern.finditer(text):
            digits = sum(map(str.isdigit, match[0]))
            apart = all(match.end() <= start or match.start() >= end for start, end in taken)
            if LEAST_DIGITS <= digits <= MOST_DIGITS and apart:
                taken.append(match.span())
                yield match[0]


def _all_of(pattern: re.Pattern[str]) -> Callable[[str], Iterator[str]]:
    return lambda text: (match[0] for match in pattern.finditer(text))


FINDERS: tuple[tuple[str, Callable[[str], Iterator[str]]], ...] = (
    ("a web address with a user name", _addresses),
    ("an e-mail address", _emails),
    ("an IBAN", _ibans),
    ("a Chinese identity number", _identities),
    ("a credit card number", _cards),
    ("a number like a US Social Security number", _all_of(SECURITY)),
    ("an IP address", _ips),
    ("a phone number", _phones),
    ("a user name", _all_of(HANDLE)),
)
