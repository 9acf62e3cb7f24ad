"""A simulated study of NVV-SuperBench's design, with the means of its Table 4 as truth.

    python -m tests.analysis.simulated_nvv      writes tests/data/analysis/nvv_s1.csv.gz

Two tasks (tags, captions) with five criteria each, two languages, six kinds of vocalisation of
which each system supports some, eight ratings per clip; and CMOS of a system with against without
vocalisations. Raters differ in leniency, clips in quality.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from random import Random
from typing import Any

from tests.analysis.reference import DATA

FILE = DATA / "nvv_s1.csv.gz"
KINDS = ("breath", "laughter", "sigh", "cough", "gasp", "crying")
CLIPS, RATINGS, RATERS = 3, 8, 24
TAGS = ("naturalness", "quality", "nvv_effect", "nvv_accuracy", "expression")
CAPTIONS = ("naturalness", "quality", "nvv_effect", "instruction", "nvv_instruction")
MEANS = {  # as in the paper's table, rounded: language, system, means of the five criteria
    "tags": {
        ("en", "ElevenLabs"): (4.1, 4.2, 3.6, 3.7, 3.9),
        ("en", "Gemini"): (4.2, 4.1, 3.4, 3.5, 3.9),
        ("en", "Dia"): (3.2, 3.3, 2.6, 2.7, 3.0),
        ("zh", "ElevenLabs"): (3.9, 4.0, 3.2, 3.3, 3.7),
        ("zh", "Gemini"): (4.0, 4.1, 3.1, 3.3, 3.8),
        ("zh", "Dia"): (2.9, 3.1, 2.2, 2.4, 2.7),
    },
    "captions": {
        ("en", "Parler-Large"): (2.7, 3.4, 0.9, 2.5, 1.0),
        ("en", "Parler-Mini"): (2.6, 3.4, 1.0, 2.4, 1.0),
        ("zh", "Parler-Large"): (2.5, 3.2, 0.8, 2.3, 0.9),
        ("zh", "Parler-Mini"): (2.4, 3.1, 0.9, 2.2, 0.9),
    },
}
UNSUPPORTED = {("Dia", "crying"), ("Dia", "gasp"), ("Gemini", "cough")}
CMOS = {
    ("en", "ElevenLabs"): (0.65, 0.59, 0.93),
    ("en", "Gemini"): (-0.24, -0.18, 0.05),
    ("zh", "ElevenLabs"): (0.33, 0.25, 0.52),
    ("zh", "Gemini"): (-0.14, -0.33, 0.05),
}
COMPARED = ("naturalness", "quality", "expressiveness")


def rows() -> Iterator[dict[str, Any]]:
    """The ratings, always the same."""
    chance = Random("nvv_s1")
    for task, systems in MEANS.items():
        criteria = TAGS if task == "tags" else CAPTIONS
        for (language, system), means in systems.items():
            leaning = {r: chance.gauss(0, 0.3) for r in range(RATERS)}
            for kind in KINDS:
                if (system, kind) in UNSUPPORTED:
                    continue
                for clip in range(CLIPS):
                    own = chance.gauss(0, 0.25)
                    for r in sorted(chance.sample(range(RATERS), RATINGS)):
                        for criterion, mean in zip(criteria, means, strict=True):
                            low = 0 if criterion.startswith("nvv") else 1
                            score = mean + leaning[r] + own + chance.gauss(0, 0.8)
                            yield {
                                "task": task,
                                "method": "mos",
                                "estimand": "mos",
                                "criterion": criterion,
                                "rater": f"{language}{r:02}",
                                "language": language,
                                "condition": system,
                                "dimension": kind,
                                "item": f"{language}-{kind}-{clip}",
                                "stimulus": f"{system}-{language}-{kind}-{clip}",
                                "score": min(5, max(low, round(score))),
                            }
    yield from _pairs(chance)


def _pairs(chance: Random) -> Iterator[dict[str, Any]]:
    for (language, system), means in CMOS.items():
        for clip in range(12):
            own = chance.gauss(0, 0.3)
            for r in sorted(chance.sample(range(RATERS), RATINGS)):
                for criterion, mean in zip(COMPARED, means, strict=True):
                    score = min(3, max(-3, round(mean + own + chance.gauss(0, 0.9))))
                    yield {
                        "task": "with-against-without",
                        "method": "cmos",
                        "estimand": "cmos",
                        "criterion": criterion,
                        "rater": f"{language}{r:02}",
                        "language": language,
                        "condition": system,
                        "versus_condition": f"{system}-without",
                        "dimension": "",
                        "item": f"{language}-{clip}",
                        "stimulus": f"{system}-{language}-{clip}",
                        "versus_stimulus": f"{system}-without-{language}-{clip}",
                        "score": score,
                    }


def text() -> str:
    buffer = io.StringIO()
    names = ["task", "method", "estimand", "criterion", "rater", "language", "condition"]
    names += ["versus_condition", "dimension", "item", "stimulus", "versus_stimulus", "score"]
    writer = csv.DictWriter(buffer, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows())
    return buffer.getvalue()


if __name__ == "__main__":
    FILE.write_bytes(gzip.compress(text().encode(), mtime=0))
