"""Studies served to raters and ratings kept: the first room of the house."""
