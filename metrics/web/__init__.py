"""The metrics pages of a study."""
