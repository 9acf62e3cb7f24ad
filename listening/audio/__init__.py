"""Audio accepted, probed, copied for raters, and served under opaque authorised URLs."""

from listening.audio.appearance import appearance_of, lead_in_s
from listening.audio.links import (
    ClipRequest,
    check_cookie,
    check_url,
    clip_cookie,
    clip_url,
    place_of,
    resolve_check,
    resolve_clip,
    served_copy_of,
    set_clip_cookie,
)
from listening.audio.probe import Facts, Level, level_after_cut, probed, probed_all, sha256_of
from listening.audio.served_sound import Span, common_span, gain_for, join, span_of
from listening.audio.store import (
    bring,
    expected_path,
    forget,
    keep_original,
    keep_served,
    local_path,
)
from listening.common.sound_files import AudioError
