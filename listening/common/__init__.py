"""Building blocks without studies or raters: registry, tables, queues, languages, sound files."""
