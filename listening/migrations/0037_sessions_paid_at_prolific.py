from django.db import migrations

PAID = """
UPDATE listening_session s SET paid = true
FROM listening_submission b JOIN listening_ledgerentry l ON l.submission_id = b.id
WHERE b.session_id = s.id AND l.kind IN ('reward', 'screened_out', 'bonus') AND NOT s.paid
"""


class Migration(migrations.Migration):
    """Nothing set Session.paid before: the ledger knew who was paid."""

    dependencies = [("listening", "0036_hypotheses")]

    operations = [migrations.RunSQL(PAID, migrations.RunSQL.noop)]
