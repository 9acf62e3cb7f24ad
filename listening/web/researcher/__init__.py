"""Pages of researchers."""
