"""CloudResearch Connect, which appends its parameters to the address by itself.

Source: Connect's help for researchers, "Project Completion": a redirect or a code for complete
sessions, further redirects for partial ones.
"""

from listening.design.providers.provider import Provider


class Connect(Provider):
    key = "connect"
    title = "CloudResearch Connect"
    participant, submission, project = "participantId", "assignmentId", "projectId"
    enter_as = "link of the project"
    one_id_per_person = True
    takes_codes = True
