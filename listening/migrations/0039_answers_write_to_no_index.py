"""An answer changes a trial in its own page, and writes to none of its indexes ("heap-only").

For that, no index may know of the state itself, and a page needs room for the new row.
"""

from django.db import migrations, models

import listening.models.codes

ADD = """
ALTER TABLE listening_trial SET (fillfactor = 35);
ALTER TABLE listening_trial
    ADD COLUMN is_met boolean NOT NULL
        GENERATED ALWAYS AS (state IN ('planned', 'answered')) STORED,
    ADD COLUMN is_skipped boolean NOT NULL GENERATED ALWAYS AS (state = 'skipped') STORED;
"""
REMOVE = """
ALTER TABLE listening_trial RESET (fillfactor);
ALTER TABLE listening_trial DROP COLUMN is_met, DROP COLUMN is_skipped;
"""


def generated(condition: models.Q) -> models.GeneratedField:
    return models.GeneratedField(
        db_persist=True,
        expression=condition,  # type: ignore[arg-type]
        output_field=models.BooleanField(),
    )


class Migration(migrations.Migration):
    dependencies = [("listening", "0038_training_pass")]

    operations = [
        migrations.RemoveConstraint("trial", "rater_meets_it_once_per_task"),
        migrations.RemoveIndex("trial", "trial_skipped_stimulus"),
        migrations.SeparateDatabaseAndState(
            [migrations.RunSQL(ADD, REMOVE)],  # both at once: the table is written anew
            [
                migrations.AddField(
                    "trial", "is_met", generated(models.Q(state__in=["planned", "answered"]))
                ),
                migrations.AddField("trial", "is_skipped", generated(models.Q(state="skipped"))),
            ],
        ),
        migrations.AlterField(
            "trial",
            "code",
            models.CharField(
                default=listening.models.codes.trial_code, editable=False, max_length=20
            ),
        ),
        migrations.AddIndex(
            "trial",
            models.Index(
                condition=models.Q(is_skipped=True),
                fields=["stimulus"],
                name="trial_skipped_stimulus",
            ),
        ),
        migrations.AddConstraint(
            "trial", models.UniqueConstraint(fields=("code",), name="trial_code_once")
        ),
        migrations.AddConstraint(
            "trial",
            models.UniqueConstraint(
                condition=models.Q(is_met=True, meets__isnull=False),
                fields=("rater", "task", "meets"),
                name="rater_meets_it_once_per_task",
            ),
        ),
    ]
