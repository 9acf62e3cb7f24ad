from django.db import migrations, models


class Migration(migrations.Migration):
    """Whether the scripts of a session's page ran: unknown of those that began before."""

    dependencies = [("listening", "0040_asked_jobs")]

    operations = [
        migrations.AddField("session", "scripts_ran", models.BooleanField(null=True)),
    ]
