"""Settings, routes, wiring and embedded services: no rules."""
