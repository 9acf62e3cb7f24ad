"""Colours that colour-blind people can tell apart, with the signs that say the same without them.

Series after Okabe and Ito (2008), "Color universal design", darkened on white and lightened on
black until they stand out 3 to 1 from the ground (WCAG 2.2, 1.4.11). Shades after viridis (Smith
and van der Walt 2015), for signed values a blue and an orange that meet in white.
"""

from __future__ import annotations

from collections.abc import Sequence

LIGHT = ("#0072b2", "#c2500a", "#00805c", "#a8477f", "#7d6608", "#3d4247")
DARK = ("#56b4e9", "#f0924c", "#2fc79a", "#e19ac2", "#e9d94a", "#c9ccd0")
DASHES = ("", "6 3", "2 3", "8 3 2 3")
SIGNS = (  # one path each, about one unit from the middle; scaled and moved
    "M-1 0A1 1 0 1 0 1 0A1 1 0 1 0 -1 0Z",
    "M-.9 -.9H.9V.9H-.9Z",
    "M0 -1.15L1.05 .8H-1.05Z",
    "M0 -1.25L1.25 0L0 1.25L-1.25 0Z",
    "M0 1.15L1.05 -.8H-1.05Z",
    "M-.4 -1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1V-.4H-.4Z",
)
MUTED = ("plot-tick", "plot-legend", "plot-axis")  # classes of text
BOLD = ("plot-mark", "plot-group")
TINT = 0.16  # opacity of what has no fill of its own
VIRIDIS = (
    "#440154",
    "#482878",
    "#3e4989",
    "#31688e",
    "#26828e",
    "#1f9e89",
    "#35b779",
    "#6ece58",
    "#b5de2b",
    "#fde725",
)
SIGNED = ("#0a4f86", "#3f86bd", "#9cc5e3", "#f4f4f2", "#f5bd85", "#d97b28", "#8f4306")
_BLACK, _WHITE = "#000000", "#ffffff"  # one of both has 4.5 to 1 on every colour


def _classes(colours: Sequence[str]) -> str:
    return "".join(f".plot .series-{n}{{color:{c}}}" for n, c in enumerate(colours, start=1))


STYLE = (
    ".plot{font-family:system-ui,sans-serif}"
    f".{',.'.join(BOLD)}{{font-weight:600}}.{',.'.join(MUTED)}{{fill-opacity:.75}}"
    ".plot-quartiles{fill:currentColor;fill-opacity:.16}"
    f"{_classes(LIGHT)}@media (prefers-color-scheme:dark){{{_classes(DARK)}}}"
)
PAGE_STYLE = (
    ".plots{display:grid;gap:1.5rem 2rem;align-items:start;"
    "grid-template-columns:repeat(auto-fill,minmax(min(22rem,100%),1fr))}"
    ".plots .chart{min-width:0;max-width:30rem}.plots .chart-wide{grid-column:1/-1;max-width:none}"
    ".chart figcaption{font-weight:600;margin-bottom:.5rem;overflow-wrap:anywhere}"
    ".plot-scroll{overflow-x:auto}" + STYLE
)


def dash(number: int) -> str:
    """The dashes of the series with that number: four, another one whenever colours repeat."""
    return DASHES[(number + number // len(LIGHT)) % len(DASHES)]


def shade(share: float, signed: bool = False) -> str:
    """The colour (#rrggbb) of a share of 0 to 1; signed ones have white at one half."""
    anchors = SIGNED if signed else VIRIDIS
    place = min(max(share, 0.0), 1.0) * (len(anchors) - 1)
    first = min(int(place), len(anchors) - 2)
    low, high = _channels(anchors[first]), _channels(anchors[first + 1])
    mixed = [a + (b - a) * (place - first) for a, b in zip(low, high, strict=True)]
    return "#" + "".join(f"{round(channel):02x}" for channel in mixed)


def ink_on(ground: str) -> str:
    """Black or white, whichever is easier to read on that colour."""
    return max((_BLACK, _WHITE), key=lambda ink: contrast(ink, ground))


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, 1 to 21 (WCAG 2.2)."""
    dark, bright = sorted((_luminance(one), _luminance(other)))
    return (bright + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    shares = [channel / 255 for channel in _channels(colour)]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _channels(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
