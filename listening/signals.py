"""What listening says to other rooms, which connect in their `apps.py`."""

from django.dispatch import Signal

withdrawn = Signal()  # study_id: answers of this study were deleted because their rater withdrew
closed = Signal()  # study_id, study_key: this study was closed, in the transaction that closes it
