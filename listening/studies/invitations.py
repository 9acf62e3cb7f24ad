"""People of a panel invited: a list read, mails and reminders sent once each, and who has come."""

from __future__ import annotations

import csv
import io
import logging
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from datetime import timedelta
from smtplib import SMTPException
from urllib.parse import urlencode

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage, get_connection
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from listening.common.addresses import public_route
from listening.common.spreadsheets import TableError, read_table, safe_cell, separated, some
from listening.design.sources import INVITATION, PARAMETER, Source
from listening.models import Invitation, Session, Study

LONGEST_ID = 100
SEPARATORS = "\t;,"  # between id and address, in each line the one that fits
BLANK = SEPARATORS + " \r\n"
OPEN_QUOTE = (
    "a quote is not closed, or stands within a cell. Close it, or delete it; a cell of several "
    "lines needs a first row that names the columns, such as id,email,name."
)
TOO_MANY = "there are more than three columns. Keep ID, email address and name."
_MAILBOX = re.compile(r"""(?:("[^"<>]*"\s*|[^"<>@]*)<)?([^"<>\s]+)>?""")  # Ada <ada@example.org>
_BY_SEMICOLON, _BY_COMMA = (re.compile(rf"""(?:"[^"]*"|[^"{each}])+""") for each in (";", ";,"))
_BLANKS_BEFORE_QUOTE = re.compile(r"""("[^"]*")|([,;\t]) +(?=")""")  # outside quoted cells
COLUMNS = {  # name of a column -> field of a Person
    **dict.fromkeys(("id", "own_id", "participant"), "own_id"),
    **dict.fromkeys(("email", "e-mail", "mail"), "email"),
    "name": "name",
}
MOST_AT_ONCE = 10_000
MOST_MAILS = 4  # to one person: the invitation and three reminders
BETWEEN_MAILS = timedelta(hours=20)
SUBJECT = "Your invitation to a listening study"
TEXT = """Hello,

you are invited to the listening study “{title}”. It takes about {minutes} min.

Your personal link: {link}

It is for you alone. If you do not want to take part, open it and say so: you will get no reminder.
"""
log = logging.getLogger(__name__)


class NotInvited(ValueError):
    """A list or a text that cannot be used; each line says what is wrong and where."""


def link_of(invitation: Invitation) -> str:
    landing = public_route("landing", invitation.study.link)
    query = {PARAMETER: invitation.source, INVITATION: invitation.code}
    return f"{landing}?{urlencode(query)}"


@dataclass(frozen=True)
class Person:
    """Somebody in a list; a list of email addresses alone has those for ids."""

    own_id: str
    email: str = ""
    name: str = ""


@dataclass(frozen=True)
class Added:
    """What became of a list: how many people are new, and how many were invited before.

    ``under_other_id`` are the ids whose address somebody else in the list of invitations has: they
    are known and get no second link.
    """

    new: int
    known: int
    under_other_id: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        return f"{self.new} added; {self.known} already in the list."

    @property
    def warning(self) -> str:
        """Whose address has a link already; "" for nobody."""
        if not self.under_other_id:
            return ""
        return (
            f"Not added, as the address has a link under another ID: {some(self.under_other_id)}."
        )


def invite(study: Study, source: Source, text: str) -> Added:
    """Invitations for a list: people by own id, email address and name.

    It is a table whose first row names the columns, or has one person a line; addresses alone are
    enough. A new address or name replaces that of somebody invited before, and an address has one
    link. NotInvited lists every row that is wrong; then nobody is invited.
    """
    people = _people(text)
    earlier = dict(invitations_of(study, source.key).values_list("own_id", "email"))
    mailable, clashing = _one_link_an_address(people, earlier)
    new = 0
    with transaction.atomic():
        for person in mailable:
            invitation, created = Invitation.objects.get_or_create(
                study=study,
                source=source.key,
                own_id=person.own_id,
                defaults={"email": person.email, "name": person.name},
            )
            new += created
            invitation.email = person.email or invitation.email
            invitation.name = person.name or invitation.name
            if not created:
                invitation.save(update_fields=["email", "name"])
    return Added(new, len(people) - new, tuple(clashing))


