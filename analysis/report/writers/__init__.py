"""A report as files: Markdown, LaTeX, CSV, JSON, and all of them as one bundle."""
