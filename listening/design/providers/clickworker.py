"""Clickworker: a survey order whose link gets the worker's id, and a code at the end.

Source: Clickworker's support, "Gathering Clickworker IDs": with "Add unique ID of the Clickworker"
the address gets `user_id`.
"""

from listening.design.providers.provider import Provider


class Clickworker(Provider):
    key = "clickworker"
    title = "Clickworker"
    participant = "user_id"
    enter_as = "link of the survey"
    one_id_per_person = True
    takes_codes = True
