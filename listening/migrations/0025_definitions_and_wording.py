"""Frozen definitions of studies, which nobody changes, and which wording a session read."""

import django.db.models.deletion
from django.db import migrations, models

FORWARD = """
CREATE FUNCTION listening_guard_definition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND coalesce(current_setting('earnest.deleting', true), '') = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'the definition of an opened study is frozen'
        USING ERRCODE = 'restrict_violation', CONSTRAINT = 'definitions_are_only_added';
END $$;
CREATE TRIGGER definitions_are_only_added BEFORE UPDATE OR DELETE ON listening_studydefinition
    FOR EACH ROW EXECUTE FUNCTION listening_guard_definition();
"""
BACKWARD = """
DROP TRIGGER definitions_are_only_added ON listening_studydefinition;
DROP FUNCTION listening_guard_definition();
"""


class Migration(migrations.Migration):
    dependencies = [("listening", "0024_indexes_for_deletes_and_tables")]

    operations = [
        migrations.CreateModel(
            name="StudyDefinition",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("revision", models.PositiveIntegerField()),
                ("toml", models.TextField()),
                ("clips", models.TextField()),
                ("sha256", models.CharField(max_length=64)),
                ("changes", models.JSONField(default=list)),
                ("reason", models.CharField(blank=True, max_length=300)),
                ("ratings", models.PositiveIntegerField()),
                ("by", models.CharField(max_length=150)),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("study", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="definitions", to="listening.study")),
            ],
            options={
                "ordering": ["study", "revision"],
                "constraints": [models.UniqueConstraint(fields=("study", "revision"), name="one_definition_per_study_and_revision")],
            },
        ),
        migrations.AddField(model_name="study", name="wording", field=models.PositiveIntegerField(default=0)),
        migrations.AddField(model_name="session", name="wording_first", field=models.PositiveIntegerField(default=0)),
        migrations.AddField(model_name="session", name="wording_last", field=models.PositiveIntegerField(default=0)),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
