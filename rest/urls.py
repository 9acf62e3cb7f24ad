"""Routes: the API under /api/v1/, its page for people, and the page of one's tokens."""

from django.urls import path, re_path

from rest import pages, schema
from rest.routes import V1, api

urlpatterns = [
    *api,
    path(f"{V1}openapi.json", schema.as_json, name="api-v1-schema"),
    path(f"{V1}openapi.yaml", schema.as_yaml, name="api-v1-schema-yaml"),
    re_path(r"^api/v1/(?P<rest>[\s\S]*)\Z", schema.unknown, name="api-v1-unknown"),
    path("api/", pages.reference, name="rest-reference"),
    path("account/tokens/", pages.tokens_page, name="tokens"),
    path("account/tokens/do/", pages.tokens_do, name="tokens-do"),
]
