"""People of a panel invited: a list read, mails and reminders sent once each, and who has come."""

from __future__ import annotations

import csv
import io
import logging
from collections.abc import Mapping
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
from listening.common.spreadsheets import safe_cell
from listening.design.sources import INVITATION, PARAMETER, Source
from listening.models import Invitation, Session, Study

LONGEST_ID = 100
SEPARATORS = "\t;,"  # between id and address, in each line the one that fits
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


def invite(study: Study, source: Source, text: str) -> tuple[int, int]:
    """Invitations for a list, one person a line: own id, email address and name.

    An address alone is enough, and a first line may name the columns. Gives how many are new, and
    how many were invited before (a new address or name replaces theirs). NotInvited lists every
    line that is wrong; then nobody is invited.
    """
    people = _people(text)
    new = 0
    with transaction.atomic():
        for person in people:
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
    return new, len(people) - new


def _people(text: str) -> list[Person]:
    people: dict[str, Person] = {}
    wrong: list[str] = []
    header: tuple[str, list[str]] | None = None
    for n, line in enumerate(text.lstrip("\ufeff").splitlines(), start=1):
        if n == 1 and (header := _header(line)):
            continue
        cells = _by(header[0], line) if header else _cells(line)
        if not any(cells):
            continue
        person = _person(cells, header[1] if header else None)
        if problem := _problem_of(person, cells if header is None else [], people):
            wrong.append(f"Line {n}: {problem}")
        else:
            people[person.own_id] = person
    if len(people) > MOST_AT_ONCE:
        wrong.append(f"{len(people):,} people; at most {MOST_AT_ONCE:,} at once. Split the list.")
    if wrong:
        more = f"\nand {len(wrong) - 10} more lines" if len(wrong) > 10 else ""
        raise NotInvited("\n".join(wrong[:10]) + more + "\nNobody was invited.")
    if not people:
        raise NotInvited("The list is empty. Enter one person per line: ID, email address, name.")
    return list(people.values())


def _header(line: str) -> tuple[str, list[str]] | None:
    """The separator of a list and the names of its columns, where its first line has them."""
    separator = next((each for each in SEPARATORS if each in line), ",")
    names = [COLUMNS.get(cell.lower(), "") for cell in _by(separator, line)]
    return (separator, names) if names[0] or sum(map(bool, names)) > 1 else None


def _person(cells: list[str], names: list[str] | None) -> Person:
    if names is None:  # id, address, name; or address, name
        starts_with_address = _is_address(cells[0]) and not _is_address("".join(cells[1:2]))
        names = ["email", "name"] if starts_with_address else ["own_id", "email", "name"]
    own = {name: cell for name, cell in zip(names, cells, strict=False) if name}
    email = own.get("email", "")
    return Person(own.get("own_id") or email.lower(), email, own.get("name", ""))


def _cells(line: str) -> list[str]:
    """The cells of one line, by the separator that leaves an address; lists mix them."""
    read = [_by(separator, line) for separator in SEPARATORS if separator in line]
    return next(
        (cells for cells in read if _has_address(cells)), read[0] if read else [line.strip()]
    )


def _by(separator: str, line: str) -> list[str]:
    try:
        (row,) = csv.reader([line], delimiter=separator, skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):  # such as a quotation mark that is not closed
        row = line.split(separator)
    return [cell.strip() for cell in row]


def _has_address(cells: list[str]) -> bool:
    fits = len(cells) > 1 and not any(cells[3:])
    return fits and (not cells[1] or any(map(_is_address, cells[:2])))


def _is_address(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return True


def _problem_of(person: Person, cells: list[str], before: Mapping[str, Person]) -> str:
    for what, value in (("id", person.own_id), ("name", person.name)):
        if not value.isprintable() or len(value) > LONGEST_ID:
            return f"the {what} is longer than {LONGEST_ID} characters, or has control characters."
    if not person.own_id:
        return "the id or email address is missing."
    if person.own_id in before:
        return f"“{person.own_id}” is in the list twice."
    if any(cells[3:]):
        return "there are more than three columns. Keep ID, email address and name."
    if person.email and not _is_address(person.email):
        return f"“{person.email}” is not an email address."
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


def erase_people(study: Study) -> None:
    """Ids and addresses of a study's panel, when its raters are erased."""
    Invitation.objects.filter(study=study).delete()


def as_csv(study: Study, source: str) -> str:
    """Id, name, address, link and state of each, for the mail merge of a mail program."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["id", "name", "email", "link", "state"])
    for each in invitations_of(study, source):
        cells = (each.own_id, each.name, each.email)
        writer.writerow([*map(safe_cell, cells), link_of(each), state_of(each)])
    return out.getvalue()


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
