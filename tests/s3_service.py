"""A service that speaks S3 over HTTP: moto's buckets behind a server of the standard library."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from botocore.awsrequest import AWSPreparedRequest
from botocore.compat import HTTPHeaders
from moto.core.botocore_stubber import BotocoreStubber
from moto.s3.models import s3_backends

KEYS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_REGION": "us-east-1",
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    "AWS_EC2_METADATA_DISABLED": "true",
}
AWS = "http://s3.us-east-1.amazonaws.com"
ONE_AT_A_TIME = threading.Lock()  # moto's buckets are for one thread


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = HTTPHeaders()
        for name, value in self.headers.items():
            headers[name] = value
        request = AWSPreparedRequest(self.command, AWS + self.path, headers, body, False)
        with ONE_AT_A_TIME:
            answer = BotocoreStubber().process_request(request)
        assert answer
        status, own, content = answer
        raw = content.encode() if isinstance(content, str) else content
        self.send_response(status)
        length = own.get("content-length", own.get("Content-Length", str(len(raw))))
        for name, value in own.items():
            if name.lower() != "content-length":
                self.send_header(name, value)
        self.send_header("Content-Length", length if self.command == "HEAD" else str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    do_GET = do_HEAD = do_PUT = do_DELETE = do_POST = _answer

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def s3_service() -> Iterator[str]:
    """The address of a service without buckets that runs while the block does."""
    s3_backends.reset()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answer)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
