"""Tests of the hall: settings, embedded servers, supervisor, web process."""
