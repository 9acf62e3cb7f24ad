"""Scores planned, computed, stored and read."""
