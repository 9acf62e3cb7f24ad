"""Compose and Kustomize say the same of the house: settings, images, rights, health, the proxy."""

import re
from typing import Any

from tests.config.test_deploy import (
    AWS,
    BASE,
    DEPLOY,
    EXAMPLE,
    LONE,
    compose,
    containers,
    documents,
    lone,
    resources,
)

# nginx's directive -> the annotation of ingress-nginx with the same meaning.
ANNOTATIONS = {
    "client_max_body_size": "proxy-body-size",
    "proxy_connect_timeout": "proxy-connect-timeout",
    "proxy_read_timeout": "proxy-read-timeout",
    "proxy_max_temp_file_size": "proxy-max-temp-file-size",
}


def processes() -> dict[str, dict[str, Any]]:
    """Name -> service of Compose, of all that run one process of Earnest."""
    services = compose()["services"].values()
    return {lone(each["command"]): each for each in services if each.get("command", [])[:3] == LONE}


def pods() -> dict[str, dict[str, Any]]:
    """Name of the process -> the pod that it runs in."""
    found = [each["spec"]["template"]["spec"] for each in resources() if "template" in each["spec"]]
    return {lone(each["containers"][0]["command"]): each for each in found}


def lines_of(name: str, generator: str) -> dict[str, str]:
    (found,) = documents(name)
    literals = [line for each in found[generator] for line in each["literals"]]
    return dict(line.split("=", 1) for line in literals)


def test_the_same_settings_are_given_with_the_same_values():
    house = processes()["web"]["environment"]
    given = {name: default(value) for name, value in house.items()}
    secrets = {name.removesuffix("_FILE") for name in given if name.endswith("_FILE")}
    plain = {n: v for n, v in given.items() if not n.endswith("_FILE")}
    cluster = lines_of(BASE / "kustomization.yaml", "configMapGenerator")
    assert set(cluster) == set(plain)
    own = "EARNEST_PUBLIC_URL"
    assert {n: v for n, v in cluster.items() if n != own} == {
        n: v for n, v in plain.items() if n != own
    }
    kept = [line.partition("=")[0] for line in (EXAMPLE / "secrets.env").read_text().splitlines()]
    assert {name for name in secrets if not name.startswith(AWS)} <= set(kept)
    assert any(name.startswith(AWS) for name in kept)


def default(value: str) -> str:
    """What `${NAME:-this}` stands for."""
    return re.sub(r"^\$\{\w+:-(.*)\}$", r"\1", value)


def test_every_process_gets_all_settings_and_the_same_image():
    services, cluster = processes(), containers()
    for name, service in services.items():
        assert service["environment"] == services["web"]["environment"], name
        target = re.findall(r":(\w+)\}$", service["image"])
        assert [cluster[name]["image"]] == [f"earnest-{each}" for each in target], name
        sources = [next(iter(each.values()))["name"] for each in cluster[name]["envFrom"]]
        assert sources == ["earnest-settings", "earnest-secrets"], name


def test_every_process_has_the_same_rights_and_places():
    for name, service in processes().items():
        pod, container = pods()[name], containers()[name]
        closed = container["securityContext"]
        assert service["read_only"] is closed["readOnlyRootFilesystem"] is True, name
        assert service["cap_drop"] == closed["capabilities"]["drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert closed["allowPrivilegeEscalation"] is False, name
        mounted = {each["mountPath"] for each in container["volumeMounts"]}
        assert {*service["tmpfs"], *(each.split(":")[1] for each in service["volumes"])} <= mounted
        (account,) = re.findall(r"^USER (\d+):\d+", (DEPLOY / "Containerfile").read_text(), re.M)
        assert pod["securityContext"]["runAsUser"] == int(account)


def test_every_process_may_end_its_work_in_the_same_time():
    for name, service in processes().items():
        in_compose = int(service.get("stop_grace_period", "10s").removesuffix("s"))
        pod = pods()[name]
        before = pod["containers"][0].get("lifecycle", {}).get("preStop")
        asleep = int(before["exec"]["command"][-1]) if before else 0
        in_cluster = pod.get("terminationGracePeriodSeconds", 30) - asleep
        assert in_cluster == in_compose or name == "prepare", name


def test_the_same_processes_are_asked_for_their_health():
    asked = {name for name, service in processes().items() if "healthcheck" in service}
    probed = {name for name, each in containers().items() if "livenessProbe" in each}
    assert asked == probed == {"web"}
    compose_asks, web = processes()["web"]["healthcheck"], containers()["web"]
    probe = web["livenessProbe"]
    assert probe["httpGet"]["path"] in compose_asks["test"][-1]
    assert f"{probe['periodSeconds']}s" == compose_asks["interval"]
    assert f"{probe['timeoutSeconds']}s" == compose_asks["timeout"]
    assert probe["failureThreshold"] == compose_asks["retries"]
    start = web["startupProbe"]
    patience = start["periodSeconds"] * start["failureThreshold"]
    assert patience >= int(compose_asks["start_period"].removesuffix("s"))


def test_the_ingress_does_what_the_proxy_does():
    proxy = (DEPLOY / "nginx.conf").read_text()
    (ingress,) = (each for each in resources() if each["kind"] == "Ingress")
    said = {
        name.removeprefix("nginx.ingress.kubernetes.io/"): value
        for name, value in ingress["metadata"]["annotations"].items()
    }
    for directive, annotation in ANNOTATIONS.items():
        (value,) = re.findall(rf"^\s*{directive} (\d+)s?;", proxy, re.M)
        assert said.pop(annotation) == value, annotation
    assert "access_log off;" in proxy
    assert said == {"enable-access-log": "false"}
