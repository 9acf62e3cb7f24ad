from django.db import migrations, models

WHOLE = """
CREATE OR REPLACE FUNCTION listening_block_is_whole(block bigint)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT NOT EXISTS (
        SELECT 1 FROM listening_slot s WHERE s.block_id = block{and_recruits}
        AND (SELECT count(*) FROM listening_rating r WHERE r.slot_id = s.id AND r.counts)
            < (1 + cardinality(s.others))
              * (SELECT count(*) FROM listening_criterion c WHERE c.task_id = s.task_id))
$$;
"""


class Migration(migrations.Migration):
    """A system that is decided receives no more raters; a look that fails is known."""

    dependencies = [("listening", "0049_study_stop")]

    operations = [
        migrations.AddField(
            "slot", "is_stopped", models.BooleanField(default=False, db_default=False)
        ),
        migrations.AddField("stoplook", "separable", models.JSONField(default=list)),
        migrations.AddField("stoplook", "stopped", models.JSONField(default=list)),
        migrations.AddField(
            "study", "look_problem", models.JSONField(default=dict, db_default={})
        ),
        migrations.RunSQL(
            WHOLE.format(and_recruits=" AND NOT s.is_stopped"), WHOLE.format(and_recruits="")
        ),
    ]
