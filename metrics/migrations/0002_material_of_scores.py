"""A score may depend on more than the audio: its material has a mark in the score's key."""

from django.db import migrations, models

BEFORE = ["sha256", "metric", "version", "parameters"]


class Migration(migrations.Migration):
    dependencies = [("metrics", "0001_metric_scores")]

    operations = [
        migrations.AddField(
            model_name="metricscore",
            name="given",
            field=models.CharField(
                blank=True,
                default="",
                help_text="Mark of the material beside the audio; of an imported score, of its study.",
                max_length=64,
            ),
        ),
        migrations.RemoveConstraint(
            model_name="metricscore",
            name="one_score_per_audio_metric_version_and_parameters",
        ),
        migrations.AddConstraint(
            model_name="metricscore",
            constraint=models.UniqueConstraint(
                fields=[*BEFORE, "given"],
                name="one_score_per_audio_metric_parameters_and_material",
            ),
        ),
        migrations.AlterField(
            model_name="metricscore",
            name="metric",
            field=models.CharField(help_text="The output's key.", max_length=100),
        ),
    ]
