"""The log of studies, and a trigger that lets nobody change or delete a line of it."""

from django.db import migrations, models

FORWARD = """
CREATE FUNCTION listening_guard_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the log of a study is only added to'
        USING ERRCODE = 'restrict_violation', CONSTRAINT = 'events_are_only_added';
END $$;
CREATE TRIGGER events_are_only_added BEFORE UPDATE OR DELETE ON listening_studyevent
    FOR EACH ROW EXECUTE FUNCTION listening_guard_event();
"""
BACKWARD = """
DROP TRIGGER events_are_only_added ON listening_studyevent;
DROP FUNCTION listening_guard_event();
"""


class Migration(migrations.Migration):
    dependencies = [("listening", "0018_material_goes_with_its_study")]

    operations = [
        migrations.CreateModel(
            name="StudyEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("study_id", models.BigIntegerField()),
                ("key", models.CharField(max_length=80)),
                ("owner_id", models.BigIntegerField()),
                ("by", models.CharField(max_length=150)),
                ("what", models.CharField(max_length=40)),
                ("details", models.JSONField(default=dict)),
                ("at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["-at", "-pk"],
                "indexes": [
                    models.Index(fields=["study_id", "-at"], name="event_by_study"),
                    models.Index(fields=["what", "-at"], name="event_by_kind"),
                ],
            },
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
