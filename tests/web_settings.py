"""The settings of the web process that tests start: production's, with passwords hashed quickly."""

from config.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
