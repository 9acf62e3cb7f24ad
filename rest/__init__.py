"""The REST API: doors of the whole house for scripts, thin over what pages call."""
