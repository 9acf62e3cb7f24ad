"""People whom the researcher knows by ids or email addresses: a lab's panel, or a mailing list."""

from listening.design.providers.provider import Provider


class Panel(Provider):
    key = "panel"
    title = "Own panel"
    order = 3
    participant = "participant"
    placeholders = {"participant": "YOUR-ID"}
    own_ids = True
    invitations = True
