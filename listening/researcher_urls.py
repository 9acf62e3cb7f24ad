"""The researcher's pages: log-in, studies, one study and what can be done with it, the gallery."""

from django.contrib.auth.views import LoginView
from django.urls import path

from listening.views import (
    accounts,
    draft_wire,
    drafts,
    gallery,
    invitations,
    preview,
    prolific,
    recruiting,
    researcher,
)

urlpatterns = [
    path("", researcher.home, name="home"),
    path("login/", LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("logout/", accounts.LogOut.as_view(), name="logout"),
    path("password/", accounts.ChangePassword.as_view(), name="password"),
    path("studies/", researcher.studies, name="studies"),
    path("studies/<slug:key>/", researcher.study, name="study"),
    path("studies/<slug:key>/state/", researcher.change_state, name="study-state"),
    path("studies/<slug:key>/reject/<int:pk>/", researcher.reject, name="session-reject"),
    path("studies/<slug:key>/simulated/", researcher.delete_simulated, name="simulated-delete"),
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
    path("new/", drafts.new_study, name="new-study"),
    path("drafts/<slug:code>/", drafts.sounds_page, name="draft"),
    path("drafts/<slug:code>/questions/", drafts.questions_page, name="draft-questions"),
    path("drafts/<slug:code>/raters/", drafts.raters_page, name="draft-raters"),
    path("drafts/<slug:code>/review/", drafts.review_page, name="draft-review"),
    path("drafts/<slug:code>/save/", draft_wire.save, name="draft-save"),
    path("drafts/<slug:code>/files/", draft_wire.files, name="draft-files"),
    path("drafts/<slug:code>/upload/", draft_wire.upload, name="draft-upload"),
    path("drafts/<slug:code>/do/", draft_wire.act, name="draft-do"),
    path("drafts/<slug:code>/folder.zip", draft_wire.download, name="draft-folder"),
    path("drafts/<slug:code>/clips/<path:name>", draft_wire.clip, name="draft-clip"),
    path("preview/drafts/<slug:code>/", preview.draft_preview, name="draft-preview"),
    path(
        "preview/drafts/<slug:code>/clips/<path:stimulus>",
        preview.draft_clip,
        name="draft-preview-clip",
    ),
    path(
        "preview/drafts/<slug:code>/checks/<str:check>/<str:seed>/<int:place>",
        preview.draft_sound,
        name="draft-preview-sound",
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
