"""What a list of many studies needs: names, tags, an archive; and versions of a study."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("listening", "0019_study_events")]

    operations = [
        migrations.AddField("study", "name", models.CharField(blank=True, max_length=120)),
        migrations.AddField(
            "study",
            "tags",
            django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=40), default=list, size=None
            ),
        ),
        migrations.AddField("study", "archived_at", models.DateTimeField(null=True)),
        migrations.AddField("study", "version", models.PositiveSmallIntegerField(default=1)),
        migrations.AddField(
            "study",
            "version_of",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="later_versions",
                to="listening.study",
            ),
        ),
        migrations.AddField("study", "keeps_out_earlier", models.BooleanField(default=False)),
        migrations.AddConstraint(
            "study",
            models.CheckConstraint(
                condition=models.Q(("keeps_out_earlier", False), ("version__gt", 1), _connector="OR"),
                name="only_a_later_version_keeps_out_earlier_raters",
            ),
        ),
    ]
