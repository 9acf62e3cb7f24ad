"""The routes of the whole house: each room brings its own."""

from django.contrib import admin
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.urls import URLPattern, URLResolver, include, path
from django.views.decorators.cache import never_cache
from redis.exceptions import RedisError


@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """Answers 200 when the database and the cache answer, else 503 with what is missing."""
    missing = []
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        missing.append("database")
    try:
        cache.get("healthz")
    except RedisError:
        missing.append("cache")
    status = {"status": "unavailable" if missing else "ok", "missing": missing}
    return JsonResponse(status, status=503 if missing else 200)


urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", healthz, name="healthz"),
    path("admin/", admin.site.urls),
]
for room in ("listening", "metrics", "analysis.web"):
    urlpatterns.append(path("", include(f"{room}.urls")))
