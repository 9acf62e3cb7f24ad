"""A stand-in for Prolific, as a program of its own: researcher's API, participant's pages, faults.

Facts it follows are those that Prolific documents; where these conflict, a setting chooses.
"""
