"""The researcher's pages: log-in, studies, one study and what can be done with it."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from listening.views import researcher

urlpatterns = [
    path("", researcher.home, name="home"),
    path("login/", LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("studies/", researcher.studies, name="studies"),
    path("studies/<slug:key>/", researcher.study, name="study"),
    path("studies/<slug:key>/state/", researcher.change_state, name="study-state"),
    path("studies/<slug:key>/reject/<int:pk>/", researcher.reject, name="session-reject"),
    path("studies/<slug:key>/simulated/", researcher.delete_simulated, name="simulated-delete"),
]
