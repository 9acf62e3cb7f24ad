from django.db import migrations, models

from listening.models.sealed import SealedCharField


class Migration(migrations.Migration):
    """Sessions know their project at the provider, studies sign, and invited people have names."""

    dependencies = [("listening", "0051_study_covariates")]

    operations = [
        migrations.AddField(
            "session",
            "external_project",
            SealedCharField(blank=True, db_default="", max_length=500),
        ),
        migrations.AddField(
            "study", "source_secrets", models.JSONField(default=dict, db_default={})
        ),
        migrations.AddField(
            "invitation", "name", SealedCharField(blank=True, db_default="", max_length=600)
        ),
    ]
