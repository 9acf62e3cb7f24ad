"""Names of audio files: those that are no text, and things that only look like files."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def escape_path(path: Path | str) -> str:
    """The path as text that can be printed and stored: bytes that are no UTF-8 as \\xe9.

    Linux allows any bytes in a name; Python holds those that are no UTF-8 as lone surrogates.
    """
    text = os.fspath(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        return os.fsencode(text).decode("utf-8", "backslashreplace")
    return text


def why_no_file(path: Path | str) -> str:
    """Why no sound can be read from this place; empty when it is a plain file."""
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            os.scandir(path).close()
    except FileNotFoundError:
        if os.path.islink(path):
            target = escape_path(os.readlink(path))
            return f"is a link to {target}, which is not there; mend or delete it"
        return "there is no such file; look for a slip in its name"
    except OSError as error:
        return unreadable(error)
    if stat.S_ISREG(mode):
        return ""
    kinds = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
    what = next((name for test, name in kinds if test(mode)), "a device")
    return f"is {what}, not a file; rename it, or leave it out"


def unreadable(error: OSError) -> str:
    """That a file or folder cannot be read, why, and what to do."""
    if isinstance(error, PermissionError):
        return f"cannot be read ({error.strerror}); let this user read it"
    return f"cannot be read ({error.strerror}); copy it again from its source"


def printable(path: Path | str) -> str:
    """The path for a line on a terminal: what would break the line or steer it, as \\n or \\x1b."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in escape_path(path))
