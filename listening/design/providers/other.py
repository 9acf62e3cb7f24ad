"""Any other provider, with the parameters that the study file names."""

from listening.design.providers.provider import Provider


class Other(Provider):
    key = "other"
    title = "Another platform"
    order = 9
    participant = "participant"
    placeholders = {"participant": "…"}
