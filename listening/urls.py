"""Routes of the room: raters' pages and API by random codes, researchers' by study keys."""

from django.urls import include, path

from listening import api
from listening.views import rater

urlpatterns = [
    path("r/<str:link>/", rater.landing, name="landing"),
    path("s/<str:code>/", rater.session_page, name="session"),
    path("checks/<slug:key>.wav", rater.check_sound, name="check-sound"),
    path("api/s/<str:code>/", api.StateView.as_view(), name="api-state"),
    path("api/s/<str:code>/checks/", api.CheckView.as_view(), name="api-checks"),
    path("api/s/<str:code>/answers/", api.AnswerView.as_view(), name="api-answers"),
    path("api/s/<str:code>/withdraw/", api.WithdrawView.as_view(), name="api-withdraw"),
    path("", include("listening.researcher_urls")),
]
