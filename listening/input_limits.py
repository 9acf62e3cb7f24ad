"""The caps of all that is read from outside: one place, checked before anything is parsed."""

# --- Names ----------------------------------------------------------------------------------------

LONGEST_PATTERN = 300  # characters of a pattern of file names
MOST_PLACES = 16  # of system, sentence and {*} in it
