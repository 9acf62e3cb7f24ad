"""How far raters agree, with one another and with themselves, and how each uses the scale."""
