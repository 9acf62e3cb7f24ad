"""Objective scores for every stimulus, computed from its audio."""
