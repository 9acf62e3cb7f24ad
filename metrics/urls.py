"""Routes of the room: a study's metric scores."""

from django.urls import path

from metrics import views

urlpatterns = [
    path("studies/<slug:key>/metrics/", views.metrics_page, name="metrics"),
    path("studies/<slug:key>/metrics/score/", views.score, name="metrics-score"),
]
