"""A study's way to paid raters and back: connected, drafted, published, watched, decided, paid.

`listening.recruitment.prolific` asks Prolific; this package knows what to ask and remembers what
was answered.
Whatever cannot be undone (publishing, paying) is written down before it is asked for.
"""
