from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('listening', '0029_notifications'),
    ]

    operations = [
        migrations.AddField(
            model_name='study',
            name='pay',
            field=models.JSONField(default=dict),
        ),
    ]
