"""The routes of the whole house: each room brings its own."""

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, URLResolver, include, path, reverse

from config.operations import pages


def admin_log_in(request: HttpRequest, **_: object) -> HttpResponse:
    """Records have no log-in of their own: there is one form, and what it asks for."""
    if not request.user.is_authenticated:
        return redirect_to_login(request.GET.get("next") or reverse("admin:index"))
    if not admin.site.has_permission(request):
        raise PermissionDenied("Records are for superusers.")
    return redirect("admin:index")


admin.site.site_url = f"{settings.EARNEST_PATH}/"
admin.site.login = admin_log_in  # type: ignore[method-assign, assignment]
handler500 = "config.operations.unavailable.failed"
routes: list[URLPattern | URLResolver] = [
    path("readyz", pages.readyz, name="readyz"),
    path("metrics", pages.metrics, name="metrics"),
    path("operations/", pages.operations, name="operations"),
    path("admin/", admin.site.urls),
]
for room in ("rest", "listening", "metrics.web", "analysis.web"):
    routes.append(path("", include(f"{room}.urls")))
urlpatterns: list[URLPattern | URLResolver] = routes
if settings.EARNEST_PATH:
    urlpatterns = [path(f"{settings.EARNEST_PATH.strip('/')}/", include(routes))]
