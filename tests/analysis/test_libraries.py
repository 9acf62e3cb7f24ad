"""PyMC and ArviZ come on any account, with a home or without, and say nothing of themselves."""

import os
import subprocess
import sys

from tests.config.helpers import BASE_DIR


def test_libraries_of_models_need_no_home_and_print_nothing():
    """ArviZ warns where its cache holds no stamp of today, and fails where it cannot make one."""
    homeless = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "MPL", "PYT"))}
    done = subprocess.run(
        [
            *(sys.executable, "-W", "error::FutureWarning", "-c"),
            "from analysis.mixed.libraries import load\n"
            "load('arviz')\n"
            "print(load('pymc').__name__, load('pytensor').config.base_compiledir)",
        ],
        cwd=BASE_DIR,
        env=homeless | {"HOME": "/dev/null/none"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    name, folder = done.stdout.split()
    assert name == "pymc"
    assert not os.path.exists(folder)  # it was a temporary one
