"""Routes of a study's results and of the files that can be downloaded from them."""

from django.urls import path, re_path

from analysis.web import (
    boards,
    clips,
    corpus,
    downloads,
    planning_views,
    rater_rules,
    review_agreement,
    review_quotes,
    sharing,
    validity,
    views,
)

STUDY = "studies/<slug:key>/"
RESULTS = f"{STUDY}results/"
REVIEW = f"{STUDY}reviews/<int:pk>/"

urlpatterns = [
    path("drafts/<slug:code>/precision/", planning_views.precision, name="draft-precision"),
    path(f"{STUDY}planning/", planning_views.planning, name="planning"),
    path(f"{STUDY}planning/pilot/", planning_views.pilot, name="planning-pilot"),
    path(f"{STUDY}so-far/", planning_views.interim_page, name="so-far"),
    path(f"{STUDY}so-far/box/", planning_views.interim_box, name="so-far-box"),
    path(RESULTS, views.results, name="results"),
    path(f"{STUDY}corpus/", corpus.page, name="corpus"),
    path(f"{STUDY}corpus/check/", corpus.run, name="corpus-run"),
    path(f"{STUDY}corpus/<str:name>", corpus.file, name="corpus-file"),
    path("drafts/<slug:code>/corpus/", corpus.draft_page, name="draft-corpus"),
    path("drafts/<slug:code>/corpus/check/", corpus.draft_run, name="draft-corpus-run"),
    path("drafts/<slug:code>/corpus/<str:name>", corpus.draft_file, name="draft-corpus-file"),
    path(f"{STUDY}validity/", validity.page, name="validity"),
    path(f"{STUDY}validity/preregistration.md", validity.preregistration, name="preregistration"),
    path(f"{RESULTS}clips/", clips.clips, name="results-clips"),
    path(f"{STUDY}raters/<str:rater>/rules/", rater_rules.box, name="rater-rules"),
    path(
        f"{STUDY}reviews/<int:pk>/agreement/", review_agreement.agreement, name="review-agreement"
    ),
    path(f"{REVIEW}quotes/", review_quotes.page, name="review-quotes"),
    re_path(
        r"^studies/(?P<key>[-\w]+)/reviews/(?P<pk>[0-9]+)/quotes\.(?P<form>csv|md|tex)$",
        review_quotes.file,
        name="review-quotes-file",
    ),
    path(f"{RESULTS}state/", views.state, name="results-state"),
    path(f"{RESULTS}run/", views.run, name="results-run"),
    path(f"{RESULTS}combine/", views.combine, name="results-combine"),
    path(f"{RESULTS}links/", sharing.share, name="results-share"),
    path(f"{RESULTS}links/<int:pk>/end/", sharing.unshare, name="results-unshare"),
    path(
        f"{RESULTS}links/leaderboards/<int:pk>/end/",
        boards.unshare_board_of,
        name="results-unshare-leaderboard",
    ),
    path("leaderboards/", boards.boards, name="leaderboards"),
    path("leaderboards/<int:pk>/", boards.board_page, name="leaderboard"),
    path("leaderboards/<int:pk>/do/", boards.board_do, name="leaderboard-do"),
    path("leaderboards/<int:pk>/links/", boards.share_board, name="leaderboard-share"),
    path(
        "leaderboards/<int:pk>/links/<int:link>/end/",
        boards.unshare_board,
        name="leaderboard-unshare",
    ),
    path("leaderboards/<int:pk>/<str:name>", boards.board_file, name="leaderboard-file"),
    path("shared/leaderboards/<str:token>/", boards.shared_board, name="shared-leaderboard"),
    path(
        "shared/leaderboards/<str:token>/<str:name>",
        boards.shared_file,
        name="shared-leaderboard-file",
    ),
    path("shared/<str:token>/", sharing.shared_results, name="shared-results"),
    path("shared/<str:token>/clips/<path:stimulus>", sharing.shared_clip, name="shared-clip"),
    path(f"{RESULTS}runs/<int:pk>/again/", views.again, name="results-again"),
    path(f"{RESULTS}runs/<int:pk>/cancel/", views.cancel, name="results-cancel"),
    path(f"{RESULTS}runs/<int:pk>/make/<str:name>/", views.make_file, name="results-make"),
    re_path(
        r"^studies/(?P<key>[-\w]+)/results/ratings\.(?P<kind>csv|json)$",
        downloads.ratings_file,
        name="results-ratings",
    ),
    path(f"{RESULTS}sessions.csv", downloads.sessions_file, name="results-sessions"),
    path(
        f"{RESULTS}questionnaires.csv",
        downloads.questionnaires_file,
        name="results-questionnaires",
    ),
    path(f"{RESULTS}report-card/", views.report_card_page, name="report-card"),
    re_path(
        r"^studies/(?P<key>[-\w]+)/results/report-card\.(?P<kind>md|tex|json)$",
        views.report_card_file,
        name="report-card-file",
    ),
    path(f"{RESULTS}scores.csv", downloads.scores_file, name="results-scores"),
    path(f"{RESULTS}<str:name>", downloads.report_file, name="results-file"),
]
