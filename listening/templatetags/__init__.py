"""Tags of raters' pages."""
