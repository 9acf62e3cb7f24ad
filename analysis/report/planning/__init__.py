"""A plan as a report: read from a form, worked out, and told in words, tables and figures."""
