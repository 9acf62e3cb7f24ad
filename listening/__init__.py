"""Serve studies to raters and store their ratings."""
