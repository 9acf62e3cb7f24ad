"""How a command is typed here: `python manage.py` in a clone, `earnest` where a wheel is.

Messages, hints and pages all ask here; templates do so by the tag `program`.
"""

from __future__ import annotations

from pathlib import Path

CODE = Path(__file__).resolve().parents[2]
IN_A_CLONE = (CODE / "templates").is_dir()
# In a wheel, templates, static files, words, demo and docs have a folder beside the code.
FILES = CODE if IN_A_CLONE else CODE / "earnest_files"
PROGRAM = "python manage.py" if IN_A_CLONE else "earnest"
START = "make run" if IN_A_CLONE else "earnest"
OF_THE_DOCUMENTATION = "Where the documentation says manage.py, type earnest in its place."


def command(words: str) -> str:
    """What a person types: `command("plan --help")`."""
    return f"{PROGRAM} {words}"


def as_typed_here(text: str) -> str:
    """A file that comes along, such as a preset, with its commands as they are typed here."""
    return text.replace("manage.py ", f"{PROGRAM} ")
