"""Scripted raters over HTTPS: Django's check of forged requests, and certificates."""

import asyncio
import datetime
import ssl
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_address
from unittest.mock import Mock

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.core.management import CommandError
from django.db import OperationalError, connections
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware, get_token
from django.test import RequestFactory

from listening.management.commands.simulate_raters import (
    default_url,
    insist_on_server,
    insist_on_tls,
    reach_again,
    trusted,
)
from listening.sessions.simulated_raters.browser import Browser, Form, Unreachable

BASE = "https://listen.example.org:8443"


def guarded(request: httpx.Request) -> httpx.Response:
    """A page behind Django's own middleware, reached over HTTPS."""

    def view(asked: HttpRequest) -> HttpResponse:
        return HttpResponse(f'{{"token": "{get_token(asked)}"}}', content_type="application/json")

    headers = {f"HTTP_{name.upper().replace('-', '_')}": v for name, v in request.headers.items()}
    asked = RequestFactory().generic(
        request.method,
        request.url.path,
        request.content,
        request.headers.get("content-type", ""),
        secure=True,
        **headers,
    )
    middleware = CsrfViewMiddleware(view)
    middleware.process_request(asked)
    answer = middleware.process_view(asked, view, (), {}) or middleware(asked)
    cookies = [("set-cookie", morsel.OutputString()) for morsel in answer.cookies.values()]
    return httpx.Response(answer.status_code, headers=cookies, content=answer.content)


def test_a_clip_that_the_server_lost_ends_a_rater_with_its_address():
    nothing = httpx.MockTransport(lambda _: httpx.Response(404))
    browser = Browser(httpx.AsyncClient(transport=nothing, base_url=BASE), Counter())
    with pytest.raises(Unreachable, match=r"^GET /c/lost: status 404$"):
        asyncio.run(browser.clip("/c/lost"))


@pytest.fixture
def browser(settings):
    settings.ALLOWED_HOSTS, settings.CSRF_FAILURE_VIEW = ["*"], "django.views.csrf.csrf_failure"
    settings.CSRF_TRUSTED_ORIGINS, settings.CSRF_COOKIE_SECURE = [], True
    client = httpx.AsyncClient(transport=httpx.MockTransport(guarded), base_url=BASE)
    return Browser(client, Counter(), tries=1)


def test_a_call_of_the_pages_script_passes_over_https(browser):
    async def visit() -> int:
        await browser.page("/s/abc/")
        return (await browser.post_json("/api/s/abc/checks/", {"key": "volume"}))[0]

    assert asyncio.run(visit()) == 200


def test_a_call_from_another_site_does_not(browser):
    """The check that the test above passes is there."""

    async def visit() -> int:
        await browser.page("/s/abc/")
        browser.client.headers["Origin"] = "https://elsewhere.example"
        return (await browser.post_json("/api/s/abc/checks/", {"key": "volume"}))[0]

    browser.own_origin = lambda: {}
    assert asyncio.run(visit()) == 403


def test_a_form_passes_over_https(browser):
    async def visit() -> int:
        page = await browser.page("/r/abc/")
        token = browser.client.cookies["csrftoken"]
        form = Form("", "post", {"csrfmiddlewaretoken": token, "consent": "on"})
        return (await browser.submit(page, form, {})).status

    assert asyncio.run(visit()) == 200


# --- Certificates --------------------------------------------------------------------------------


class Ready(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *said: object) -> None:
        pass


@pytest.fixture(scope="module")
def private(tmp_path_factory):
    """A server whose certificate no public authority made: its address, and the certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a laboratory")])
    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name)
    builder = builder.public_key(key.public_key()).serial_number(1).add_extension(address, False)
    signed = (
        builder.not_valid_before(now - day).not_valid_after(now + day).sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    own = tmp_path_factory.mktemp("tls") / "own.pem"
    bare = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    own.write_bytes(signed.public_bytes(pem) + bare)
    server = HTTPServer(("127.0.0.1", 0), Ready)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"https://127.0.0.1:{server.server_port}", own
    server.shutdown()
    server.server_close()


@pytest.mark.medium
def test_a_certificate_of_an_own_authority_is_trusted_when_it_is_named(private):
    url, own = private
    with pytest.raises(CommandError, match=r"certificate .* is not trusted .* --ca FILE"):
        insist_on_server(url, trusted(None))
    insist_on_server(url, trusted(own))
    with pytest.raises(CommandError, match="is for another name"):
        insist_on_server(url.replace("127.0.0.1", "localhost"), trusted(own))


@pytest.mark.medium
def test_a_file_without_certificates_is_refused(tmp_path):
    empty = tmp_path / "empty.pem"
    empty.write_text("nothing")
    for path in (empty, tmp_path / "none.pem"):
        with pytest.raises(CommandError, match="--ca"):
            trusted(path)


def test_an_earnest_on_every_address_is_reached_on_this_machine(settings):
    settings.EARNEST_HOST, settings.EARNEST_PORT, settings.SECURE = "0.0.0.0", 8000, False
    assert default_url() == "http://127.0.0.1:8000"


def test_an_address_without_tls_is_refused_where_cookies_need_it(settings):
    settings.EARNEST_PUBLIC_URL, settings.SECURE = "https://listen.example.org", True
    assert default_url() == "https://listen.example.org"
    with pytest.raises(CommandError, match=r"--url https://listen\.example\.org"):
        insist_on_tls("http://127.0.0.1:8000")
    insist_on_tls("https://localhost:8443")


def test_a_database_that_was_restarted_meanwhile_is_reached_again(db, monkeypatch):
    held, other = (connections.create_connection("default") for _ in range(2))
    with held.cursor() as cursor, other.cursor() as killer:
        cursor.execute("SELECT pg_backend_pid()")
        killer.execute("SELECT pg_terminate_backend(%s, 10000)", cursor.fetchone())
        with pytest.raises(OperationalError):
            cursor.execute("SELECT 1")
    real, tries = held.connect, iter([OperationalError("the database system is starting up")])

    def connect():
        for error in tries:
            raise error
        real()

    monkeypatch.setattr(held, "connect", connect)
    reach_again(held)
    with held.cursor() as cursor:
        cursor.execute("SELECT 1")
    gone = OperationalError("the database system is shutting down\n")
    monkeypatch.setattr(held, "get_new_connection", Mock(side_effect=gone))
    with pytest.raises(CommandError, match=r"nobody has looked .* shutting down"):
        reach_again(held, away_s=-1)
    other.close()
