"""manage.py export_training STUDY DIR: a study's ratings and clips for training models."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from analysis.management.bundle_options import note_export
from analysis.management.whole_folder import check_new, whole_folder
from listening.common.counted import counted

if TYPE_CHECKING:
    from analysis.report.writers.training_files import TrainingFiles

BLOCK_FRAMES = 65_536


class Command(BaseCommand):
    help = (
        "Export a study for training: pairs for DPO and reward models, lists for MOS predictors "
        "(SSL-MOS, UTMOS, NISQA), score files of VERSA and ESPnet, and the clips. Ratings that "
        "the study's rules exclude, and those of simulated raters, are left out."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="Study key.")
        parser.add_argument("folder", type=Path, help="New or empty folder.")
        parser.add_argument("--no-audio", action="store_true", help="Write no clips.")
        parser.add_argument(
            "--simulated", action="store_true", help="Include ratings of simulated raters."
        )

    def handle(self, *args: Any, **arguments: Any) -> None:
        from analysis.ratings.problems import RatingsError
        from analysis.web.study_tables import study_training_files
        from listening.common.sound_files import AudioError
        from listening.selectors import no_study

        key, folder = arguments["study"], arguments["folder"]
        if words := no_study(key):
            raise CommandError(words)
        check_new(folder)
        try:
            files = study_training_files(key, with_simulated=arguments["simulated"])
            with whole_folder(folder) as draft:
                for name, text in files.texts.items():
                    path = draft / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(text, "utf-8", newline="")
                if not arguments["no_audio"]:
                    write_clips(key, files, draft)
        except (RatingsError, AudioError) as error:
            raise CommandError(str(error)) from None
        note_export(key, folder)
        for name in sorted(files.texts):
            self.stdout.write(str(folder / name))
        if not arguments["no_audio"]:
            self.stdout.write(f"{counted(len(files.heard), 'clip')}")
        for note in files.notes:
            self.stdout.write(note)


def write_clips(study: str, files: TrainingFiles, folder: Path) -> None:
    """Write the clips: as raters heard them, and at 16 kHz in one channel for lists of MOS."""
    from listening.selectors import study_clips

    paths = {clip["stimulus"]: clip["path"] for clip in study_clips(study)}
    for name, stimulus in {**files.heard, **files.waves}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name in files.waves:
            _write_mono(paths[stimulus], path)
        else:
            shutil.copyfile(paths[stimulus], path)


def _write_mono(source: Path, target: Path) -> None:
    import numpy as np
    import soundfile
    import soxr

    from analysis.report.writers.training_files import WAV_HZ
    from listening.common.sound_files import open_sound

    with open_sound(source) as sound:
        wave = np.concatenate([block.mean(axis=1) for block in sound.blocks(BLOCK_FRAMES)])
        resampled = soxr.resample(wave, sound.rate_hz, WAV_HZ, "VHQ")
    soundfile.write(target, resampled, WAV_HZ, subtype="PCM_16")