def _one_link_an_address(
    people: list[Person], earlier: Mapping[str, str]
) -> tuple[list[Person], list[str]]:
    """Who can be added or changed, and the ids of those whose address another id has already.

    ``earlier`` has the address of each id that is invited. Addresses may change hands in a list.
    """
    clashing: list[str] = []
    while True:
        changing = {person.own_id for person in people if person.email}
        holders = {
            email.casefold(): own_id
            for own_id, email in earlier.items()
            if email and own_id not in changing
        }
        found = [
            person.own_id
            for person in people
            if holders.get(person.email.casefold(), person.own_id) != person.own_id
        ]
        if not found:
            return people, clashing
        clashing += found
        people = [person for person in people if person.own_id not in {*found}]


def _people(text: str) -> list[Person]:
    people: dict[str, Person] = {}
    addresses: set[str] = set()
    wrong: list[str] = []
    for place, person, problem in _entries(text.removeprefix("\ufeff")):
        problem = problem or _problem_of(person, people, addresses)
        if problem:
            wrong.append(f"{place}: {problem}")
        else:
            people[person.own_id] = person
            addresses.add(person.email.casefold())
    if len(people) > MOST_AT_ONCE:
        wrong.append(f"{len(people):,} people; at most {MOST_AT_ONCE:,} at once. Split the list.")
    if wrong:
        more = f"\nand {len(wrong) - 10} more lines" if len(wrong) > 10 else ""
        raise NotInvited("\n".join(wrong[:10]) + more + "\nNobody was invited.")
    if not people:
        raise NotInvited("The list is empty. Enter one person per line: ID, email address, name.")
    return list(people.values())


def _entries(text: str) -> Iterator[tuple[str, Person, str]]:
    """The place of each person in a list, the person, and what is wrong with the place or ""."""
    try:
        body = separated(text)[1]
        filled = (line for line in io.StringIO(body, newline=None) if line.strip(BLANK))
        if _names_columns(next(filled, "")):
            yield from _rows(text)
            return
    except TableError as error:
        lines = (f"{problem[0].upper()}{problem[1:]}." for problem in error.problems)
        raise NotInvited("\n".join([*lines, "Nobody was invited."])) from None
    for n, line in enumerate(io.StringIO(text, newline=None), start=1):
        if not line.strip(BLANK):
            continue
        place = f"Line {n}"
        if persons := _mailboxes(line):
            yield from ((place, person, "") for person in persons)
            continue
        try:
            cells = _cells(line)
        except csv.Error:
            yield place, Person(""), OPEN_QUOTE
            continue
        yield place, _person(cells), TOO_MANY if any(cells[3:]) else ""


def _names_columns(line: str) -> bool:
    """Whether the first line of a list names its columns: ids or addresses are one of them."""
    separator = next((each for each in SEPARATORS if each in line), ",")
    try:
        return any(COLUMNS.get(cell.lower(), "name") != "name" for cell in _by(separator, line))
    except csv.Error:
        return False


def _rows(text: str) -> Iterator[tuple[str, Person, str]]:
    """The people of a table whose first row names the columns; TableError where it is none."""
    table = read_table(
        _BLANKS_BEFORE_QUOTE.sub(lambda found: found[1] or found[2], text),
        short_rows=True,
        most_rows=MOST_AT_ONCE,
    )
    names = [COLUMNS.get(name.lower(), "") for name in table.layout.names]
    for field in {*names} - {""}:
        if names.count(field) > 1:
            same = [c for c, name in zip(table.layout.names, names, strict=True) if name == field]
            row = table.layout.header_row
            raise TableError(f"row {row}: {some(same)} hold the same; keep one of them")
    for number, cells in zip(table.numbers, table.rows, strict=True):
        yield f"Row {number}", _named_person(names, cells), ""


