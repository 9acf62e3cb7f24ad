"""The registry that methods, checks, metrics, rules, estimators and parts share."""

import subprocess
import sys
from pathlib import Path

import pytest

from listening.common.registry import Registry

ROOT = Path(__file__).resolve().parents[2]


class Toy:
    registry: Registry["Toy"] = Registry("toy", "tests.data", order=lambda toy: toy.place)
    place = 0

    def __init_subclass__(cls) -> None:
        cls.registered = Toy.registry.add(cls)


@pytest.fixture(autouse=True)
def emptied():
    yield
    Toy.registry.declared.clear()


def test_a_class_with_a_key_of_its_own_is_found_and_one_without_is_not():
    class Base(Toy):
        pass

    class Ball(Base):
        key = "ball"

    class RedBall(Ball):
        pass

    assert (Base.registered, Ball.registered, RedBall.registered) == (False, True, False)
    assert dict(Toy.registry.declared) == {"ball": Ball}


def test_a_key_belongs_to_one_class_and_the_message_names_both():
    class Ball(Toy):
        key = "ball"

    with pytest.raises(ValueError, match=r"two toys have the key ball: .*Ball and .*Balloon"):

        class Balloon(Toy):
            key = "ball"

    assert Toy.registry.declared["ball"] is Ball


def test_they_are_listed_by_their_order_then_by_their_key(monkeypatch):
    monkeypatch.setattr(Toy.registry, "_state", "read")

    class Cube(Toy):
        key = "cube"

    class Ball(Toy):
        key = "ball"

    class Ark(Toy):
        key, place = "ark", 1

    assert list(Toy.registry) == ["ball", "cube", "ark"]
    assert (len(Toy.registry), Toy.registry["cube"], "doll" in Toy.registry) == (3, Cube, False)


READ = """
from {home} import {name}
assert not {name}.registry.declared, "nothing was imported yet"
print(*{name}.registry)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("home", "name"),
    [("metrics.core.metric", "Metric"), ("analysis.statistics.estimator", "Estimator")],
)
def test_whoever_reads_first_finds_every_file_of_the_package(home, name):
    code = READ.format(home=home, name=name)
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert told.returncode == 0, told.stderr
    assert {"Metric": "srmr", "Estimator": "mean_score"}[name] in told.stdout.split()
