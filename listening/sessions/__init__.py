"""A rater from the first page to the last answer: allocation, leases, answers, outcomes."""
