"""Exclusion rules: each a named, versioned object that gives a mask and a reason for every row."""
