"""A form that was refused, said in the language of the study that it belongs to."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import translation

from listening.common.languages import interface_language, page_words
from listening.models import Study


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Most often a browser without cookies; the reason is not for the rater."""
    match = request.resolver_match
    link = match.kwargs.get("link", "") if match else ""
    study = Study.objects.filter(link=link).first() if link else None
    here = interface_language(study.language) if study else translation.get_language()
    with translation.override(here):
        words = page_words(study.language) if study else {}
        return render(request, "403_csrf.html", words, status=403)
