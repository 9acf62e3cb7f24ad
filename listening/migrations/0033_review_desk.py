"""The review desk: jobs, reviewers, items, and verdicts that are only added."""

import django.contrib.postgres.fields
import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models

FORWARD = """
CREATE FUNCTION listening_guard_verdict() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF coalesce(current_setting('earnest.deleting', true), '') = 'on' THEN
        IF TG_OP = 'DELETE' THEN
            RETURN OLD;
        END IF;
        IF NEW.note = '' AND (NEW.id, NEW.assignment_id, NEW.key, NEW.phase, NEW.answer,
            NEW.category, NEW.seconds, NEW.at) IS NOT DISTINCT FROM (OLD.id, OLD.assignment_id,
            OLD.key, OLD.phase, OLD.answer, OLD.category, OLD.seconds, OLD.at) THEN
            RETURN NEW;  -- a note that quotes what is erased
        END IF;
    END IF;
    RAISE EXCEPTION 'verdicts are only added: the newest one holds'
        USING ERRCODE = 'restrict_violation', CONSTRAINT = 'verdicts_are_only_added';
END $$;
CREATE TRIGGER verdicts_are_only_added BEFORE UPDATE OR DELETE ON listening_verdict
    FOR EACH ROW EXECUTE FUNCTION listening_guard_verdict();

CREATE FUNCTION listening_keep_category() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE listening_reviewassignment SET category = NEW.category, answered_at = NEW.at
        WHERE id = NEW.assignment_id;
    RETURN NULL;
END $$;
CREATE TRIGGER the_newest_verdict_holds AFTER INSERT ON listening_verdict
    FOR EACH ROW WHEN (NEW.phase = 'own') EXECUTE FUNCTION listening_keep_category();
"""
BACKWARD = """
DROP TRIGGER the_newest_verdict_holds ON listening_verdict;
DROP FUNCTION listening_keep_category();
DROP TRIGGER verdicts_are_only_added ON listening_verdict;
DROP FUNCTION listening_guard_verdict();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('listening', '0032_transcripts_runs_captions'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='memberinvitation',
            name='role',
            field=models.CharField(choices=[('reviewer', 'Reviewer'), ('viewer', 'Viewer'), ('analyst', 'Analyst'), ('editor', 'Editor'), ('owner', 'Owner')], max_length=8),
        ),
        migrations.AlterField(
            model_name='membership',
            name='role',
            field=models.CharField(choices=[('reviewer', 'Reviewer'), ('viewer', 'Viewer'), ('analyst', 'Analyst'), ('editor', 'Editor'), ('owner', 'Owner')], max_length=8),
        ),
        migrations.CreateModel(
            name='Reviewer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('digest', models.CharField(blank=True, max_length=64)),
                ('whom', models.CharField(blank=True, max_length=120)),
                ('adjudicates', models.BooleanField(default=False)),
                ('sees_results', models.BooleanField(default=False)),
                ('by', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField(null=True)),
                ('revoked_at', models.DateTimeField(null=True)),
                ('seen_at', models.DateTimeField(null=True)),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='reviews', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['job', 'number'],
            },
        ),
        migrations.CreateModel(
            name='ReviewItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('others', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), default=list, size=None)),
                ('part', models.CharField(blank=True, max_length=20)),
                ('position', models.PositiveIntegerField()),
                ('wanted', models.PositiveSmallIntegerField()),
                ('gold', models.JSONField(null=True)),
                ('gold_because', models.CharField(blank=True, max_length=300)),
                ('stimulus', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='review_items', to='listening.stimulus')),
                ('trial', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='review_items', to='listening.trial')),
            ],
        ),
        migrations.CreateModel(
            name='ReviewAssignment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('occasion', models.PositiveSmallIntegerField(choices=[(1, 'First'), (2, 'Again'), (3, 'Third'), (4, 'Talk')], default=1)),
                ('code', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('again', models.BooleanField(default=False)),
                ('given_at', models.DateTimeField(auto_now_add=True)),
                ('category', models.TextField(blank=True)),
                ('answered_at', models.DateTimeField(null=True)),
                ('reviewer', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='assignments', to='listening.reviewer')),
                ('item', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='assignments', to='listening.reviewitem')),
            ],
        ),
        migrations.CreateModel(
            name='ReviewJob',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=20)),
                ('title', models.CharField(max_length=120)),
                ('instructions', models.TextField(blank=True)),
                ('settings', models.JSONField(default=dict)),
                ('seed', models.BigIntegerField()),
                ('per_item', models.PositiveSmallIntegerField(default=2)),
                ('repeated', models.FloatField(default=0.0)),
                ('resolving', models.CharField(choices=[('none', 'None'), ('third', 'Third'), ('talk', 'Talk')], default='none', max_length=5)),
                ('rule', models.CharField(max_length=20)),
                ('rule_version', models.CharField(max_length=10)),
                ('in_use', models.BooleanField(default=True)),
                ('state', models.CharField(choices=[('draft', 'Draft'), ('open', 'Open'), ('closed', 'Closed')], default='draft', max_length=6)),
                ('by', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('opened_at', models.DateTimeField(null=True)),
                ('closed_at', models.DateTimeField(null=True)),
                ('unblinded_at', models.DateTimeField(null=True)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='review_jobs', to='listening.study')),
            ],
            options={
                'ordering': ['-pk'],
            },
        ),
        migrations.AddField(
            model_name='reviewitem',
            name='job',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='items', to='listening.reviewjob'),
        ),
        migrations.AddField(
            model_name='reviewer',
            name='job',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reviewers', to='listening.reviewjob'),
        ),
        migrations.CreateModel(
            name='Verdict',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.UUIDField(unique=True)),
                ('phase', models.CharField(choices=[('own', 'Own'), ('hinted', 'Hinted')], default='own', max_length=6)),
                ('answer', models.JSONField()),
                ('category', models.TextField()),
                ('note', models.TextField(blank=True)),
                ('seconds', models.FloatField(null=True)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('assignment', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='verdicts', to='listening.reviewassignment')),
            ],
        ),
        migrations.AddConstraint(
            model_name='reviewassignment',
            constraint=models.UniqueConstraint(fields=('item', 'reviewer', 'occasion'), name='review_item_once_per_reviewer'),
        ),
        migrations.AddConstraint(
            model_name='reviewjob',
            constraint=models.CheckConstraint(condition=models.Q(('per_item__gte', 1), ('repeated__gte', 0), ('repeated__lte', 1)), name='review_counts_are_possible'),
        ),
        migrations.AddConstraint(
            model_name='reviewitem',
            constraint=models.UniqueConstraint(fields=('job', 'position'), name='review_position_once'),
        ),
        migrations.AddConstraint(
            model_name='reviewitem',
            constraint=models.UniqueConstraint(fields=('job', 'trial', 'part'), name='reason_once_per_job'),
        ),
        migrations.AddConstraint(
            model_name='reviewitem',
            constraint=models.UniqueConstraint(fields=('job', 'stimulus', 'part'), name='clip_once_per_job'),
        ),
        migrations.AddConstraint(
            model_name='reviewitem',
            constraint=models.CheckConstraint(condition=models.Q(('trial__isnull', False), ('stimulus__isnull', False), _connector='XOR'), name='a_review_item_is_a_reason_or_a_clip'),
        ),
        migrations.AddConstraint(
            model_name='reviewer',
            constraint=models.UniqueConstraint(fields=('job', 'number'), name='reviewer_number_once_per_job'),
        ),
        migrations.AddConstraint(
            model_name='reviewer',
            constraint=models.UniqueConstraint(fields=('job', 'user'), name='reviewer_once_per_job'),
        ),
        migrations.AddConstraint(
            model_name='reviewer',
            constraint=models.UniqueConstraint(condition=models.Q(('digest', ''), _negated=True), fields=('digest',), name='one_reviewer_per_link'),
        ),
        migrations.AddIndex(
            model_name='verdict',
            index=models.Index(fields=['assignment', '-id'], name='verdict_newest'),
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
