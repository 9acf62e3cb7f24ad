"""The tests: one folder per room."""
