"""Rate limits in the cache that a clock which goes back does not stretch."""

from __future__ import annotations

from typing import Any

from rest_framework.throttling import SimpleRateThrottle

from listening.common.ages import age_s


class Throttle(SimpleRateThrottle):
    """Django REST framework's sliding window, where requests of the future count no more."""

    num_requests: int | None
    duration: int | None

    def allow_request(self, request: Any, view: Any) -> bool:
        self.key = self.get_cache_key(request, view)
        if self.key is None:
            return True
        self.now = self.timer()
        seconds = self.duration or 0
        stamps = self.cache.get(self.key, [])
        self.history = [stamp for stamp in stamps if age_s(stamp, self.now) < seconds]
        if len(self.history) >= (self.num_requests or 0):
            return bool(self.throttle_failure())
        return bool(self.throttle_success())
