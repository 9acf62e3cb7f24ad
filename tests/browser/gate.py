"""A way to a server that can be cut: cheaper than to stop the server and to start it again."""

from __future__ import annotations

import contextlib
import socket
import socketserver
from threading import Lock, Thread


class Gate:
    """Passes connections on to a port of this machine; while it is shut there are none."""

    def __init__(self, port: int) -> None:
        self.inner = ("127.0.0.1", port)
        self.address = ("127.0.0.1", 0)
        self.connections: set[socket.socket] = set()
        self.lock = Lock()
        self.is_open = False
        self.open()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.address[1]}"

    def open(self) -> None:
        self.is_open = True
        self.server = Doorway(self.address, Passage)
        self.server.gate = self
        self.address = ("127.0.0.1", self.server.server_address[1])
        Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def shut(self) -> None:
        """Whoever knocks is refused from now on, and what is open breaks."""
        self.server.shutdown()
        self.server.server_close()
        with self.lock:
            self.is_open = False
            for each in self.connections:
                with contextlib.suppress(OSError):  # one that has just ended by itself
                    each.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Gate:
        return self

    def __exit__(self, *error: object) -> None:
        self.shut()


class Doorway(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    gate: Gate


class Passage(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, Doorway)
        gate = self.server.gate
        with contextlib.suppress(OSError), socket.create_connection(gate.inner) as inner:
            ends = (self.request, inner)
            with gate.lock:
                if not gate.is_open:
                    return
                gate.connections.update(ends)
            back = Thread(target=pass_on, args=(inner, self.request), daemon=True)
            back.start()
            pass_on(self.request, inner)
            back.join()
            with gate.lock:
                gate.connections.difference_update(ends)


def pass_on(source: socket.socket, target: socket.socket) -> None:
    """All bytes to the end; then the other side hears that there are no more."""
    with contextlib.suppress(OSError):
        while chunk := source.recv(65_536):
            target.sendall(chunk)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
