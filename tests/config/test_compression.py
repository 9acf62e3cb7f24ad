"""Pages leave compressed for browsers that take it; nothing else does."""

import gzip

import pytest
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.test import RequestFactory

from config.responses import PageCompression

PAGE = "<p>Listen to each clip to its end.</p>" * 100


def answered(response: HttpResponseBase, accepts: str = "gzip, br") -> HttpResponseBase:
    def view(_request: HttpRequest) -> HttpResponseBase:
        return response

    request = RequestFactory().get("/", headers={"Accept-Encoding": accepts})
    found = PageCompression(view)(request)
    assert isinstance(found, HttpResponseBase)
    return found


def test_a_page_is_compressed_and_says_so() -> None:
    response = answered(HttpResponse(PAGE))
    assert isinstance(response, HttpResponse)
    assert response["Content-Encoding"] == "gzip"
    assert int(response["Content-Length"]) == len(response.content) < len(PAGE) / 10
    assert gzip.decompress(response.content).decode() == PAGE
    assert "Accept-Encoding" in response["Vary"]


def test_compressed_lengths_of_one_page_differ() -> None:
    lengths = {answered(HttpResponse(PAGE))["Content-Length"] for _ in range(30)}
    assert len(lengths) > 1


@pytest.mark.parametrize(
    "response",
    [
        JsonResponse({"text": PAGE}),
        HttpResponse(PAGE, content_type="text/csv"),
        StreamingHttpResponse(iter([b"RIFF"]), content_type="audio/wav"),
    ],
)
def test_data_and_sound_are_left_as_they_are(response: HttpResponseBase) -> None:
    assert "Content-Encoding" not in answered(response)


def test_a_browser_that_takes_none_gets_it_plain() -> None:
    response = answered(HttpResponse(PAGE), accepts="identity")
    assert isinstance(response, HttpResponse)
    assert response.content.decode() == PAGE
