"""A loudspeaker that nobody hears: without one, the clock of sound in Firefox stands still."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.config.helpers import own_folder, wait_for

RATE_HZ = 48_000


class Loudspeaker:
    """PulseAudio with an output that goes nowhere, in real time; what it plays can be recorded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "speaker"
        self.environment = os.environ | {"PULSE_SERVER": f"unix:{self.socket}"}

    @contextmanager
    def switched_on(self) -> Iterator[Loudspeaker]:
        output = f"module-null-sink sink_name=nowhere rate={RATE_HZ} channels=1"
        door = f"module-native-protocol-unix socket={self.socket} auth-anonymous=1"
        options = ["-n", "--daemonize=no", "--use-pid-file=no", "--exit-idle-time=-1"]
        loads = ["--disable-shm", "-L", output, "-L", door]
        own = {"HOME": str(self.folder), "XDG_RUNTIME_DIR": str(self.folder)}
        with (self.folder / "pulse.log").open("w") as log:
            process = subprocess.Popen(
                ["pulseaudio", *options, *loads], env=os.environ | own, stdout=log, stderr=log
            )
        try:
            wait_for(lambda: self.socket.is_socket() or process.poll() is not None)
            assert process.poll() is None, (self.folder / "pulse.log").read_text()
            yield self
        finally:
            process.terminate()
            process.wait()

    @contextmanager
    def recorded(self) -> Iterator[list[np.ndarray]]:
        """What the browsers play meanwhile: one wave, in the list when the context ends."""
        path = self.folder / "recorded.raw"
        waves: list[np.ndarray] = []
        how = ["--device=nowhere.monitor", "--format=float32le", f"--rate={RATE_HZ}"]
        with path.open("wb") as file:
            process = subprocess.Popen(
                ["parec", *how, "--channels=1"], env=self.environment, stdout=file
            )
            wait_for(lambda: path.stat().st_size > 0)  # it records from now on
            yield waves
            process.terminate()
            process.wait()
        waves.append(np.fromfile(path, dtype="<f4"))


@contextmanager
def loudspeaker() -> Iterator[Loudspeaker]:
    try:
        with own_folder() as folder, Loudspeaker(folder).switched_on() as running:
            yield running
    except FileNotFoundError as missing:
        pytest.fail(f"no {missing.filename} here: install the package pulseaudio", pytrace=False)
