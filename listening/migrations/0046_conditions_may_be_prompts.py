from django.db import migrations, models

ROLES = ("test", "reference", "anchor", "trap", "prompt")


class Migration(migrations.Migration):
    """A condition may hold prompts: recordings that raters hear before a clip and never rate."""

    dependencies = [("listening", "0045_slots_name_ratings_per_stimulus")]

    operations = [
        migrations.AlterField(
            "condition",
            "role",
            models.CharField(
                max_length=9,
                choices=[(role, role.capitalize()) for role in ROLES],
                default="test",
            ),
        ),
    ]
