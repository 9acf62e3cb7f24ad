"""Reviews of clips outlive a draft that is replaced; what was left out, by whom and why."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("listening", "0033_review_desk"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="reviewitem", name="a_review_item_is_a_reason_or_a_clip"
        ),
        migrations.AddField(
            model_name="reviewitem", name="clip", field=models.JSONField(default=dict)
        ),
        migrations.AlterField(
            model_name="reviewitem",
            name="stimulus",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="review_items",
                to="listening.stimulus",
            ),
        ),
        migrations.AddConstraint(
            model_name="reviewitem",
            constraint=models.CheckConstraint(
                condition=models.Q(("trial__isnull", False))
                ^ models.Q(("clip", {}), _negated=True),
                name="a_review_item_is_a_reason_or_a_clip",
            ),
        ),
        migrations.CreateModel(
            name="LeftOut",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "what",
                    models.CharField(
                        choices=[("condition", "Condition"), ("stimulus", "Stimulus")], max_length=9
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                ("out", models.BooleanField(default=True)),
                ("because", models.CharField(blank=True, max_length=300)),
                ("by", models.CharField(max_length=150)),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="left_out",
                        to="listening.study",
                    ),
                ),
            ],
            options={"ordering": ["pk"]},
        ),
    ]
