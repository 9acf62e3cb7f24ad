"""Networks that predict opinion scores, and what they share: batches of equal length, chunks."""
