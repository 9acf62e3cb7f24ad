"""A host of model files for tests: parts of files, cuts, refusals, redirects, proxies, TLS."""

import base64
import contextlib
import select
import socket
import threading
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

PIECE = 64 * 1024


class Host:
    """Files by path. What goes wrong is taken from lists, once each; `asked` has the requests.

    ``states``: replies before the first right one. ``cuts``: bytes after which a reply ends.
    ``held_at``: the byte before which replies wait for ``going_on``.
    """

    def __init__(self, files=None, *, ranges=True, login="", context=None, held_at=None):
        self.files, self.redirects, self.types = dict(files or {}), {}, {}
        self.states, self.cuts = defaultdict(list), defaultdict(list)
        self.ranges, self.login, self.held_at = ranges, login, held_at
        self.going_on = threading.Event()
        self.asked, self.tunnels = [], []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_port
        self.url = f"http{'s' if context else ''}://127.0.0.1:{self.port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def ranges_of(self, path):
        """The parts of a file that were asked for; empty text: all of it."""
        return [headers.get("Range", "") for asked, headers in self.asked if asked == path]

    def _handler(host):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                path = urlsplit(self.path).path
                host.asked.append((path, dict(self.headers)))
                if not self._logged_in():
                    return self._empty(407)
                if host.states[path]:
                    return self._empty(host.states[path].pop(0))
                if path in host.redirects:
                    return self._empty(302, Location=host.redirects[path])
                content = host.files.get(self.path, host.files.get(path))
                if content is None:
                    return self._empty(404)
                return self._send(path, content)

            def _send(self, path, content):
                cut = host.cuts[path].pop(0) if host.cuts[path] else len(content)
                start = int(self.headers.get("Range", "bytes=0-")[6:-1]) if host.ranges else 0
                etag = f'"{hash(content)}"'
                if self.headers.get("If-Range", etag) != etag:
                    start = 0
                if start >= len(content) > 0:
                    return self._empty(416)
                self.send_response(206 if start else 200)
                if start:
                    total = len(content)
                    self.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
                self.send_header("ETag", etag)
                self.send_header("Content-Type", host.types.get(path, "application/octet-stream"))
                self.send_header("Content-Length", str(len(content) - start))
                self.end_headers()
                for at in range(start, min(len(content), start + cut), PIECE):
                    if host.held_at is not None and at >= host.held_at:
                        host.going_on.wait()
                    self.wfile.write(content[at : min(at + PIECE, start + cut)])
                self.close_connection = True

            def do_CONNECT(self):
                if not self._logged_in():
                    return self._empty(407)
                host.tunnels.append(self.path)
                name, _, port = self.path.rpartition(":")
                with socket.create_connection((name, int(port))) as there:
                    self.send_response(200)
                    self.end_headers()
                    ends = (self.connection, there)
                    while True:
                        for end in select.select(ends, (), ())[0]:
                            if not (piece := end.recv(PIECE)):
                                self.close_connection = True
                                return None
                            ends[end is self.connection].sendall(piece)

            def _logged_in(self):
                given = self.headers.get("Proxy-Authorization", "").removeprefix("Basic ")
                return not host.login or base64.b64decode(given).decode() == host.login

            def _empty(self, state, **headers):
                self.send_response(state)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args): ...

            def handle(self):
                with contextlib.suppress(ConnectionError, ValueError):
                    super().handle()

        return Handler
