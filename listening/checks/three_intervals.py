"""What the checks share that play three sounds in a row and ask which one differs."""

from listening.checks.check import CheckOption
from listening.methods.method import gettext_noop

PLACES = ("first", "second", "third")
WHICH = (
    CheckOption("first", gettext_noop("The first"), "1"),
    CheckOption("second", gettext_noop("The second"), "2"),
    CheckOption("third", gettext_noop("The third"), "3"),
)
INTERVAL_S = 1.0
PAUSE_S = 0.5
EDGE_S = 0.1  # silence before and after, so that no loudspeaker swallows the start
