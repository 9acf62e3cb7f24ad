"""Estimates with intervals from ratings and scores."""
