"""What can be reviewed, one file each; `Kind.registry` finds them."""

from listening.review.kinds.kind import BadVerdict, Kind, Mark, Target, kind_named
