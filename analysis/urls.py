"""Routes of the room: a study's results and the files that can be taken from them."""

from django.urls import path, re_path

from analysis import views

urlpatterns = [
    path("studies/<slug:key>/results/", views.results, name="results"),
    path("studies/<slug:key>/results/run/", views.run, name="results-run"),
    re_path(
        r"^studies/(?P<key>[-\w]+)/results/ratings\.(?P<kind>csv|json)$",
        views.ratings_file,
        name="results-ratings",
    ),
    path("studies/<slug:key>/results/sessions.csv", views.sessions_file, name="results-sessions"),
    path("studies/<slug:key>/results/scores.csv", views.scores_file, name="results-scores"),
    path("studies/<slug:key>/results/<str:name>", views.report_file, name="results-file"),
]
