"""What can be done about a score that is not there, by its reason."""

from __future__ import annotations

REMEDIES = (  # the first whose words are in the reason
    ("channels cancel", "Turn one channel round, or save one alone, and import the clip again."),
    ("reference audio itself", "Nothing to do: others are compared with it."),
    ("no stimulus or file", "Name a stimulus, or its file, in the column reference_audio."),
    ("too short", "Nothing to do: this clip is shorter than the metric needs."),
    ("silen", "Listen to the clip; if it should not be silent, make it again and import it."),
    ("no weights", "Put the files where the reason says, or let this machine fetch them."),
    ("no package", "Install the package on the machines that score, then score again."),
    ("out of memory", "Score again with fewer programs running, on a larger machine, or cut it."),
    ("nan or infinity", "Export the clip again, as 16 or 24 bit, and import it again."),
    ("has changed", "Import the study again: the file is no longer the one that was imported."),
    ("no such file", "Put the file back; workers on other machines must see the same media store."),
    ("no audio that can be read", "Save the clip as WAV or FLAC and import it again."),
    ("broken audio", "Save the clip as WAV or FLAC and import it again."),
    ("no text", "Give the items their texts in the study folder."),
    ("no caption", "Give the stimuli a column caption in the study folder."),
    ("no language", "Give the study or its items a language."),
    ("no turns", "Give the stimuli a column turns (A 0-1.5; B 2-3) in the study folder."),
    ("no reference audio", "Add a condition with the role reference, or a column reference_audio."),
    ("no reference", "Add a condition with the role reference."),
    ("offline", "Put the files where the reason says, or set EARNEST_OFFLINE=0."),
)
UNKNOWN_FAILED = "Look into the worker's log, then score again: failed scores are tried anew."


def remedy(reason: str, failed: bool = False) -> str:
    """What to do about a score without a value; empty where nothing is known."""
    said = reason.lower()
    for words, what in REMEDIES:
        if words in said:
            return what
    return UNKNOWN_FAILED if failed else ""
