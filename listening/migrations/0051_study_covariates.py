from django.db import migrations, models


class Migration(migrations.Migration):
    """A study may declare covariates of its clips."""

    dependencies = [("listening", "0050_systems_stop_alone")]

    operations = [
        migrations.AddField("study", "covariates", models.JSONField(default=list)),
    ]
