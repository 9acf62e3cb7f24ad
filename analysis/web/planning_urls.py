"""Routes of the planning page, and of what a running study may say so far."""

from django.urls import path

from analysis.web import planning_views

urlpatterns = [
    path("drafts/<slug:code>/precision/", planning_views.precision, name="draft-precision"),
    path("studies/<slug:key>/planning/", planning_views.planning, name="planning"),
    path("studies/<slug:key>/planning/pilot/", planning_views.pilot, name="planning-pilot"),
    path("studies/<slug:key>/so-far/", planning_views.interim_page, name="so-far"),
    path("studies/<slug:key>/so-far/box/", planning_views.interim_box, name="so-far-box"),
]
