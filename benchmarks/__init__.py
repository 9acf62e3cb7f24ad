"""Load tests of claims and submissions, on this machine and against 127.0.0.1 only."""
