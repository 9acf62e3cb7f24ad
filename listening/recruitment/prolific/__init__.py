"""Typed client of Prolific's researcher API: requests, responses and errors."""

from listening.recruitment.prolific.client import Prolific
from listening.recruitment.prolific.wire import NoReply, NotSent, ProlificError, Refused
from listening.recruitment.prolific.wire import Study as ProlificStudy
