"""The doors that people use: raters' and researchers' pages."""
