"""The operations of the API: what its schema describes."""

from django.urls import path

from rest import catalogue, ratings, results, scores, sessions, studies, uploads, webhooks

V1 = "api/v1/"
ONE = f"{V1}studies/<slug:key>/"
api = [
    path(f"{V1}methods", catalogue.Methods.as_view(), name="api-v1-methods"),
    path(f"{V1}presets", catalogue.Presets.as_view(), name="api-v1-presets"),
    path(f"{V1}presets/<str:name>", catalogue.OnePreset.as_view(), name="api-v1-preset"),
    path(f"{V1}plans", catalogue.Plans.as_view(), name="api-v1-plans"),
    path(f"{V1}studies", studies.Studies.as_view(), name="api-v1-studies"),
    path(f"{V1}validations", studies.Validation.as_view(), name="api-v1-validations"),
    path(f"{V1}uploads", uploads.Uploads.as_view(), name="api-v1-uploads"),
    path(f"{V1}uploads/<slug:code>", uploads.OneUpload.as_view(), name="api-v1-upload"),
    path(f"{V1}webhooks", webhooks.Webhooks.as_view(), name="api-v1-webhooks"),
    path(f"{V1}webhooks/<int:pk>", webhooks.OneWebhook.as_view(), name="api-v1-webhook"),
    path(ONE[:-1], studies.OneStudy.as_view(), name="api-v1-study"),
    path(f"{ONE}state", studies.StudyState.as_view(), name="api-v1-state"),
    path(f"{ONE}findings", studies.StudyFindings.as_view(), name="api-v1-findings"),
    path(f"{ONE}preview", studies.Preview.as_view(), name="api-v1-preview"),
    path(f"{ONE}copies", studies.StudyCopies.as_view(), name="api-v1-copies"),
    path(f"{ONE}progress", studies.Progress.as_view(), name="api-v1-progress"),
    path(f"{ONE}sessions", sessions.Sessions.as_view(), name="api-v1-sessions"),
    path(f"{ONE}decisions", sessions.Decisions.as_view(), name="api-v1-decisions"),
    path(f"{ONE}ratings", ratings.Ratings.as_view(), name="api-v1-ratings"),
    path(f"{ONE}results", results.StudyResults.as_view(), name="api-v1-results"),
    path(f"{ONE}results/files/<str:name>", results.ResultsFile.as_view(), name="api-v1-file"),
    path(f"{ONE}results/runs", results.Runs.as_view(), name="api-v1-runs"),
    path(f"{ONE}results/runs/<int:run>", results.OneRun.as_view(), name="api-v1-run"),
    path(f"{ONE}metrics/runs", scores.ScoringRuns.as_view(), name="api-v1-scoring-runs"),
    path(f"{ONE}metrics/runs/<int:run>", scores.OneScoringRun.as_view(), name="api-v1-scoring-run"),
    path(f"{ONE}metrics/scores", scores.Scores.as_view(), name="api-v1-scores"),
]
