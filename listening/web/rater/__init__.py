"""Pages and requests of raters."""
