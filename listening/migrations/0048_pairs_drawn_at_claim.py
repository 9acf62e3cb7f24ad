import django.db.models.deletion
from django.db import migrations, models

CASCADE = django.db.models.deletion.CASCADE


class Migration(migrations.Migration):
    """Pairs that are drawn when a rater claims a block: their counts, last fit and probability."""

    dependencies = [("listening", "0047_task_min_raters")]

    operations = [
        migrations.CreateModel(
            name="PairFit",
            fields=[
                (
                    "task",
                    models.OneToOneField(
                        on_delete=CASCADE,
                        primary_key=True,
                        related_name="pair_fit",
                        serialize=False,
                        to="listening.task",
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("answers", models.PositiveIntegerField()),
                ("drawn", models.PositiveIntegerField()),
                ("strengths", models.JSONField()),
                ("pairs", models.JSONField()),
                ("fitted_at", models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.AddField("slot", "pair_probability", models.FloatField(null=True)),
        migrations.AddField("trial", "pair_probability", models.FloatField(null=True)),
        migrations.CreateModel(
            name="PairCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("versus_starts", models.BooleanField()),
                ("drawn", models.PositiveIntegerField(default=0)),
                (
                    "condition",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=CASCADE,
                        related_name="+",
                        to="listening.condition",
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=CASCADE,
                        related_name="pair_counts",
                        to="listening.task",
                    ),
                ),
                (
                    "versus",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=CASCADE,
                        related_name="+",
                        to="listening.condition",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=["task", "condition", "versus"], name="pair_count_once_per_task"
                    )
                ]
            },
        ),
    ]
