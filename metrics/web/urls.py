"""Routes of the metrics of a study."""

from django.urls import path

from metrics.web import code_suggestions, views, vocalisation_reviews

HERE = "studies/<slug:key>/metrics/"
EVENTS = "studies/<slug:key>/reviews/<int:pk>/"

urlpatterns = [
    path(HERE, views.metrics_page, name="metrics"),
    path(f"{HERE}state/", views.state, name="metrics-state"),
    path(f"{HERE}install/", views.install, name="metrics-install"),
    path(f"{HERE}score/", views.score, name="metrics-score"),
    path(f"{HERE}runs/<int:pk>/cancel/", views.cancel, name="metrics-cancel"),
    path(f"{HERE}runs/<int:pk>/continue/", views.carry_on, name="metrics-continue"),
    path(f"{HERE}import/", views.upload_scores, name="metrics-import"),
    path(f"{HERE}metric/", views.metric_page, name="metrics-metric"),
    path(f"{HERE}scores.csv", views.export, {"form": "csv"}, name="metrics-csv"),
    path(f"{EVENTS}events/", vocalisation_reviews.page, name="review-events"),
    path(f"{EVENTS}events.csv", vocalisation_reviews.export, name="review-events-csv"),
    path(f"{EVENTS}suggestions/", code_suggestions.page, name="review-suggestions"),
    path(f"{EVENTS}suggestions/ask/", code_suggestions.request_suggestions, name="review-suggest"),
    path(f"{HERE}scores.jsonl", views.export, {"form": "jsonl"}, name="metrics-jsonl"),
]
