"""The table of ratings: read, checked, typed and taken apart into families and cells."""
