"""Study folders that are made in the browser: who owns them, what is in them, how they change."""
