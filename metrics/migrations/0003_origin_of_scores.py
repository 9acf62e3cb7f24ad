"""Scores computed elsewhere are told from those computed here."""

from django.db import migrations, models

BEFORE = ["sha256", "metric", "version", "parameters", "given"]


class Migration(migrations.Migration):
    dependencies = [("metrics", "0002_material_of_scores")]

    operations = [
        migrations.AddField(
            model_name="metricscore",
            name="origin",
            field=models.CharField(
                choices=[("computed", "Computed"), ("imported", "Imported")],
                default="computed",
                max_length=8,
            ),
        ),
        migrations.RemoveConstraint(
            model_name="metricscore",
            name="one_score_per_audio_metric_parameters_and_material",
        ),
        migrations.AddConstraint(
            model_name="metricscore",
            constraint=models.UniqueConstraint(
                fields=[*BEFORE, "origin"],
                name="one_score_per_audio_metric_parameters_material_and_origin",
            ),
        ),
    ]
