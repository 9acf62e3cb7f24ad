"""Messages by mail, webhook and chat: their events, recipients and deliveries."""
