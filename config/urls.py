"""The routes of the whole house: each room brings its own."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from config.operations import pages

handler500 = "config.operations.unavailable.failed"
urlpatterns: list[URLPattern | URLResolver] = [
    path("readyz", pages.readyz, name="readyz"),
    path("metrics", pages.metrics, name="metrics"),
    path("operations/", pages.operations, name="operations"),
    path("admin/", admin.site.urls),
]
for room in ("listening", "metrics", "analysis.web"):
    urlpatterns.append(path("", include(f"{room}.urls")))
