"""Login and logout, single sign-on at a provider, a new password, and a lost one."""

from __future__ import annotations

from allauth.account.internal.flows.login import record_authentication
from allauth.account.utils import perform_login
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView, OAuth2LoginView
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.forms import (
    AuthenticationForm,
    PasswordChangeForm,
    PasswordResetForm,
    SetPasswordForm,
)
from django.contrib.auth.models import User
from django.contrib.auth.views import (
    LoginView,
    LogoutView,
    PasswordChangeView,
    PasswordResetConfirmView,
    PasswordResetView,
)
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from requests import RequestException

from listening.accounts import logins
from listening.accounts.adapters import failed
from listening.accounts.links import LinkByMail
from listening.accounts.sign_on import Provider, SignOn, provider_of
from listening.common.addresses import public


class LogIn(LoginView):
    """The way in; it says what to do about a lost password, which depends on a mail server."""

    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: object) -> dict[str, object]:
        return super().get_context_data(**kwargs) | {
            "can_mail": bool(settings.EARNEST_MAIL),
            "providers": settings.EARNEST_SIGN_ONS,
        }

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """The password is right: what else the account asks for comes next."""
        self.request.password_was_right = True  # type: ignore[attr-defined]  # for limits
        user, onward = form.get_user(), self.get_success_url()
        record_authentication(self.request, user, method="password")
        done: HttpResponse = perform_login(self.request, user, redirect_url=onward)
        return done


class ChangePassword(PasswordChangeView):
    """Asks for the old one; all other log-ins of the account end."""

    template_name = "registration/password.html"
    success_url = reverse_lazy("account")

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        response = super().form_valid(form)
        logins.end(form.user, self.request)
        UserSession.objects.create_from_request(self.request)
        words = "Password changed. All other browsers were logged out."
        messages.success(self.request, words)
        return response


class LostPassword(PasswordResetView):
    """Mails a link to the account's address. What it says tells nobody who has an account."""

    form_class = LinkByMail
    template_name = "registration/lost.html"
    email_template_name = "registration/lost_mail.txt"
    subject_template_name = "registration/lost_subject.txt"
    success_url = reverse_lazy("login")

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        if not settings.EARNEST_MAIL:
            raise Http404("No mail server is configured, so Earnest cannot send a link.")
        self.extra_email_context = {
            "site": settings.EARNEST_PUBLIC_URL,
            "origin": public(""),
        }
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: PasswordResetForm) -> HttpResponse:
        response = super().form_valid(form)
        words = "If an account has this address, you will receive a link in a few minutes."
        messages.success(self.request, words)
        return response


class SetPassword(PasswordResetConfirmView):
    """What a link leads to that was mailed, or printed by `manage.py password_link`."""

    template_name = "registration/set_password.html"
    success_url = reverse_lazy("login")

    def form_valid(self, form: SetPasswordForm[User]) -> HttpResponse:
        response = super().form_valid(form)
        messages.success(self.request, "Password set. You can now log in.")
        return response


class LogOut(LogoutView):
    """The browser drops what it kept of pages, too."""

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        response = super().dispatch(request, *args, **kwargs)
        response["Clear-Site-Data"] = '"cache"'
        return response


def _provider(key: str) -> SignOn:
    provider = provider_of(key)
    if provider is None:
        raise Http404("This login provider is not configured.")
    return provider


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
