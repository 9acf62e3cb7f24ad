"""Scripted raters with known opinions, who take a study through its real pages."""

from listening.sessions.simulated_raters.opinions import (
    KnownClip,
    Opinions,
    Spread,
    Truth,
    drawn_qualities,
)
from listening.sessions.simulated_raters.scripted_rater import (
    Kind,
    Shares,
    Summary,
    planned_kinds,
    send_crowd,
)
