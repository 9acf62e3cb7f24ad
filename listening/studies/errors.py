"""What goes wrong with a study as a whole, in words for its researcher."""


class StudyError(ValueError):
    """What was asked cannot be done with this study; the message says why, and what to do."""
