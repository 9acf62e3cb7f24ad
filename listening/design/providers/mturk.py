"""Amazon Mechanical Turk: a HIT with an external question, which shows our page in a frame.

Source: Amazon Mechanical Turk API Reference, "ExternalQuestion"; Requester Guide, "How Mechanical
Turk tasks are rendered". Amazon appends all four parameters to the address.
"""

from listening.design.providers.provider import Provider


class MechanicalTurk(Provider):
    key = "mturk"
    title = "Mechanical Turk"
    participant, submission, project = "workerId", "assignmentId", "hitId"
    enter_as = "external URL of the HIT’s question"
    one_id_per_person = True
    takes_codes = True
    preview = "ASSIGNMENT_ID_NOT_AVAILABLE"
    framed_by = (
        *("https://worker.mturk.com", "https://workersandbox.mturk.com"),
        *("https://requester.mturk.com", "https://requestersandbox.mturk.com"),
    )
    submit_parameter, submit_path = "turkSubmitTo", "mturk/externalSubmit"
    submit_sites = ("https://www.mturk.com", "https://workersandbox.mturk.com")
