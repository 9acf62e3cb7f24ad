from django.db import migrations, models


class Migration(migrations.Migration):
    """A task may say how many raters each of its conditions needs."""

    dependencies = [("listening", "0046_conditions_may_be_prompts")]

    operations = [
        migrations.AddField("task", "min_raters", models.PositiveSmallIntegerField(null=True)),
    ]
