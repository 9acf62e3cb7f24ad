"""The judges that tests of metrics ask; how many threads they have is set in tests/conftest.py."""

import pytest

from metrics.core import lazy_torch

ASKED_BY_PYTEST = {"__bases__", "__test__", "__wrapped__", "_mock_name"}


def _answer_pytest_without_torch(kind):
    """pytest asks each object of a module what it is; torch takes 3 seconds to answer.

    Each process of a parallel run collects all tests, and one of them needs torch.
    """
    ask_torch = kind.__getattr__

    def answer(self, name):
        if name in ASKED_BY_PYTEST:
            raise AttributeError(name)
        return ask_torch(self, name)

    kind.__getattr__ = answer


_answer_pytest_without_torch(type(lazy_torch.torch))
_answer_pytest_without_torch(type(lazy_torch.functional))


@pytest.fixture(scope="session")
def judge_server():
    """A judge on this machine, configured with a cache of its own; reset it before use."""
    from tests.metrics.judge_server import JudgeServer

    server = JudgeServer()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def a_judge(judge_server, tmp_path_factory):
    """Judges ask the local server, and keep answers in a folder of this test run."""
    from metrics.judges.client import Endpoint, configure_endpoint, current_endpoint

    before = current_endpoint()
    cache = tmp_path_factory.mktemp("judges")
    configure_endpoint(Endpoint(judge_server.url, "tester", cache=cache, retries=2))
    yield judge_server
    configure_endpoint(before)


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """Installs a module as a package with metrics, for this test only."""
    from metrics.core.metric import Metric
    from tests.plugged import installer

    yield from installer(tmp_path, monkeypatch, Metric.registry)
