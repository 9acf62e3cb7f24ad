"""Web hosts behind nginx: no answer is lost when one dies, and nginx reads what the guides show."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import bench_hosts
from tests.config.helpers import BASE_DIR

RATERS = 10_000


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("end", ["kill", "unplug"])
def test_10_000_raters_lose_no_answer_when_one_of_two_web_hosts_dies(end: str, tmp_path: Path):
    if reason := bench_hosts.why_not():
        pytest.skip(reason)
    out = tmp_path / "figures.json"
    script = str(BASE_DIR / "benchmarks" / "bench_hosts.py")
    options = ["--raters", str(RATERS), "--end", end, "--out", str(out)]
    subprocess.run([sys.executable, script, *options], check=True)
    found = json.loads(out.read_text())
    assert found["lost"] == found["kept_twice"] == 0
    assert found["refused"] == {}
    assert found["acknowledged"] == found["kept"] == RATERS * bench_hosts.TRIALS
    stimuli = bench_hosts.CONDITIONS * bench_hosts.ITEMS
    each = RATERS * bench_hosts.TRIALS // stimuli
    assert found["ratings_per_stimulus"] == {str(each): stimuli}


BEHIND_NGINX = re.search(
    r"```nginx\n(map .*?)```", (BASE_DIR / "docs" / "running.md").read_text(), re.DOTALL
)
assert BEHIND_NGINX
SHOWN = {
    "several hosts": bench_hosts.nginx_conf(),
    "one host": f"events {{}}\nhttp {{\n{BEHIND_NGINX[1]}}}\n",
    "containers": (BASE_DIR / "deploy" / "nginx.conf").read_text(),
}


@pytest.mark.medium
@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
@pytest.mark.parametrize("shown", SHOWN.values(), ids=SHOWN)
def test_nginx_reads_the_configuration(shown: str, tmp_path: Path):
    """Without TLS: what it needs of files is the user's."""
    plain = re.sub(r"\n *(ssl_[^;]*|http2 on);", "", re.sub(r"(listen \d+) ssl", r"\1", shown))
    plain = re.sub(r"(?m)^(pid|error_log) .*\n", "", plain)
    file = tmp_path / "nginx.conf"
    file.write_text(f"pid {tmp_path}/nginx.pid;\nerror_log stderr;\n{plain}")
    done = subprocess.run(
        ["nginx", "-t", "-e", "stderr", "-c", str(file)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
