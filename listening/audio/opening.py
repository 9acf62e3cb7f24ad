"""A file of sound opened by whichever reader knows its format."""

from __future__ import annotations

from pathlib import Path

import soundfile

from listening.audio.sources import AudioError, PlainSource, Source


def opened(path: Path) -> Source:
    """The file, open for reading, if it is in a format that is accepted."""
    try:
        return PlainSource(path)
    except (soundfile.LibsndfileError, TypeError, ValueError, OSError) as error:
        if isinstance(error, AudioError):
            raise
    from listening.audio.containers import ContainerSource  # FFmpeg: most studies never need it

    return ContainerSource(path)
