"""A simulated Prolific, as a program of its own: the API that Earnest asks, participants' pages.

Facts it follows are those that Prolific documents; where these conflict, a setting chooses.
"""
