"""A leaderboard: systems of one or several studies with their scores and metrics, as content."""
