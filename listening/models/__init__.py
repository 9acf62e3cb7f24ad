"""The nouns of listening and the constraints that keep them true."""

from listening.models.asked_job import AskedJob
from listening.models.draft import Draft
from listening.models.invitation import Invitation
from listening.models.material import Condition, Item, Stimulus
from listening.models.notification import (
    Channel,
    Delivery,
    Occurrence,
    StudyLimits,
    Subscription,
    Telling,
)
from listening.models.pair_draws import PairCount, PairFit
from listening.models.project import MemberInvitation, Membership, Project, Role
from listening.models.recruitment import (
    Bonus,
    BonusBatch,
    Connection,
    HookEvent,
    LedgerEntry,
    Recruitment,
    Submission,
)
from listening.models.review import (
    LeftOut,
    ReviewAssignment,
    Reviewer,
    ReviewItem,
    ReviewJob,
    Verdict,
)
from listening.models.rule import AnalysisRule, Hypothesis, SparedRater
from listening.models.session import (
    Block,
    Justification,
    Rater,
    Rating,
    Session,
    SessionSummary,
    Slot,
    Trial,
)
from listening.models.stop_look import StopLook
from listening.models.study import Criterion, Study, StudyDefinition, StudyEvent, Task
