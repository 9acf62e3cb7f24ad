"""Pages that hang are known by many questions in a row that got no answer."""

import socket
from collections.abc import Iterator

import pytest

from config.run.supervisor import LIVENESS_EVERY_S, LIVENESS_FAILURES, LIVENESS_PATIENCE_S, Liveness


@pytest.fixture
def liveness(listening: socket.socket) -> Iterator[Liveness]:
    asking = Liveness("127.0.0.1", listening.getsockname()[1])
    yield asking
    asking.forget()


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def ask(liveness: Liveness, server: socket.socket, now: float, reply: bytes) -> bool:
    """One question, answered or left until it is given up."""
    liveness.is_dead(now)
    liveness.is_dead(now)
    with server.accept()[0] as client:
        assert client.recv(100).startswith(b"GET /livez ")
        if reply:
            client.sendall(reply)
        return liveness.is_dead(now + (0 if reply else LIVENESS_PATIENCE_S + 1))


def test_pages_that_stop_answering_are_dead_after_a_while(
    liveness: Liveness, listening: socket.socket
):
    step = LIVENESS_PATIENCE_S + LIVENESS_EVERY_S
    assert not ask(liveness, listening, 0.0, b"HTTP/1.1 200 OK\r\n\r\n")
    seen = [ask(liveness, listening, n * step, b"") for n in range(1, LIVENESS_FAILURES + 1)]
    assert seen == [False] * (LIVENESS_FAILURES - 1) + [True]
    liveness.forget()
    assert not liveness.is_dead(1e9)


def test_one_answer_in_between_ends_the_count(liveness: Liveness, listening: socket.socket):
    step = LIVENESS_PATIENCE_S + LIVENESS_EVERY_S
    replies = [b"HTTP/1.1 200 OK\r\n\r\n", *[b""] * (LIVENESS_FAILURES - 1)] * 2
    assert not any(ask(liveness, listening, n * step, r) for n, r in enumerate(replies))


def test_pages_that_never_answered_are_still_starting():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        liveness = Liveness("127.0.0.1", probe.getsockname()[1])
        assert not any(
            liveness.is_dead(n * LIVENESS_EVERY_S) for n in range(10 * LIVENESS_FAILURES)
        )
        liveness.forget()


def test_pages_that_start_are_asked_again_at_once(liveness: Liveness, listening: socket.socket):
    ask(liveness, listening, 0.0, b"HTTP/1.1 503 Service Unavailable\r\n\r\n")
    assert not liveness.answered
    ask(liveness, listening, 0.0, b"HTTP/1.1 200 OK\r\n\r\n")
    assert liveness.answered
    liveness.step(0.0)
    assert liveness.asking is None  # they run: the next question comes later
