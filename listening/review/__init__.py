"""The review desk: reasons and clips judged by experts who do not know whose they are."""

from listening.review.claiming import give_next
from listening.review.jobs import (
    Plan,
    ReviewError,
    change_codebook,
    delete_job,
    make_job,
    set_state,
    take_in,
    unblind,
)
from listening.review.jobs import change as change_job
from listening.review.kinds import BadVerdict, Kind, kind_named
from listening.review.reviewers import invite, reviewer_at, revoke
from listening.review.verdicts import Shut, store
