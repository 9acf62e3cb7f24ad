"""Messages by mail, webhook and chat: what is looked for, who is told, and what went where."""
