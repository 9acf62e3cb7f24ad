"""To a provider of single sign-on, and back from it."""

from __future__ import annotations

from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView, OAuth2LoginView
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from requests import RequestException

from listening.accounts.adapters import failed
from listening.accounts.sign_on import Provider, SignOn, provider_of


def _provider(key: str) -> SignOn:
    found = provider_of(key)
    if found is None:
        raise Http404("No such provider is set.")
    return found


@never_cache
@require_POST
def begin(request: HttpRequest, provider_id: str) -> HttpResponse:
    """A page that leads on: our policy lets no form end at another site, wherever it is."""
    provider = _provider(provider_id)
    try:
        answer: HttpResponse = OAuth2LoginView.adapter_view(Provider(request, provider_id))(request)
    except (OAuth2Error, RequestException) as error:
        return failed(request, provider.name, exception=error)
    if answer.status_code != 302:
        return answer
    words = {"provider": provider, "onward": answer["Location"]}
    return render(request, "registration/onward.html", words)


@never_cache
@require_GET
def back(request: HttpRequest, provider_id: str) -> HttpResponse:
    provider = _provider(provider_id)
    try:
        answer: HttpResponse = OAuth2CallbackView.adapter_view(Provider(request, provider_id))(
            request
        )
    except (OAuth2Error, RequestException) as error:
        return failed(request, provider.name, exception=error)
    return answer
