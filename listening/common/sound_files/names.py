"""Names of files: which endings are taken for sound, and which files no person put there."""

from __future__ import annotations

EXTENSIONS = (  # the first of these is used where one name has several
    *("wav", "rf64", "w64", "flac", "aif", "aiff", "aifc", "caf", "au", "snd"),
    *("ogg", "oga", "opus", "m4a", "m4b", "mp4", "webm", "mka", "mp3", "aac"),
)
SYSTEM_FILES = (".ds_store", "thumbs.db", "desktop.ini")  # of macOS and Windows, in small letters
SYSTEM_FOLDER = "__MACOSX"


def is_system_file(path: str) -> bool:
    """Whether macOS or Windows put this file beside others; its path has forward slashes.

    ``._clip.wav`` beside ``clip.wav`` holds what macOS knows of it, and no sound.
    """
    *folders, name = path.rstrip("/").split("/")
    return (
        name.startswith("._")
        or name.casefold() in SYSTEM_FILES
        or SYSTEM_FOLDER in (*folders, name)
    )
