"""Links by which people set the password of their account: mailed, or printed by a command."""

from __future__ import annotations

import logging
from smtplib import SMTPException
from typing import Any

from django.conf import settings
from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.tokens import default_token_generator
from django.core.mail import EmailMessage, get_connection
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from listening.common.addresses import public

log = logging.getLogger(__name__)


class LinkByMail(PasswordResetForm):
    """Sends by the server that EARNEST_MAIL names; the page says the same whatever comes of it."""

    def send_mail(
        self,
        subject_template_name: str,
        email_template_name: str,
        context: dict[str, Any],
        from_email: str | None,
        to_email: str,
        html_email_template_name: str | None = None,
    ) -> None:
        subject = render_to_string(subject_template_name, context).strip()
        words = render_to_string(email_template_name, context)
        server = get_connection(**settings.EARNEST_MAIL)
        mail = EmailMessage(
            subject, words, settings.DEFAULT_FROM_EMAIL, [to_email], connection=server
        )
        try:
            mail.send()
        except (OSError, SMTPException) as error:
            log.error("A link for a lost password could not be sent: %s", error)


def password_link(user: Any) -> str:
    """Works until the password is set, or the account logs in, or its days are over."""
    who = urlsafe_base64_encode(force_bytes(user.pk))
    path = reverse("password-set", args=[who, default_token_generator.make_token(user)])
    return public(path)


def link_instructions(link: str) -> str:
    days = settings.PASSWORD_RESET_TIMEOUT // 86_400
    return f"Link to set a password. It works once, for anyone, within {days} days:\n{link}"
