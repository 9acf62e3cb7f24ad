"""Models fetched from a server of this machine, which fails in the ways that real ones do."""

import errno
import hashlib
import io
import json
import os
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from listening.common import plugins
from metrics.core import model_downloads, model_hosts, weights
from metrics.core.metric import Metric, make_metric
from metrics.core.model_hosts import TRIES, DownloadError
from metrics.core.published_models import HUB, PublishedModel, problems
from metrics.suite import nisqa
from tests.config.helpers import PATIENCE_S
from tests.metrics.model_server import Host

BIG = os.urandom(3_000_000)
SMALL = b'{"hidden_size": 4}'
ONE = "/files/one.bin"
OF_THE_MACHINE = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "SSL_CERT_FILE")
OF_THE_MACHINE += (
    "HF_HUB_OFFLINE",
    "HF_HUB_CACHE",
    "HF_TOKEN",
    "HF_ENDPOINT",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
)
ROOT = Path(__file__).parents[2]


def sha256(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(autouse=True)
def own_place(tmp_path, monkeypatch):
    """A folder of models of its own, no proxy, no waiting between tries."""
    for name in OF_THE_MACHINE:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setattr(model_hosts, "PAUSE_S", 0.0)
    before = weights.folder(), weights.offline()
    weights.configure(tmp_path / "models", offline=False)
    yield
    weights.configure(*before)


@pytest.fixture
def hosts():
    """Starts hosts, which end with the test."""
    with ExitStack() as stack:
        yield lambda *args, **options: stack.enter_context(Host(*args, **options))


@pytest.fixture
def host(hosts):
    return hosts({ONE: BIG})


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "models"


def one(host, **facts):
    facts = {"sha256": {"one.bin": sha256(BIG)}, "licence": "MIT", **facts}
    return PublishedModel("lab/one.bin", source=host.url + ONE, **facts)


def fetched(model, folder):
    return model_downloads.plan(model, folder).run()


def hub(host, name="lab/net", **files):
    """Publish a model as a hub does: hashes of large files, git's of small ones."""
    siblings = []
    for file, content in files.items():
        file = file.replace("__", ".")
        host.files[f"/{name}/resolve/c0ffee/{file}"] = content
        facts = {"rfilename": file, "size": len(content)}
        if len(content) > 1000:
            facts["lfs"] = {"sha256": sha256(content), "size": len(content), "pointerSize": 130}
        blob = b"blob %d\0" % len(content) + content
        siblings.append(facts | {"blobId": hashlib.sha1(blob).hexdigest()})
    siblings.append({"rfilename": "sub/config.json", "size": 1, "blobId": "0"})
    listing = json.dumps({"sha": "c0ffee", "siblings": siblings}).encode()
    host.files[f"/api/models/{name}/revision/main"] = listing
    return PublishedModel(name, ("config.json", "net.safetensors|net.bin"), ("*.txt",), HUB, "MIT")


# --- Breaks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False], ids=["hash declared", "no hash"])
def test_a_download_that_breaks_off_goes_on_where_it_stopped(host, folder, known):
    model = one(host) if known else one(host, sha256={})
    plan = model_downloads.plan(model, folder)
    host.cuts[ONE] = [1_000_000, 500_000]
    assert plan.run() == folder / "lab/one.bin"
    assert host.ranges_of(ONE)[1:] == ["", "bytes=1000000-", "bytes=1500000-"]
    assert (folder / "lab/one.bin").read_bytes() == BIG
    assert (folder / "lab/one.bin.sha256").read_text() == f"{sha256(BIG)}  one.bin\n"
    assert {path.name for path in (folder / "lab").iterdir()} == {"one.bin", "one.bin.sha256"}


def test_a_server_without_parts_is_asked_for_the_whole_file(hosts, folder):
    host = hosts({ONE: BIG}, ranges=False)
    plan = model_downloads.plan(one(host), folder)
    host.cuts[ONE] = [1_000_000]
    assert plan.run().read_bytes() == BIG


@pytest.mark.medium
@pytest.mark.parametrize("known", [True, False], ids=["hash declared", "no hash"])
def test_the_start_of_another_version_is_not_joined_to_the_rest(host, folder, known):
    model = one(host) if known else one(host, sha256={})
    host.files[ONE] = os.urandom(len(BIG))
    plan = model_downloads.plan(model, folder)
    host.cuts[ONE] = [1_000_000] + [0] * 9
    with pytest.raises(DownloadError, match="1 MB are kept"):
        plan.run()
    host.cuts.clear()
    host.files[ONE] = BIG
    assert plan.run().read_bytes() == BIG


def test_tries_without_a_byte_end_and_say_what_is_kept(host, folder):
    plan = model_downloads.plan(one(host), folder)
    host.cuts[ONE] = [2_000_000] + [0] * 9
    with pytest.raises(DownloadError, match=r"broke off.*2 MB are kept, run it again to go on"):
        plan.run()
    assert len(host.ranges_of(ONE)) == 1 + TRIES
    assert plan.left_bytes == 1_000_000
    host.cuts.clear()
    assert plan.run().read_bytes() == BIG
    assert host.ranges_of(ONE)[-1] == "bytes=2000000-"


WAITING = b"Another process is fetching"
FETCH = """
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores Ctrl-C
from metrics.core import model_downloads
from metrics.core.published_models import PublishedModel
model = PublishedModel("lab/one.bin", source=sys.argv[1], sha256={"one.bin": sys.argv[2]})
model_downloads.plan(model, Path(sys.argv[3])).run(say=print)
"""


def start_fetching(host, folder):
    words = [sys.executable, "-uc", FETCH, host.url + ONE, sha256(BIG), str(folder)]
    return subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for(condition):
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_process_leaves_what_the_next_one_goes_on_with(hosts, folder, ending):
    host = hosts({ONE: BIG}, held_at=2_000_000)
    part = folder / "lab/one.bin.part"
    with start_fetching(host, folder) as process:
        wait_for(lambda: part.is_file() and part.stat().st_size > 1_000_000)
        process.send_signal(ending)
    kept = part.stat().st_size
    assert not (folder / "lab/one.bin").exists()
    host.going_on.set()
    assert fetched(one(host), folder).read_bytes() == BIG
    assert host.ranges_of(ONE)[-1] == f"bytes={kept}-"


@pytest.mark.slow
def test_of_two_processes_one_fetches_and_the_other_waits(hosts, folder):
    host = hosts({ONE: BIG}, held_at=2_000_000)
    with start_fetching(host, folder) as first, start_fetching(host, folder) as second:
        said = {first.stdout: b"", second.stdout: b""}
        while not any(WAITING in each for each in said.values()):
            for pipe in select.select([first.stdout, second.stdout], [], [], PATIENCE_S)[0]:
                chunk = os.read(pipe.fileno(), 65_536)
                assert chunk, "it ended"
                said[pipe] += chunk
        host.going_on.set()
        for each in (first, second):
            said[each.stdout] += each.communicate(timeout=PATIENCE_S)[0]
    assert (first.returncode, second.returncode) == (0, 0)
    assert sorted(WAITING in each for each in said.values()) == [False, True]
    assert len(host.ranges_of(ONE)) == 3  # each looked at the size
    assert (folder / "lab/one.bin").read_bytes() == BIG


def test_where_a_file_system_has_no_locks_each_process_has_its_own_part(host, folder, monkeypatch):
    def lock(file, operation):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(model_downloads.fcntl, "flock", lock)
    folder.mkdir()
    with model_downloads._lock(folder / "one.bin", print) as part:
        assert part.name == f"one.bin.{socket.gethostname()}-{os.getpid()}.part"
    assert fetched(one(host), folder).read_bytes() == BIG


# --- Wrong files and refusals --------------------------------------------------------------------


def test_a_wrong_hash_is_named_and_the_file_is_not_used(host, folder):
    host.files[ONE] = wrong = os.urandom(len(BIG))
    with pytest.raises(DownloadError, match=f"has the SHA-256 {sha256(wrong)}, not {sha256(BIG)}"):
        fetched(one(host), folder)
    assert list((folder / "lab").iterdir()) == []
    with pytest.raises(weights.Unavailable, match=r"no weights: lab/one.bin is not in .*not used"):
        weights.locate(one(host))


def test_a_fetched_file_that_changed_is_not_used(host, folder):
    path = weights.locate(one(host))
    assert weights.locate(one(host)) == path
    path.write_bytes(BIG[:-1] + b"!")
    os.utime(path, (1, 1))  # file systems count time in steps of milliseconds
    with pytest.raises(weights.Unavailable, match=f"not {sha256(BIG)}; delete {path} and fetch it"):
        weights.locate(one(host))


@pytest.mark.parametrize(
    ("state", "words"),
    [(404, "answered 404 Not Found"), (403, "set HF_TOKEN; else a network or proxy may forbid")],
)
def test_a_refusal_is_said_at_once(host, folder, state, words):
    host.states[ONE] = [state] * 5
    with pytest.raises(DownloadError, match=words):
        fetched(one(host), folder)
    assert len(host.asked) == 1


def test_a_server_that_is_busy_is_asked_again(host, folder):
    host.states[ONE] = [500, 429, 503]
    assert fetched(one(host), folder).read_bytes() == BIG


def test_a_login_page_is_no_model(host, folder):
    host.types[ONE] = "text/html; charset=utf-8"
    with pytest.raises(DownloadError, match="a web page, perhaps the login page of a network"):
        fetched(one(host), folder)


@pytest.mark.medium
# --- A hub, a mirror -----------------------------------------------------------------------------
def test_a_hubs_model_appears_as_a_whole(host, folder, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", host.url)
    files = {"config__json": SMALL, "net__safetensors": BIG, "net__bin": b"x" * 2000}
    model = hub(host, **files, terms__txt=b"MIT", card__md=b"#")
    weight_file = "/lab/net/resolve/c0ffee/net.safetensors"
    host.states[weight_file] = [404]
    with pytest.raises(weights.Unavailable, match=r"lab/net is not in .* answered 404"):
        weights.locate(model)
    assert weights.find(model) is None
    place = weights.locate(model)
    assert place == folder / "lab/net"
    names = {path.name for path in place.iterdir()}
    assert names == {"config.json", "net.safetensors", "terms.txt", "SHA256SUMS"}
    assert len(host.ranges_of("/lab/net/resolve/c0ffee/config.json")) == 1  # it was there
    checked = subprocess.run(
        ["sha256sum", "-c", "SHA256SUMS"], cwd=place, check=True, capture_output=True
    )
    assert checked.stdout.count(b": OK") == 3
    (place / "net.safetensors").unlink()  # a folder that lacks a file is filled up
    assert weights.find(model) is None
    assert (weights.locate(model) / "net.safetensors").read_bytes() == BIG


def test_a_small_file_has_the_hash_that_git_gives_it(host, folder, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", host.url)
    model = hub(host, config__json=SMALL, net__bin=BIG)
    with pytest.raises(DownloadError, match=f"states the SHA-256 {sha256(BIG)}, not 0000"):
        fetched(replace(model, sha256={"net.bin": "0" * 64}), folder)
    host.files["/lab/net/resolve/c0ffee/config.json"] = SMALL[::-1]
    with pytest.raises(DownloadError, match="has the git hash"):
        fetched(model, folder)


def test_a_token_goes_to_the_hub_and_to_no_other_host(hosts, folder, monkeypatch):
    host, storage = hosts(), hosts()
    monkeypatch.setenv("HF_ENDPOINT", host.url)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    model = hub(host, config__json=SMALL, net__bin=BIG)
    path = "/lab/net/resolve/c0ffee/net.bin"
    storage.files["/blob"] = host.files.pop(path)
    storage.cuts["/blob"] = [1_000_000]
    host.redirects[path] = f"{storage.url}/blob"
    assert (fetched(model, folder) / "net.bin").read_bytes() == BIG
    assert {headers.get("Authorization") for _, headers in host.asked} == {"Bearer hf_secret"}
    assert {headers.get("Authorization") for _, headers in storage.asked} == {None}
    assert storage.ranges_of("/blob") == ["", "bytes=1000000-"]


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["{}/mirror", "{}/mirror/{{path}}?raw=1"])
def test_a_fetched_folder_is_a_mirror(host, hosts, tmp_path, monkeypatch, layout):
    monkeypatch.setenv("HF_ENDPOINT", host.url)
    models = [one(host, sha256={}), hub(host, config__json=SMALL, net__bin=BIG)]
    first = tmp_path / "first"
    for model in models:
        fetched(model, first)
    end = "?raw=1" if "raw" in layout else ""
    files = [path for path in first.rglob("*") if path.is_file()]
    mirror = hosts({f"/mirror/{p.relative_to(first)}{end}": p.read_bytes() for p in files})
    before = len(host.asked)
    for model in models:
        model_downloads.plan(model, tmp_path / "second", layout.format(mirror.url)).run()
    assert len(host.asked) == before
    assert filecmp(first) == filecmp(tmp_path / "second")
    other = one(host, sha256={"one.bin": "0" * 64})
    stated = r"has the SHA-256|answered 404|the mirror states the SHA-256"
    with pytest.raises(DownloadError, match=stated):
        model_downloads.plan(other, tmp_path / "third", layout.format(mirror.url)).run()


def filecmp(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_mirror_that_records_no_hashes_is_said(host, folder):
    with pytest.raises(DownloadError, match=r"lab/one\.bin\.sha256 answered 404"):
        model_downloads.plan(one(host, sha256={}), folder, f"{host.url}/none")


# --- Proxies, certificates -----------------------------------------------------------------------


def test_a_proxy_that_wants_a_login_gets_it(hosts, folder, monkeypatch):
    proxy = hosts({ONE: BIG}, login="me:p@ss")
    far = PublishedModel("one.bin", source=f"http://models.invalid{ONE}")
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
    with pytest.raises(DownloadError, match=r"the proxy wants a login: set HTTPS_PROXY="):
        model_downloads.plan(far, folder)
    monkeypatch.setenv("http_proxy", f"http://me:p%40ss@127.0.0.1:{proxy.port}")
    assert fetched(far, folder).read_bytes() == BIG


@pytest.mark.slow
def test_tls_through_a_proxy_and_a_company_s_certificate(hosts, folder, tmp_path, monkeypatch):
    bundle = tmp_path / "ca.pem"
    words = "openssl req -x509 -newkey rsa:2048 -nodes -days 9 -subj /CN=lab -addext"
    made = [
        *words.split(" "),
        "subjectAltName=IP:127.0.0.1",
        "-keyout",
        tmp_path / "key",
        "-out",
        bundle,
    ]
    subprocess.run(made, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(bundle, tmp_path / "key")
    host, proxy = hosts({ONE: BIG}, context=context), hosts(login="me:secret")
    model = one(host)
    with pytest.raises(DownloadError, match=r"not trusted \(self-signed certificate\).*SSL_CERT_F"):
        fetched(model, folder)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(bundle))
    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
    with pytest.raises(DownloadError, match="the proxy wants a login"):
        fetched(model, folder)
    monkeypatch.setenv("https_proxy", f"http://me:secret@127.0.0.1:{proxy.port}")
    assert fetched(model, folder).read_bytes() == BIG
    assert set(proxy.tunnels) == {f"127.0.0.1:{host.port}"}
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    assert fetched(model, tmp_path / "other").read_bytes() == BIG


# --- Folders -------------------------------------------------------------------------------------


def test_too_little_space_is_said_before_the_start(host, folder, monkeypatch):
    small = shutil._ntuple_diskusage(9, 7, 2_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: small)
    with pytest.raises(weights.Unavailable, match=r"has 2 MB free, and 3 MB are to be fetched"):
        weights.locate(one(host))
    assert len(host.asked) == 1
    assert not folder.exists()


def test_a_disk_that_fills_up_keeps_what_came(host, folder, monkeypatch):
    def full(number):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DownloadError, match=r"No space left on device\. What came is kept"):
        fetched(one(host), folder)
    monkeypatch.undo()
    assert fetched(one(host), folder).read_bytes() == BIG
    assert len(host.ranges_of(ONE)) == 3  # twice for the size, once for the file


def test_a_folder_that_takes_no_files_serves_those_it_has(host, folder, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DownloadError, match=r"cannot be written: Not a directory\. Name another"):
        fetched(one(host), tmp_path / "file")
    weights.locate(one(host))
    lab, before = folder / "lab", len(host.asked)
    lab.chmod(0o555)
    changed = lab.stat().st_mtime_ns
    assert weights.locate(one(host)) == lab / "one.bin"
    assert (lab.stat().st_mtime_ns, len(host.asked)) == (changed, before)  # root may write anyway
    lab.chmod(0o755)


@pytest.fixture
def no_network(monkeypatch):
    """Every connection and every look-up of a host is noted, and fails."""
    tried = []

    def refuse(*args, **options):
        tried.append(args)
        raise OSError(errno.ENETUNREACH, "no network in this test")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return tried


@pytest.mark.slow
@pytest.mark.parametrize("offline", [True, False])
def test_with_models_in_their_folder_no_connection_is_tried(no_network, tmp_path, offline):
    torch = pytest.importorskip("torch")
    from metrics.suite import clap, speech_bert_score
    from tests.metrics import tiny_models, tiny_predictors

    weights.configure(tmp_path, offline=offline)
    for model, make in (
        (nisqa.MODEL, lambda place: tiny_predictors.nisqa(place.parent).replace(place)),
        (clap.MODEL, tiny_models.clap),
        (speech_bert_score.MODEL, tiny_models.wavlm),
    ):
        place = tmp_path / model.name
        place.parent.mkdir(parents=True, exist_ok=True)
        if model.files:
            place.mkdir()
        make(place)
    for key, parameters in (("nisqa", {}), ("clap", {}), ("speech_bert_score", {"layer": 1})):
        make_metric(key, parameters).load()
    (score,) = make_loaded("nisqa").measure([torch.sin(torch.arange(48_000) / 9)])
    assert score.value is not None
    assert no_network == []


def make_loaded(key):
    metric = make_metric(key)
    metric.load()
    return metric


NEEDING = [key for key in sorted(Metric.registry) if Metric.registry[key]().models()]


@pytest.mark.parametrize("key", NEEDING)
def test_offline_a_missing_model_is_named_and_no_connection_is_tried(no_network, tmp_path, key):
    weights.configure(tmp_path, offline=True)
    for model in make_metric(key).models():
        with pytest.raises(weights.Unavailable, match=f"no weights: {model.name} is not in"):
            weights.locate(model)
    assert no_network == []


# --- The command ---------------------------------------------------------------------------------

PLUGIN = '''
"""A metric of another package, with a model."""

from metrics.core import weights
from metrics.core.metric import Metric
from metrics.core.published_models import PublishedModel


class Bias(Metric):
    key = "lab_bias"
    description = "A constant that a file holds, of full scale"
    source = "The file of this test"
    published_model = PublishedModel("lab/bias.txt", source="{url}/bias", licence="{licence}",
                                     commercial={commercial})

    def load(self, device="cpu"):
        super().load(device)
        path = weights.locate(*self.models())
        self.weights = weights.hashes([path])
        self.bias = float(path.read_text())

    def score(self, waves):
        return [self.bias for wave in waves]
'''


def said_by(*words):
    out = io.StringIO()
    call_command("fetch_models", *words, stdout=out, stderr=out)
    return out.getvalue()


def test_a_metric_of_a_package_declares_its_model_in_the_same_way(lab, host, folder):
    torch = pytest.importorskip("torch")
    host.files["/bias"] = b"0.25"
    lab("lab_bias", PLUGIN.format(url=host.url, licence="CC0", commercial=True))
    plugins.load(Metric.registry)
    listed = said_by("lab_bias", "--list")
    assert "lab/bias.txt (lab_bias): size not stated, licence: CC0; to fetch" in listed
    assert not folder.exists()
    assert "All models are there." in said_by("lab_bias")
    assert f"CC0; in {folder / 'lab/bias.txt'}\nTo fetch: nothing." in said_by("lab_bias", "--list")
    metric = make_loaded("lab_bias")
    assert metric.measure([torch.tensor([0.5, -0.5])])[0].value == 0.25
    assert metric.weights == {"bias.txt": sha256(b"0.25")}


def test_a_declaration_that_cannot_be_is_named():
    wrong = PublishedModel("lab/net.pt", source="ftp://lab/net.pt", sha256={"net.pt": "ab"})
    assert [each.partition(":")[2][:20] for each in problems(wrong)] == [
        " source is 'ftp://la",
        " net.pt: a SHA-256 h",
    ]
    assert problems(PublishedModel("lab/net.pt")) == [
        "lab/net.pt: name its licence, or the page that states it"
    ]
    assert PublishedModel("a", ("*/x.json",)).wanted(["../x.json", "b/x.json"]) == ["b/x.json"]


def test_a_licence_without_commercial_use_is_asked_for(lab, host, folder):
    host.files["/bias"] = b"0.25"
    lab("lab_bias", PLUGIN.format(url=host.url, licence="CC BY-NC 4.0", commercial=False))
    plugins.load(Metric.registry)
    with pytest.raises(weights.Unavailable, match=r"forbids commercial use \(CC BY-NC 4.0\)"):
        make_loaded("lab_bias")
    with pytest.raises(CommandError, match="not for commercial use; fetched only with --non-comm"):
        said_by("lab_bias")
    assert host.asked == []
    said_by("lab_bias", "--non-commercial")
    assert make_loaded("lab_bias").bias == 0.25


def test_a_preset_is_fetched_to_a_folder_as_far_as_it_can_be(host, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", host.url)
    hub(host, "facebook/audiobox-aesthetics", config__json=SMALL, model__safetensors=BIG)
    mine = tmp_path / "mine.yaml"
    mine.write_text("- audiobox_pq\n- speaker_similarity\n- nisqa\n- length_s\n")
    shared = tmp_path / "shared"
    with pytest.raises(CommandError) as failed:
        said_by(str(mine), "--to", str(shared))
    assert str(failed.value).count("\n") == 2
    assert "wavlm_large_finetune.pth (speaker_similarity)" in str(failed.value)
    assert "nisqa/nisqa.tar (nisqa): about 1 MB, licence: CC BY-NC-SA 4.0" in str(failed.value)
    assert (shared / "facebook/audiobox-aesthetics/model.safetensors").read_bytes() == BIG
    assert "No model needs a download." in said_by("fast")
    assert not folder.exists()


def test_offline_the_command_fetches_nothing(host, no_network, tmp_path):
    weights.configure(tmp_path, offline=True)
    with pytest.raises(CommandError, match="EARNEST_OFFLINE forbids downloads"):
        said_by("scoreq")
    assert "scoreq/adapt_nr_synthetic.onnx (scoreq)" in said_by("scoreq", "--list")
    assert no_network == []


def test_names_that_are_none_are_said():
    with pytest.raises(CommandError, match=r"'utmoss' is no preset, metric or \.yaml file"):
        said_by("utmoss")
    with pytest.raises(CommandError, match="Name a preset or metrics"):
        said_by()
