"""The pages of a start: imported while it is prepared, and not answering before that has ended."""

import time

from config.prepared import result_file
from config.web import application  # noqa: F401  # what granian serves

LOOK_EVERY_S = 0.02

while not result_file().exists():
    time.sleep(LOOK_EVERY_S)
