"""The settings of the test run: those of the house, with data, keys and names of its own."""

import fcntl
import os
import shutil
from pathlib import Path

# Tests never touch the demo's data: without EARNEST_VAR they keep theirs in var/test.
os.environ.setdefault("EARNEST_VAR", str(Path(__file__).resolve().parent.parent / "var" / "test"))
os.environ.setdefault("EARNEST_ENTRIES_PER_HOUR", "1000000")  # all raters of a run have one address

from config.settings import *  # noqa: F403
from config.settings import CACHES, CHANNEL_LAYERS, DATABASES, EARNEST_VAR


def _take_slot() -> int:
    """A number that no other running test process has; the kernel gives it back at exit."""
    slot = 0
    while True:
        handle = os.open(EARNEST_VAR / f"test-slot-{slot}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return slot
        except BlockingIOError:
            os.close(handle)
            slot += 1


TEST_SLOT = _take_slot()
DATABASES["default"]["TEST"] = {"NAME": f"test_earnest_{TEST_SLOT}"}
CACHES["default"]["KEY_PREFIX"] = f"test-{TEST_SLOT}"
CHANNEL_LAYERS["default"]["CONFIG"] |= {"prefix": f"test-channels-{TEST_SLOT}"}
MEDIA_ROOT = EARNEST_VAR / f"test-media-{TEST_SLOT}"
shutil.rmtree(MEDIA_ROOT, ignore_errors=True)  # of an earlier run
MEDIA_ROOT.mkdir(exist_ok=True)
STORAGES = {
    "default": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": str(MEDIA_ROOT)},
    },
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = True
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
