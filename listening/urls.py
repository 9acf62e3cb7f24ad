"""Routes of the room: raters' pages and API by random codes, researchers' by study keys."""

from django.urls import include, path, register_converter
from django.urls.converters import StringConverter

from listening.web.rater import api, pages
from listening.web.review import desk


class CodeConverter(StringConverter):
    """A link or session code as far as a database can look it up; the rest are unknown pages."""

    regex = r"[^/\x00]{1,64}"


register_converter(CodeConverter, "code")

urlpatterns = [
    path("r/<code:link>/", pages.landing, name="landing"),
    path("s/<code:code>/", pages.session_page, name="session"),
    path("k/<str:token>", pages.check_sound, name="check-sound"),
    path("api/s/<code:code>/", api.StateView.as_view(), name="api-state"),
    path("api/s/<code:code>/checks/", api.CheckView.as_view(), name="api-checks"),
    path("api/s/<code:code>/answers/", api.AnswerView.as_view(), name="api-answers"),
    path(
        "api/s/<code:code>/questionnaires/",
        api.QuestionnaireView.as_view(),
        name="api-questionnaires",
    ),
    path("api/s/<code:code>/skips/", api.SkipView.as_view(), name="api-skips"),
    path("api/s/<code:code>/loaded/", api.LoadedView.as_view(), name="api-loaded"),
    path("api/s/<code:code>/comments/", api.CommentView.as_view(), name="api-comments"),
    path("api/s/<code:code>/withdraw/", api.WithdrawView.as_view(), name="api-withdraw"),
    path("review/<code:token>/", desk.desk, name="review-desk"),
    path("review/<code:token>/next/", desk.next_items, name="review-next"),
    path("review/<code:token>/verdicts/", desk.verdicts, name="review-verdicts"),
    path("review/<code:token>/clips/<uuid:item>/<int:place>", desk.clip, name="review-clip"),
    path("", include("listening.web.researcher.urls")),
]
