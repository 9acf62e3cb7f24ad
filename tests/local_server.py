"""A small web server of this machine that gives files, redirects, and remembers what was asked."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


class LocalServer:
    """Files by their paths, or by paths with queries; use it as a context."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files, self.redirects = files, dict[str, str]()
        self.asked: list[str] = []
        given = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = urlsplit(self.path).path
                given.asked.append(path)
                content = given.files.get(self.path) or given.files.get(path, b"")
                self.send_response(302 if path in given.redirects else 200 if content else 404)
                if path in given.redirects:
                    self.send_header("Location", given.redirects[path])
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self) -> LocalServer:
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
