"""The researcher's pages: log-in, studies, one study and what can be done with it, the gallery."""

from django.urls import path

from listening.views import (
    accounts,
    gallery,
    invitations,
    manage,
    preview,
    prolific,
    recruiting,
    researcher,
    study_list,
)

urlpatterns = [
    path("", study_list.home, name="home"),
    path("login/", accounts.LogIn.as_view(), name="login"),
    path("logout/", accounts.LogOut.as_view(), name="logout"),
    path("password/lost/", accounts.LostPassword.as_view(), name="password-lost"),
    path("password/<uidb64>/<token>/", accounts.SetPassword.as_view(), name="password-set"),
    path("password/", accounts.ChangePassword.as_view(), name="password"),
    path("studies/", study_list.studies, name="studies"),
    path("deleted-studies/", manage.deleted, name="deleted-studies"),
    path("studies/<slug:key>/", researcher.study, name="study"),
    path("studies/<slug:key>/state/", researcher.change_state, name="study-state"),
    path("studies/<slug:key>/reject/<int:pk>/", researcher.reject, name="session-reject"),
    path("studies/<slug:key>/simulated/", researcher.delete_simulated, name="simulated-delete"),
    path("studies/<slug:key>/manage/", manage.page, name="manage"),
    path("studies/<slug:key>/manage/do/", manage.do, name="manage-do"),
    path("studies/<slug:key>/log/", manage.log, name="log"),
    path("studies/<slug:key>/log.csv", manage.log_csv, name="log-csv"),
    path("studies/<slug:key>/recruiting/", recruiting.page, name="recruiting"),
    path("studies/<slug:key>/recruiting/do/", recruiting.do, name="recruiting-do"),
    path("studies/<slug:key>/recruiting/ledger.csv", recruiting.ledger_csv, name="ledger"),
    path("studies/<slug:key>/invitations/<slug:source>/", invitations.page, name="invitations"),
    path("studies/<slug:key>/invitations/<slug:source>/do/", invitations.do, name="invitations-do"),
    path(
        "studies/<slug:key>/invitations/<slug:source>/links.csv",
        invitations.links_csv,
        name="invitations-csv",
    ),
    path("prolific/", prolific.connection_page, name="prolific"),
    path("prolific/do/", prolific.connection_do, name="prolific-do"),
    path("hooks/prolific/<int:pk>/", prolific.hook, name="prolific-hook"),
    path("studies/<slug:key>/preview/", preview.study_preview, name="study-preview"),
    path(
        "preview/studies/<slug:key>/clips/<path:stimulus>",
        preview.study_clip,
        name="study-preview-clip",
    ),
    path(
        "preview/studies/<slug:key>/checks/<str:check>/<str:seed>/<int:place>",
        preview.study_sound,
        name="study-preview-sound",
    ),
    path("gallery/", gallery.gallery, name="gallery"),
    path("preview/examples/<slug:name>/", preview.example_preview, name="example-preview"),
    path(
        "preview/examples/<slug:name>/clips/<path:stimulus>",
        preview.example_clip,
        name="example-preview-clip",
    ),
    path(
        "preview/examples/<slug:name>/checks/<str:check>/<str:seed>/<int:place>",
        preview.example_sound,
        name="example-preview-sound",
    ),
]
