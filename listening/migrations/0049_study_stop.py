import django.db.models.deletion
from django.db import migrations, models

KEY = models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")
DECISIONS = [
    ("go_on", "Continue"),
    ("stop", "Stop"),
    ("end", "End"),
]


class Migration(migrations.Migration):
    """A study may have a stop rule; each of its looks is a row."""

    dependencies = [("listening", "0048_pairs_drawn_at_claim")]

    operations = [
        migrations.AddField("study", "stop", models.JSONField(default=dict)),
        migrations.CreateModel(
            name="StopLook",
            fields=[
                ("id", KEY),
                ("number", models.PositiveSmallIntegerField()),
                ("planned", models.PositiveIntegerField()),
                ("sessions", models.PositiveIntegerField()),
                ("in_progress", models.PositiveIntegerField()),
                ("data_sha256", models.CharField(blank=True, max_length=64)),
                ("rules", models.JSONField(default=list)),
                ("families", models.JSONField(default=list)),
                ("why", models.CharField(max_length=300)),
                ("decision", models.CharField(choices=DECISIONS, max_length=5)),
                ("act", models.CharField(max_length=5)),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="looks",
                        to="listening.study",
                    ),
                ),
            ],
            options={
                "ordering": ["study", "number"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("study", "number"), name="a_look_is_made_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(number__gte=1), name="looks_are_numbered_from_1"
                    ),
                ],
            },
        ),
    ]
