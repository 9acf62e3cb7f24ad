"""An image leaves out what no process of Earnest reads, and nothing else."""

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from config.run.preparation import ROOMS
from listening.common import interface_languages
from listening.common.command_name import CODE
from tests.config.test_settings import start

# Every file that is opened or mapped while all of Earnest is imported and its heavy packages work.
READ = """
import sys
opened = set()
for tried in ("_s3fs", "_flight"):  # Arrow does without where they are not
    sys.modules[f"pyarrow.{tried}"] = None
sys.addaudithook(lambda event, given: opened.add(str(given[0])) if event == "open" else None)
import importlib, io, json, pkgutil
import django
django.setup()
for room in sys.argv[1:]:
    package = importlib.import_module(room)
    for found in pkgutil.walk_packages(package.__path__, f"{room}."):
        if not found.name.endswith(("__main__", "config.run.gated_app")):  # these begin to work
            try:
                importlib.import_module(found.name)
            except ImportError:  # a package that an image does not have either
                pass
import boto3, matplotlib, pyarrow.compute, pyarrow.csv, pyarrow.dataset, pyarrow.parquet
matplotlib.use("agg")
from matplotlib import pyplot
import pandas, scipy.stats, scipy.optimize, scipy.signal, soundfile, av
import accelerate, arviz, faster_whisper, librosa, nutpie, onnxruntime, peft, pymc
import silero_vad, torchaudio, transformers.models.wav2vec2.modeling_wav2vec2
import numba
assert numba.njit(lambda x: x + 1)(1) == 2
librosa.feature.melspectrogram(y=scipy.signal.unit_impulse(4096))
with pymc.Model() as model:
    pymc.Normal("y", pymc.Normal("mean"), 1, observed=[1.0, 2.0])
model.compile_logp(mode="NUMBA")(model.initial_point())
from django.utils import translation
frame = pandas.DataFrame({"a": [1.5, 2], "b": ["x", "y"]})
file = io.BytesIO()
frame.to_parquet(file)
assert pyarrow.parquet.read_table(file).to_pandas().equals(frame)
figure, axes = pyplot.subplots()
axes.plot([1, 2]); axes.set_title("$\\\\alpha$")
for kind in ("pdf", "svg", "png"):
    figure.savefig(io.BytesIO(), format=kind)
for name in ("s3", "sts"):
    boto3.client(name, region_name="eu-central-1", aws_access_key_id="a", aws_secret_access_key="b")
boto3.resource("s3", region_name="eu-central-1", aws_access_key_id="a", aws_secret_access_key="b")
for language in sys.modules["django.conf"].settings.LANGUAGES:
    with translation.override(language[0]):
        translation.gettext("This field is required.")
with open("/proc/self/maps") as maps:
    opened |= {line.split()[-1] for line in maps if "/" in line}
print(json.dumps(sorted(opened)))
"""


@pytest.fixture
def slim(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setitem(sys.modules, "interface_languages", interface_languages)
    spec = importlib.util.spec_from_file_location("slim", CODE / "deploy" / "slim.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["slim"] = module
    spec.loader.exec_module(module)
    return module


def test_files_go_by_their_rule_and_empty_folders_with_them(slim, tmp_path):
    gone = (
        "pandas/tests/frame/test_a.py",
        "pandas/tests/__pycache__/x.pyc",
        "numpy/_core/include/numpy/arrayobject.h",
        "torch/include/ATen/ATen.h",
        "scipy/special/x.pxd",
        "django/conf/locale/en/LC_MESSAGES/django.po",
        "django/conf/locale/sv/LC_MESSAGES/django.mo",
        "botocore/data/ec2/2016-11-15/service-2.json.gz",
        "pyarrow/libarrow_flight.so.2600",
        "pyarrow/libarrow_python.so",
        "pyarrow/libarrow_python.so.2600.1.0",
    )
    kept = (
        "numpy/testing/__init__.py",
        "django/test/client.py",
        "librosa/__init__.pyi",
        "triton/backends/nvidia/include/cuda.h",
        "pytensor/tensor/c_code/dimshuffle.c",
        "nvidia/cu13/include/cuda.h",
        "django/conf/locale/en/LC_MESSAGES/django.mo",
        "django/conf/locale/zh_Hans/LC_MESSAGES/django.mo",
        "django/conf/locale/sv/formats.py",
        "botocore/data/s3/2006-03-01/service-2.json.gz",
        "botocore/data/endpoints.json",
        "pyarrow/libarrow_python.so.2600",
        "pyarrow/libarrow.so.2600",
    )
    for name in (*gone, *kept):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("12345")
    freed = dict(slim.slim(tmp_path))
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert left == set(kept)
    assert sum(freed.values()) == 5 * len(gone)
    assert not (tmp_path / "pandas").exists()


@pytest.mark.soak  # all packages at work take long; CI builds, starts and scores with the image
def test_nothing_goes_that_earnest_reads(slim, tmp_path):
    done = start(tmp_path, "-c", READ, *ROOMS, DJANGO_SETTINGS_MODULE="config.settings")
    assert done.returncode == 0, done.stderr
    (packages,) = (Path(p).resolve() for p in sys.path if p.endswith("site-packages"))
    opened = [Path(name).resolve() for name in json.loads(done.stdout.splitlines()[-1])]
    read = {path.relative_to(packages).as_posix() for path in opened if packages in path.parents}
    assert {name.partition("/")[0] for name in read} >= {"av", "botocore", "pyarrow", "torch"}
    missed = {name: rule.what for name in sorted(read) if (rule := slim.rule_of(name))}
    assert missed == {}


@pytest.mark.skipif(not shutil.which("gcc") or not shutil.which("strip"), reason="needs gcc, strip")
@pytest.mark.medium
def test_a_library_that_strip_would_spoil_stays_as_it_was(slim, tmp_path, monkeypatch):
    source = tmp_path / "a.c"
    source.write_text("int earnest(void) { return 1; }\n")
    for name in ("good.so", "bad.so", "torch/left.so"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        words = ["gcc", "-g", "-shared", "-fPIC", "-o", str(tmp_path / name), str(source)]
        subprocess.run(words, check=True)
    whole = {path.name: path.read_bytes() for path in tmp_path.rglob("*.so")}
    run = subprocess.run

    def spoils_one(words, **named):
        run(words, **named)
        if words[-1].endswith("bad.so"):
            Path(words[-1]).write_bytes(b"\x7fELF" + bytes(100))

    monkeypatch.setattr(slim.subprocess, "run", spoils_one)
    freed = slim.strip(tmp_path)
    after = {path.name: path.read_bytes() for path in tmp_path.rglob("*.so")}
    assert after["bad.so"] == whole["bad.so"]
    assert after["left.so"] == whole["left.so"]
    assert freed == len(whole["good.so"]) - len(after["good.so"]) > 0
    assert slim.loads(tmp_path / "good.so")
