"""Metrics against people: correlations, errors, ceilings, preferences, detection of machines."""
