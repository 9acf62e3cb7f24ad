"""The analyses of a report, one per file: each gives tables and figures as plain values."""
