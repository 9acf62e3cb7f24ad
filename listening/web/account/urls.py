"""Routes of log-in, the account page, second factors and sign-on.

Routes with two names have a second one by which allauth looks for them. Allauth's own sign-up,
log-in, password reset and email pages are left out.
"""

from __future__ import annotations

from allauth.account.views import reauthenticate
from allauth.mfa.base import views as factors
from allauth.mfa.recovery_codes import views as codes
from allauth.mfa.totp import views as totp
from allauth.mfa.webauthn import views as keys
from django.urls import path

from listening.web.account import account_page, login

log_in, log_out = login.LogIn.as_view(), login.LogOut.as_view()
urlpatterns = [
    path("login/", log_in, name="login"),
    path("login/", log_in, name="account_login"),
    path("login/second/", factors.authenticate, name="mfa_authenticate"),
    path("login/passkey/", keys.login_webauthn, name="mfa_login_webauthn"),
    path("logout/", log_out, name="logout"),
    path("password/lost/", login.LostPassword.as_view(), name="password-lost"),
    path("password/<uidb64>/<token>/", login.SetPassword.as_view(), name="password-set"),
    path("password/", login.ChangePassword.as_view(), name="password"),
    path("account/", account_page.page, name="account"),
    path("account/", account_page.page, name="mfa_index"),
    path("account/", account_page.page, name="mfa_list_webauthn"),
    path("account/do/", account_page.do, name="account-do"),
    path("account/confirm/", reauthenticate, name="account_reauthenticate"),
    path("account/confirm/code/", factors.reauthenticate, name="mfa_reauthenticate"),
    path("account/confirm/key/", keys.reauthenticate_webauthn, name="mfa_reauthenticate_webauthn"),
    path("account/app/", totp.activate_totp, name="mfa_activate_totp"),
    path("account/app/remove/", totp.deactivate_totp, name="mfa_deactivate_totp"),
    path("account/keys/add/", keys.add_webauthn, name="mfa_add_webauthn"),
    path("account/keys/<int:pk>/", keys.edit_webauthn, name="mfa_edit_webauthn"),
    path("account/keys/<int:pk>/remove/", keys.remove_webauthn, name="mfa_remove_webauthn"),
    path("account/codes/", codes.view_recovery_codes, name="mfa_view_recovery_codes"),
    path("account/codes/new/", codes.generate_recovery_codes, name="mfa_generate_recovery_codes"),
    path("sign-on/<slug:provider_id>/", login.begin, name="openid_connect_login"),
    path("sign-on/<slug:provider_id>/back/", login.back, name="openid_connect_callback"),
]
