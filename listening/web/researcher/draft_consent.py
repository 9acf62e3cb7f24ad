"""The consent text of a draft, composed of the fields of its ethics in each of its languages."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext

from listening.common.languages import speaking
from listening.design.consent import composed
from listening.design.draft_fields import put
from listening.design.draft_toml import Table


def consent_text(top: Table, language: str) -> str:
    study: dict[str, Any] = top.get("study", {})
    texts = study.get("texts", {})
    own = study.get("translations", {}).get(language, {}).get("texts", {})
    days = study.get("erase_after_days")
    with speaking(language):
        return composed(
            study.get("ethics", {}),
            own.get("contact") or texts.get("contact", ""),
            days if isinstance(days, int) else None,
            gettext,
        )


def compose_consent(top: Table) -> bool:
    """Puts the text into the study's language and every other in which it is offered."""
    study = top.setdefault("study", {})
    put(top, "study.texts.consent", consent_text(top, study.get("language", "en")))
    for tag in study.get("translations", {}):
        put(top, f"study.translations.{tag}.texts.consent", consent_text(top, tag))
    return True
