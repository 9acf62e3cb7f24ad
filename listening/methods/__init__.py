"""The methods, one file each; `Method.registry` finds them."""

from listening.methods.estimand import Estimand
from listening.methods.method import (
    Method,
    Part,
    PlannedTrial,
    Playback,
    Scale,
    Step,
    StimulusRef,
    method_named,
)
