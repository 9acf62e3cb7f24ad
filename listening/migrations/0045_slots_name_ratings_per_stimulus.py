"""A slot's number of ratings is called as in study.toml and in its task.

PostgreSQL's constraint follows a renamed column by itself; only Django's state of it is made anew.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("listening", "0044_study_low_cut_hz")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveConstraint("slot", "slot_replicate_below_target"),
            ]
        ),
        migrations.RenameField("slot", "target", "ratings_per_stimulus"),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AddConstraint(
                    "slot",
                    models.CheckConstraint(
                        condition=models.Q(replicate__lt=models.F("ratings_per_stimulus")),
                        name="slot_replicate_below_target",
                    ),
                ),
            ]
        ),
    ]
