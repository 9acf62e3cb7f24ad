"""Cells of CSV files that people open in spreadsheets."""

FORMULAS = ("=", "+", "-", "@")


def safe_cell(text: str) -> str:
    """A cell that begins like a formula would be run as one: it gets a sign before it."""
    return f"'{text}" if text.startswith(FORMULAS) else text
