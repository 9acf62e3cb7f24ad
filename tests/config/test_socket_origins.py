"""Whose pages may open a socket: those of our own scheme, host and port."""

import pytest

from config import web


@pytest.mark.parametrize(
    ("origin", "host", "forwarded", "is_own"),
    [
        ("https://listen.example.org", "listen.example.org", "https", True),
        ("https://listen.example.org:443", "listen.example.org", "https", True),
        ("https://LISTEN.example.org", "inside:8000", "http", True),  # the proxy sends no Host
        ("http://listen.example.org", "listen.example.org", "https", False),
        ("https://listen.example.org:8443", "listen.example.org", "https", False),
        ("https://listen.example.org.evil.org", "listen.example.org", "https", False),
        ("https://localhost:9999", "localhost:8000", "https", False),
        ("http://localhost:8000", "localhost:8000", "http", True),
        ("http://localhost:8001", "localhost:8000", "http", False),
        ("https://evil.example.org", "evil.example.org", "https", False),  # no host of ours
        ("https://listen.example.org:x", "listen.example.org", "https", False),
        ("null", "listen.example.org", "https", False),
        ("", "listen.example.org", "https", False),
    ],
)
def test_a_sockets_origin_is_compared_by_scheme_host_and_port(
    settings, origin, host, forwarded, is_own
):
    settings.CSRF_TRUSTED_ORIGINS = ["https://listen.example.org"]
    settings.ALLOWED_HOSTS = ["listen.example.org", "localhost"]
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    headers = {"host": host, "origin": origin, "x-forwarded-proto": forwarded}
    scope = {"scheme": "ws", "headers": [(n.encode(), v.encode()) for n, v in headers.items()]}
    assert web.is_own_origin(scope) is is_own
