from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('listening', '0014_browser_of'),
    ]

    operations = [
        migrations.AddField(
            model_name='submission',
            name='child_study',
            field=models.CharField(blank=True, db_default='', default='', max_length=80),
        ),
    ]
