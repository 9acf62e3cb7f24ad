"""The small simulated Audio Turing Test (att_s2) as a file of ratings, as an export writes it.

python -m tests.analysis.att_study      writes tests/data/analysis/att_study.csv.gz
"""

from __future__ import annotations

import gzip

from analysis.ratings.cells import csv_lines
from analysis.ratings.table import from_rows, to_rows
from tests.analysis.reference import DATA, att_rows

FILE = DATA / "att_study.csv.gz"


def text() -> str:
    return "".join(csv_lines(to_rows(from_rows(att_rows("att_s2")))))


if __name__ == "__main__":
    FILE.write_bytes(gzip.compress(text().encode(), mtime=0))
