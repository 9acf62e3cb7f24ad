"""Who may do what: rights of accounts and members, and projects."""
