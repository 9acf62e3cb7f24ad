"""The nouns of listening and the constraints that keep them true."""

from listening.models.material import Condition, Item, Stimulus
from listening.models.rating import Justification, Rating
from listening.models.session import Block, Rater, Session, Slot, Trial
from listening.models.study import Criterion, Study, Task

__all__ = [
    "Block",
    "Condition",
    "Criterion",
    "Item",
    "Justification",
    "Rater",
    "Rating",
    "Session",
    "Slot",
    "Stimulus",
    "Study",
    "Task",
    "Trial",
]
