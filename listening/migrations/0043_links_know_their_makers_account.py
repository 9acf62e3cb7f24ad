from typing import Any

from django.conf import settings
from django.db import migrations, models


def find_makers(apps: Any, schema_editor: Any) -> None:
    """Links were matched to accounts by name: each gets the account that has its name now."""
    accounts = apps.get_model(settings.AUTH_USER_MODEL).objects
    for name in ("Reviewer", "MemberInvitation"):
        rows = apps.get_model("listening", name).objects.exclude(digest="")
        for by in set(rows.values_list("by", flat=True)):
            maker = accounts.filter(username=by).values_list("pk", flat=True).first()
            if maker is not None:
                rows.filter(by=by).update(made_by=maker)


def made_by() -> models.ForeignKey[Any, Any]:
    return models.ForeignKey(
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        to=settings.AUTH_USER_MODEL,
    )


class Migration(migrations.Migration):
    dependencies = [
        ("listening", "0042_terms_read_at_prolific"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField("reviewer", "made_by", made_by()),
        migrations.AddField("memberinvitation", "made_by", made_by()),
        migrations.RunPython(find_makers, migrations.RunPython.noop),
    ]
