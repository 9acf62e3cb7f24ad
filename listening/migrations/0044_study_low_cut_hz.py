from django.db import migrations, models


class Migration(migrations.Migration):
    """Clips that were imported before this field lost what is below 20 Hz."""

    dependencies = [("listening", "0043_links_know_their_makers_account")]

    operations = [
        migrations.AddField("study", "low_cut_hz", models.PositiveSmallIntegerField(default=20)),
        migrations.AlterField("study", "low_cut_hz", models.PositiveSmallIntegerField(default=50)),
    ]
