"""Backups of a whole house: taken while it runs, restored anywhere, moved to another database."""


class BackupError(Exception):
    """A backup cannot be taken or restored; the message says why and what to do."""
