"""Settings of the smallest oTree project: one app that asks one question per page."""

from os import environ

SESSION_CONFIGS = [{"name": "rating", "num_demo_participants": 1, "app_sequence": ["rating"]}]
SESSION_CONFIG_DEFAULTS = {"real_world_currency_per_point": 1.0, "participation_fee": 0.0}
PARTICIPANT_FIELDS: list[str] = []
SESSION_FIELDS: list[str] = []
LANGUAGE_CODE = "en"
REAL_WORLD_CURRENCY_CODE = "EUR"
USE_POINTS = False
ADMIN_USERNAME = "admin"
ADMIN_PASSWORD = environ.get("OTREE_ADMIN_PASSWORD", "")
DEMO_PAGE_INTRO_HTML = ""
SECRET_KEY = environ.get("OTREE_SECRET_KEY", "")
