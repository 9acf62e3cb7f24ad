"""Figures to draw: one of every kind as papers have them, and such as break drawings."""

from __future__ import annotations

from dataclasses import replace
from math import sin

from analysis.report.content import Figure

KEYS = ("name", "value", "low", "high", "naive_low", "naive_high")
SYSTEMS = ("Human", "CosyVoice 2", "F5-TTS", "Fish Speech 1.5", "MaskGCT", "XTTS v2", "VITS")
LONG = "A condition whose name is so long that no line of a phone can hold all of it"
CHINESE = "系统甲：多音字与儿化音（普通话，女声）很长的名字"
SCRIPTS = {  # names of systems in scripts that DejaVu Sans lacks, or that run right to left
    "Arabic": "قارئ بشري",
    "Hebrew": "קורא אנושי",
    "Chinese": "系统甲 普通话",
    "Japanese": "日本語の音声 カナ",
    "Korean": "한국어 합성",
    "Thai": "ระบบเสียงพูด ที่นี่",
    "Hindi": "हिन्दी स्वर",
}


def interval_rows(*lines):
    return [dict(zip(KEYS, line, strict=False)) for line in lines]


def means(names, width=0.05):
    """Falling means with intervals and naive ones."""
    values = [0.92 - 0.8 * n / max(len(names), 1) for n in range(len(names))]
    return [
        {
            "name": name,
            "value": v,
            "low": v - width,
            "high": v + width,
            "naive_low": v - width / 2,
            "naive_high": v + width / 2,
            "mark": "abcdefg"[n // 2 % 7],
        }
        for n, (name, v) in enumerate(zip(names, values, strict=True))
    ]


INTERVALS = Figure(
    "means", "HLS with tiers", "intervals", means(SYSTEMS), x="HLS", ends=(0, 1), note="Tiers."
)
SCATTER = Figure(
    "bias",
    "Bias and inconsistency",
    "scatter",
    [
        {"name": name, "x": n / 3, "y": sin(n) + n / 4, "group": "en" if n % 2 else "zh"}
        for n, name in enumerate(SYSTEMS)
    ],
    x="Mean metric",
    y="MOS",
    at=(0.0,),
)
LINES = Figure(
    "power",
    "Power by the number of raters",
    "lines",
    [
        {
            "group": f"difference {d}",
            "x": n,
            "y": 1 - 1 / (1 + d * n / 10),
            "low": max(0, 0.93 - 1 / (1 + d * n / 10)),
            "high": min(1, 1.07 - 1 / (1 + d * n / 10)),
        }
        for d in (0.1, 0.2, 0.5, 1.0)
        for n in range(10, 110, 10)
    ],
    x="Raters",
    y="Power",
    ends=(0, 1),
    at=(0.8,),
)
HEATMAP = Figure(
    "cells",
    "HLS by condition and dimension",
    "heatmap",
    [
        {"row": name, "column": column, "value": None if r == c else 0.5 + 0.45 * sin(r + 2 * c)}
        for r, name in enumerate(SYSTEMS)
        for c, column in enumerate(
            ("dialect", "numbers", "polyphones", "prosody", "special", "多音字")
        )
    ],
    x="Dimension",
    y="Condition",
    ends=(0, 1),
)
SIGNED = replace(
    HEATMAP,
    key="signed",
    rows=[{**row, "value": row["value"] and row["value"] - 0.5} for row in HEATMAP.rows],
    ends=None,
    at=(0.0,),
)
SHARES = Figure(
    "shares",
    "Labels given",
    "shares",
    [
        {"name": name, "label": label, "value": share}
        for n, name in enumerate(SYSTEMS)
        for label, share in (
            ("Human", 0.9 - n / 10),
            ("Unclear", 0.06),
            ("Machine", 0.04 + n / 10),
        )
    ],
    x="Share of the ratings, %",
)
BOXES = Figure(
    "speed",
    "Seconds per rating",
    "boxes",
    [
        {
            "name": name,
            "low": 2 + n / 2,
            "q1": 4 + n / 2,
            "median": 6 + n / 2,
            "q3": 9 + n,
            "high": 20 + n,
            "value": 7 + n,
        }
        for n, name in enumerate(SYSTEMS)
    ],
    x="Seconds",
)
RADAR = Figure(
    "challenge",
    "Acoustics challenge",
    "radar",
    [
        {"group": system, "name": name, "value": 1.5 + (3 * n + m) % 7 / 2}
        for n, system in enumerate(SYSTEMS[:4])
        for m, name in enumerate(("Timbre", "Reverb", "Fidelity", "Content", "Prosody", "Richness"))
        if n or m != 2
    ],
    ends=(1.0, 5.0),
)
BARS = Figure(
    "counts",
    "Clips per condition",
    "bars",
    [{"name": name, "value": 12 * n} for n, name in enumerate(SYSTEMS)],
    x="Clips",
)
HISTOGRAM = Figure(
    "lengths",
    "Length of texts",
    "histogram",
    [
        {"group": group, "low": low, "high": low + 50, "value": low % 150 / 10 + n, "mean": 180.5}
        for n, group in enumerate(("en, words", "zh, characters"))
        for low in range(50, 500, 50)
    ],
    x="Words or characters",
    y="Texts",
)
EVERY = [INTERVALS, SCATTER, LINES, HEATMAP, SHARES, BOXES, RADAR, BARS, HISTOGRAM]
CATEGORIES = replace(
    LINES,
    key="names",
    rows=[
        {"group": g, "x": x, "y": n + m / 3}
        for m, g in enumerate((LONG, CHINESE))
        for n, x in enumerate(("isolation", "paragraph", "dialogue", LONG, CHINESE))
    ],
    ends=None,
    at=(),
)
_WEIRD = [LONG, CHINESE, "<script>alert(1)</script>", "x onload=1", "a\x00b\x1f", "", "=1+1"]
_SIXTY = [f"condition {n:02d}" for n in range(58)] + [LONG, CHINESE]


def _renamed(figure, names, key="name"):
    old = list(dict.fromkeys(row[key] for row in figure.rows))
    return [{**row, key: names[old.index(row[key]) % len(names)]} for row in figure.rows]


def _holes(figure, keys):
    return [
        {k: (None if k in keys and n % 3 != 1 else v) for k, v in row.items()}
        for n, row in enumerate(figure.rows)
    ]


_NUMBERS = ("value", "low", "high", "q1", "median", "x", "y")
NAUGHTY = [
    *EVERY,
    SIGNED,
    CATEGORIES,
    *(replace(figure, key="none", rows=[]) for figure in EVERY),
    *(replace(figure, key="one", rows=figure.rows[:1], ends=None) for figure in EVERY),
    *(
        replace(f, key="weird", rows=_renamed(f, _WEIRD))
        for f in (INTERVALS, SCATTER, SHARES, BOXES, BARS)
    ),
    replace(LINES, key="weird", rows=_renamed(LINES, _WEIRD, "group")),
    replace(HEATMAP, key="weird", rows=_renamed(HEATMAP, _WEIRD, "row")),
    *(replace(figure, key="holes", rows=_holes(figure, _NUMBERS)) for figure in EVERY),
    replace(INTERVALS, key="equal", rows=[dict(INTERVALS.rows[0], low=0.9, high=0.9)], ends=None),
    replace(INTERVALS, key="sixty", rows=means(_SIXTY)),
    replace(
        SCATTER,
        key="sixty",
        rows=[{"name": name, "x": n % 7, "y": n} for n, name in enumerate(_SIXTY)],
    ),
    replace(
        HEATMAP,
        key="sixty",
        rows=[
            {"row": r, "column": c, "value": (m + n) / 118}
            for m, r in enumerate(_SIXTY)
            for n, c in enumerate(_SIXTY)
        ],
    ),
]
