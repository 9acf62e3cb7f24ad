"""The records as they stand, to look at: everything here is written by the room's own modules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allauth.account.decorators import reauthentication_required
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from allauth.usersessions.models import UserSession
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from django.utils.decorators import method_decorator

from listening.common.record_admin import RecordAdmin
from listening.models import Condition, Item, Rater, Rating, Session, Stimulus, Study, Task

if TYPE_CHECKING:
    Records = admin.ModelAdmin[Any]
    Accounts = UserAdmin[User]
else:
    Records, Accounts = admin.ModelAdmin, UserAdmin


class ReadOnly(RecordAdmin):
    """A list and a page per record; nothing can be added, changed or deleted here."""

    show_full_result_count = False
    list_per_page = 50

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Study)
class StudyRecords(ReadOnly):
    list_display = ("key", "title", "owner", "state", "created_at")
    list_filter = ("state",)
    search_fields = ("key", "title")


@admin.register(Task)
class TaskRecords(ReadOnly):
    list_display = ("key", "study", "method", "block_size", "ratings_per_stimulus")
    list_select_related = ("study",)


@admin.register(Condition)
class ConditionRecords(ReadOnly):
    list_display = ("key", "study", "label", "system", "voice", "role")
    list_filter = ("role",)
    list_select_related = ("study",)


@admin.register(Item)
class ItemRecords(ReadOnly):
    list_display = ("key", "study", "dimension", "language", "text")
    search_fields = ("key", "text")
    list_select_related = ("study",)


@admin.register(Stimulus)
class StimulusRecords(ReadOnly):
    list_display = ("key", "study", "condition", "item", "trap", "duration_s", "loudness_lufs")
    search_fields = ("key",)
    list_select_related = ("study", "condition", "item")


@admin.register(Rater)
class RaterRecords(ReadOnly):
    list_display = ("code", "simulated", "created_at")
    exclude = ("prolific_id", "external_id")  # for the study's owner only, on the study's page
    search_fields = ("code",)


@admin.register(Session)
class SessionRecords(ReadOnly):
    list_display = ("pk", "study", "rater", "status", "device", "started_at", "finished_at")
    exclude = ("code", "prolific_study", "prolific_session")  # the code opens the session
    list_filter = ("status",)
    list_select_related = ("study", "rater")


@admin.register(Rating)
class RatingRecords(ReadOnly):
    list_display = ("pk", "stimulus", "criterion", "label", "score", "counts", "rated_at")
    list_select_related = ("stimulus", "criterion")
    raw_id_fields = ("trial", "slot", "stimulus")


# --- Of accounts: who has what; secrets, addresses and providers are not for this place ----------

for hidden in (EmailAddress, SocialApp, SocialToken, UserSession, Authenticator, SocialAccount):
    admin.site.unregister(hidden)

admin.site.unregister((User, Group))
again = method_decorator(reauthentication_required(app="allauth.account"))
changes = method_decorator(reauthentication_required(app="allauth.account", allow_get=True))


class Again(Records):
    """Whoever changes accounts shows once more who they are."""

    changeform_view = again(Records.changeform_view)
    delete_view = again(Records.delete_view)
    changelist_view = changes(Records.changelist_view)


@admin.register(User)
class AccountRecords(Again, Accounts):
    user_change_password = again(UserAdmin.user_change_password)


@admin.register(Group)
class GroupRecords(Again, GroupAdmin):
    pass


@admin.register(Authenticator)
class FactorRecords(ReadOnly):
    list_display = ("user", "type", "created_at", "last_used_at")
    exclude = ("data",)
    list_filter = ("type",)
    list_select_related = ("user",)


@admin.register(SocialAccount)
class SignOnRecords(ReadOnly):
    list_display = ("user", "provider", "date_joined", "last_login")
    exclude = ("extra_data", "uid")
    list_filter = ("provider",)
    list_select_related = ("user",)
