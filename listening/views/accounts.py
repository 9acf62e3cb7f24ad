"""A researcher's own account: a new password, and leaving."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.views import LogoutView, PasswordChangeView
from django.http import HttpRequest, HttpResponse
from django.urls import reverse_lazy


class ChangePassword(PasswordChangeView):
    """Asks for the old one; all other log-ins of the account end."""

    template_name = "registration/password.html"
    success_url = reverse_lazy("studies")

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        response = super().form_valid(form)
        words = "Your password is changed. You are logged out of all other browsers."
        messages.success(self.request, words)
        return response


class LogOut(LogoutView):
    """The browser drops what it kept of pages, too."""

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        response = super().dispatch(request, *args, **kwargs)
        response["Clear-Site-Data"] = '"cache"'
        return response