def _person(cells: list[str]) -> Person:
    """The person of a line: id, address, name; or address, name."""
    starts_with_address = _is_address(cells[0]) and not _is_address("".join(cells[1:2]))
    names = ["email", "name"] if starts_with_address else ["own_id", "email", "name"]
    return _named_person(names, cells)


def _named_person(names: list[str], cells: list[str]) -> Person:
    own = {name: cell.strip() for name, cell in zip(names, cells, strict=False) if name}
    email = own.get("email", "")
    return Person(own.get("own_id") or email.lower(), email, " ".join(own.get("name", "").split()))


def _mailboxes(line: str) -> list[Person]:
    """The people of a line that has addresses alone, as mail programs write them; else nobody.

    Such as ``ada@example.org; "Doe, Jane" <jane@example.org>``.
    """
    line = line.strip()
    if line.count('"') % 2:
        return []
    for pieces in ([line], _BY_SEMICOLON.findall(line), _BY_COMMA.findall(line)):
        found = [_MAILBOX.fullmatch(piece.strip()) for piece in pieces if piece.strip()]
        people = [
            Person(each[2].lower(), each[2], (each[1] or "").strip(' "'))
            for each in found
            if each and _is_address(each[2])
        ]
        if people and len(people) == len(found):
            return list(dict.fromkeys(people))
    return []


def _cells(line: str) -> list[str]:
    """The cells of one line, by the separator that leaves an address; lists mix them.

    Raises csv.Error where a quote is not closed.
    """
    read: list[list[str]] = []
    failure: csv.Error | None = None
    for separator in [each for each in SEPARATORS if each in line] or [","]:
        try:
            read.append(_by(separator, line))
        except csv.Error as error:
            failure = error
    fitting = next(filter(_has_address, read), None)
    if fitting is None and failure:
        raise failure
    return fitting or read[0]


def _by(separator: str, line: str) -> list[str]:
    rows = csv.reader([line.strip()], delimiter=separator, skipinitialspace=True, strict=True)
    return [cell.strip() for cell in next(rows, [])]


def _has_address(cells: list[str]) -> bool:
    fits = len(cells) > 1 and not any(cells[3:])
    return fits and (not cells[1] or any(map(_is_address, cells[:2])))


def _is_address(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return True


def _problem_of(person: Person, before: Mapping[str, Person], addresses: Set[str]) -> str:
    for what, value in (("id", person.own_id), ("name", person.name)):
        if not value.isprintable() or len(value) > LONGEST_ID:
            return f"the {what} is longer than {LONGEST_ID} characters, or has control characters."
    if not person.own_id:
        return "the id or email address is missing."
    if not person.email and "@" in person.own_id and not set(BLANK).isdisjoint(person.own_id):
        return f"“{person.own_id}” is more than an address. Separate all cells in the same way."
    if person.own_id in before:
        return f"“{person.own_id}” is in the list twice."
    if person.email and not _is_address(person.email):
        return f"“{person.email}” is not an email address."
    if person.email and person.email.casefold() in addresses:
        return f"“{person.email}” is in the list twice."
    return ""


def invitation_named(study: Study, source: Source | None, code: str) -> Invitation | None:
    if source is None or not code:
        return None
    return Invitation.objects.filter(study=study, source=source.key, code=code).first()


def proofs_of(invitation: Invitation) -> tuple[str, ...]:
    """What the invited person knows beside the link, which may have been passed on."""
    return (invitation.email or invitation.own_id,)


def note_begun(study: Study, code: str, session: Session) -> None:
    """The invitation, if there is one, has led to this session."""
    if code:
        Invitation.objects.filter(study=study, code=code).update(session=session, declined=False)


def note_declined(study: Study, code: str) -> None:
    """Who said no is not reminded."""
    if code:
        Invitation.objects.filter(study=study, code=code, session=None).update(declined=True)


# --- Mail ----------------------------------------------------------------------------------------


def may_be_mailed(study: Study, source: str, *, reminder: bool) -> QuerySet[Invitation]:
    """Who gets the next mail: not yet invited; or invited, not begun, not declined, not too often.

    Whose mail was under way when the server stopped may have it: they get no second invitation.
    """
    waiting = Invitation.objects.filter(study=study, source=source, session=None, declined=False)
    waiting = waiting.exclude(email="")
    if not reminder:
        return waiting.filter(begun_sending_at=None)
    since = timezone.now() - BETWEEN_MAILS
    return waiting.filter(begun_sending_at__lt=since, mails__lt=MOST_MAILS)


def check_text(subject: str, text: str) -> None:
    if not subject.strip() or "\n" in subject or "\r" in subject or len(subject) > 200:
        raise NotInvited("The subject is one line of 1 to 200 characters.")
    if "{link}" not in text:
        raise NotInvited("The text lacks {link}: nobody could take part.")
    if len(text) > 10_000:
        raise NotInvited("The text has more than 10,000 characters. Shorten it.")


def send(pk: int, subject: str, text: str, *, reminder: bool) -> bool:
    """One mail, at most once: it is noted before it is sent, and taken back if it was refused."""
    invitation = Invitation.objects.select_related("study").filter(pk=pk).first()
    if invitation is None:
        return False  # taken off the list, or erased
    waiting = may_be_mailed(invitation.study, invitation.source, reminder=reminder)
    before = invitation.begun_sending_at
    claimed = waiting.filter(pk=pk, begun_sending_at=before)
    if not claimed.update(begun_sending_at=timezone.now(), mails=F("mails") + 1, problem=""):
        return False  # sent meanwhile, or begun
    words = text.replace("{title}", invitation.study.title).replace("{link}", link_of(invitation))
    words = words.replace("{name}", invitation.name)
    server = get_connection(**settings.EARNEST_MAIL)
    mail = EmailMessage(
        subject, words, settings.DEFAULT_FROM_EMAIL, [invitation.email], connection=server
    )
    mine = Invitation.objects.filter(pk=pk)
    try:
        mail.send()
    except (OSError, SMTPException) as error:
        log.warning("Invitation %s could not be sent: %s", pk, error)
        problem = f"The mail server said: {error}"[:300]
        mine.update(begun_sending_at=before, mails=F("mails") - 1, problem=problem)
        return False
    mine.update(sent_at=timezone.now())
    return True


def as_csv(study: Study, source: str) -> str:
    """Id, name, address, link and state of each, for the mail merge of a mail program.

    It begins with a byte order mark: else Excel takes UTF-8 for Windows-1252.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["id", "name", "email", "link", "state"])
    for each in invitations_of(study, source):
        cells = (each.own_id, each.name, each.email)
        writer.writerow([*map(safe_cell, cells), link_of(each), state_of(each)])
    return "\ufeff" + out.getvalue()


def invitations_of(study: Study, source: str) -> QuerySet[Invitation]:
    rows = Invitation.objects.filter(study=study, source=source)
    return rows.select_related("session", "study")


def state_of(invitation: Invitation) -> str:
    if invitation.session is not None:
        return {"started": "begun", "expired": "left"}.get(
            invitation.session.status, invitation.session.status.replace("screened", "screened out")
        )
    if invitation.declined:
        return "declined"
    if invitation.sent_at:
        return "reminded" if invitation.mails > 1 else "invited"
    return "sending, or unknown" if invitation.begun_sending_at else "not invited by email"


def counts_of(study: Study, source: str) -> dict[str, int]:
    rows = Invitation.objects.filter(study=study, source=source)
    return {
        "all": rows.count(),
        "with_mail": rows.exclude(email="").count(),
        "to_invite": may_be_mailed(study, source, reminder=False).count(),
        "to_remind": may_be_mailed(study, source, reminder=True).count(),
        "begun": rows.filter(~Q(session=None)).count(),
        "finished": rows.filter(session__status=Session.Status.FINISHED).count(),
    }
