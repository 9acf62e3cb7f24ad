"""What is sent and answered, in the words of the schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rest_framework import serializers

from listening.common.addresses import public_route
from listening.design.studyfile.problems import did_you_mean
from listening.models import Study
from listening.web.session_decisions import LONGEST_REASON, REJECTED, RESTORED

MOST_SESSIONS = 10_000
MOST_LISTED = 1000  # of one page


class StrictSerializer(serializers.Serializer[Any]):
    """Refuses unknown fields, so that nothing misspelt is passed over."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            refuse_unknown(map(str, data), self.fields, "field")
        return super().to_internal_value(data)


def refuse_unknown(names: Iterable[str], known: Iterable[str], what: str) -> None:
    """ValidationError for each name that is none of the known ones, with what was meant."""
    known = list(known)
    errors = {
        name: f"Unknown {what} “{name}”. {did_you_mean(name, known)}".strip()
        for name in names
        if name not in known
    }
    if errors:
        raise serializers.ValidationError(errors)


def choice(choices: Iterable[str], **more: Any) -> serializers.ChoiceField:
    """One of some words; what is none of them is told which there are."""
    words = list(choices)
    messages: dict[str, Any] = {
        "invalid_choice": f"“{{input}}” is not valid. Choose one of: {', '.join(words)}."
    }
    return serializers.ChoiceField(choices=words, error_messages=messages, **more)


class Mistake(StrictSerializer):
    """One mistake: where, what, and what to do about it."""

    file = serializers.CharField(required=False)
    row = serializers.IntegerField(required=False, allow_null=True)
    field = serializers.CharField(required=False, allow_blank=True)
    what = serializers.CharField()
    remedy = serializers.CharField(required=False, allow_blank=True)


class ProblemSerializer(StrictSerializer):
    """RFC 9457, with the mistakes one by one."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    mistakes = Mistake(many=True, required=False)


class StudySerializer(serializers.ModelSerializer[Study]):
    """A study as its researchers know it."""

    name = serializers.CharField(source="called", help_text="Name shown to researchers.")
    link = serializers.SerializerMethodField(help_text="Entry link for raters.")
    owner = serializers.CharField(source="owner.username")
    project = serializers.CharField(source="project.name", allow_null=True, default=None)
    project_id = serializers.IntegerField(allow_null=True)
    version_of = serializers.CharField(source="version_of.key", allow_null=True, default=None)
    tags = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = Study
        fields = (
            *("key", "title", "name", "state", "language", "version", "version_of", "tags"),
            *("owner", "project", "project_id", "link", "created_at", "opened_at", "closed_at"),
            "archived_at",
        )
        read_only_fields = fields

    def get_link(self, study: Study) -> str:
        return link_of(study)


def link_of(study: Study) -> str:
    """Where raters start."""
    return public_route("landing", study.link)


class Narrowing(StrictSerializer):
    """Which studies are listed; what is absent narrows nothing."""

    q = serializers.CharField(required=False, allow_blank=True, max_length=200)
    state = choice(Study.State.values, required=False)
    tag = serializers.CharField(required=False, allow_blank=True, max_length=40)
    project = serializers.IntegerField(required=False, min_value=1, max_value=2**31 - 1)
    archived = serializers.BooleanField(
        default=False, help_text="List archived studies instead of active ones."
    )
    limit = serializers.IntegerField(
        required=False, min_value=1, max_value=MOST_LISTED, help_text="Entries per page."
    )
    cursor = serializers.CharField(required=False, allow_blank=True)


class StudyPage(StrictSerializer):
    """A page of studies."""

    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = StudySerializer(many=True)


class FindingSerializer(StrictSerializer):
    """Something to know before raters come: a problem stops the opening, a warning does not."""

    level = serializers.ChoiceField(choices=("problem", "warning"))
    what = serializers.CharField()
    remedy = serializers.CharField(allow_blank=True)


class Made(StrictSerializer):
    """A study that was made."""

    study = StudySerializer()
    remarks = serializers.ListField(
        child=serializers.CharField(), help_text="Defaults assumed during import."
    )
    findings = FindingSerializer(many=True)


class Checked(StrictSerializer):
    """A folder that was read, and stored nowhere."""

    valid = serializers.BooleanField()
    key = serializers.CharField(allow_null=True)
    mistakes = Mistake(many=True)
    remarks = serializers.ListField(child=serializers.CharField())


class StudySent(StrictSerializer):
    """A study: an upload's code; or study.toml as JSON, rows of stimuli.csv, and files."""

    upload = serializers.SlugField(
        required=False, max_length=40, help_text="Code of a zip file uploaded in pieces."
    )
    study = serializers.DictField(
        required=False, help_text="Content of study.toml: study, tasks, conditions …"
    )
    stimuli = serializers.ListField(
        required=False,
        max_length=20_000,
        child=serializers.DictField(child=serializers.CharField(allow_blank=True)),
        help_text="The rows of stimuli.csv, by column.",
    )
    files = serializers.DictField(
        required=False,
        child=serializers.CharField(),
        help_text="Each file in base64, by its path in the folder, such as audio/a.wav.",
    )

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        whole = "study" in data and "stimuli" in data
        if ("upload" in data) == whole or ("upload" in data and len(data) > 1):
            raise serializers.ValidationError(
                "Send either `upload`, or `study` and `stimuli` with `files`."
            )
        return data


class Change(StrictSerializer):
    """What colleagues see of a study."""

    name = serializers.CharField(required=False, allow_blank=True, max_length=120)
    tags = serializers.ListField(
        required=False, max_length=12, child=serializers.CharField(max_length=40)
    )
    archived = serializers.BooleanField(required=False)


class StateChange(StrictSerializer):
    """Opened, paused, or closed for good."""

    to = choice(("open", "paused", "closed"))
    anyway = serializers.BooleanField(default=False, help_text="Open despite problems.")


class Copy(StrictSerializer):
    """A copy, as a draft."""

    key = serializers.CharField(required=False, allow_blank=True, default="", max_length=80)
    as_version = serializers.BooleanField(default=False, help_text="Copy as the next version.")
    keep_out = serializers.BooleanField(
        default=True, help_text="For a version: exclude raters of earlier versions."
    )


class Upload(StrictSerializer):
    """A zip on its way."""

    upload = serializers.CharField()
    received = serializers.IntegerField(help_text="Bytes received so far.")
    whole = serializers.BooleanField()


class Decision(StrictSerializer):
    """Sessions judged by a person."""

    sessions = serializers.ListField(
        child=serializers.RegexField(r"^s[0-9]{1,17}$"),
        min_length=1,
        max_length=MOST_SESSIONS,
        help_text="Session codes as in ratings and sessions, such as s12.",
    )
    decision = choice((REJECTED, RESTORED))
    reason = serializers.CharField(
        max_length=LONGEST_REASON, help_text="Recorded in the study log."
    )


class Decided(StrictSerializer):
    """What became of it."""

    raters = serializers.ListField(
        child=serializers.CharField(), help_text="Codes of the affected raters."
    )
    left_as_they_were = serializers.IntegerField()
    not_counting = serializers.IntegerField(
        help_text="Ratings of restored sessions whose slots others have filled."
    )


class RatingsSerializer(StrictSerializer):
    """Ratings in the order of storing, and where to go on."""

    next = serializers.CharField(
        help_text="The cursor for `since`, even if there are no new ratings."
    )
    more = serializers.BooleanField(help_text="Whether more ratings follow.")
    columns = serializers.ListField(
        child=serializers.CharField(), help_text="Column names of a rating."
    )
    ratings = serializers.ListField(child=serializers.DictField())


class RunSerializer(StrictSerializer):
    """An analysis: how far it is."""

    run = serializers.IntegerField(source="pk")
    state = serializers.CharField()
    share = serializers.FloatField(help_text="Progress, 0 to 1.")
    doing = serializers.CharField(allow_blank=True)
    error = serializers.CharField(allow_blank=True)
    options = serializers.DictField(source="parameters")
    ratings = serializers.IntegerField(allow_null=True)
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class Results(StrictSerializer):
    """The newest finished analysis, and whether a newer one is on its way."""

    run = RunSerializer(allow_null=True)
    newest = RunSerializer(allow_null=True)
    report = serializers.DictField(allow_null=True)


class Analyse(StrictSerializer):
    """Options of an analysis as reports list them; what is absent is as usual."""

    options = serializers.DictField(required=False, default=dict)


class MetricChoice(StrictSerializer):
    """One metric with the parameters that differ from its defaults."""

    metric = serializers.CharField(max_length=100)
    parameters = serializers.DictField(required=False, default=dict)


class Score(StrictSerializer):
    """A preset, or metrics one by one."""

    preset = serializers.CharField(required=False, max_length=40)
    judges = serializers.BooleanField(default=False, help_text="Include the judges of the preset.")
    metrics = MetricChoice(many=True, required=False)

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        if bool(data.get("preset")) == bool(data.get("metrics")):
            raise serializers.ValidationError("Send either `preset` or `metrics`.")
        return data


class Webhook(StrictSerializer):
    """A webhook: an address that is told of events."""

    id = serializers.IntegerField(source="pk")
    name = serializers.CharField()
    url = serializers.CharField(source="address")
    events = serializers.ListField(child=serializers.CharField())
    stopped_at = serializers.DateTimeField(allow_null=True)
    problem = serializers.CharField(allow_blank=True)


class NewWebhook(StrictSerializer):
    """An address, and what it is told of."""

    url = serializers.CharField(max_length=1600)
    name = serializers.CharField(required=False, allow_blank=True, default="", max_length=80)
    events = serializers.ListField(
        child=serializers.CharField(max_length=30), min_length=1, max_length=50
    )
    study = serializers.SlugField(
        required=False, max_length=80, help_text="Only for this study. Default: all studies."
    )


class MadeWebhook(Webhook):
    """With the secret that signs, which is shown only now."""

    secret = serializers.CharField()


class MethodSerializer(StrictSerializer):
    """A test method."""

    key = serializers.CharField()
    title = serializers.CharField()
    question = serializers.CharField(source="default_question", allow_blank=True)
    standard = serializers.CharField(help_text="Where the procedure is defined.")
    estimates = serializers.CharField(source="estimand.phrase", help_text="What the mean is.")


class PresetSerializer(StrictSerializer):
    """A ready-made study."""

    name = serializers.CharField()
    purpose = serializers.CharField()


class PresetFiles(PresetSerializer):
    """A ready-made study with its files; its sounds are those of the demo."""

    study_toml = serializers.CharField()
    stimuli_csv = serializers.CharField()


class PlanAsked(StrictSerializer):
    """A question about the size of a study; what is absent is as on the planning page."""

    goal = choice(("half_width", "difference"), default="half_width")
    size = serializers.FloatField(help_text="Half-width of the 95% CI, or true difference.")
    of = choice(("mean", "difference"), default="difference")
    assignment = choice(("within", "random", "between"), default="within")
    source = choice(("att", "long_form", "lfs", "nvv"), default="long_form")  # type: ignore[assignment]  # Field.source
    currency = serializers.CharField(max_length=8, default="GBP")
    conditions = serializers.IntegerField(required=False)
    items = serializers.IntegerField(required=False)
    clips_per_rater = serializers.IntegerField(required=False)
    ratings_per_stimulus = serializers.IntegerField(required=False)
    comparisons = serializers.IntegerField(required=False)
    traps = serializers.IntegerField(required=False)
    power = serializers.FloatField(required=False, help_text="In percent.")
    level = serializers.FloatField(required=False, help_text="In percent.")
    seconds_per_clip = serializers.FloatField(required=False)
    session_seconds = serializers.FloatField(required=False)
    pay_per_hour = serializers.FloatField(required=False)
    fee = serializers.FloatField(required=False, help_text="In percent.")
    tax = serializers.FloatField(required=False, help_text="In percent of the fee.")
    lost = serializers.FloatField(required=False, help_text="In percent.")
    sd_rater = serializers.FloatField(required=False)
    sd_rater_condition = serializers.FloatField(required=False)
    sd_item = serializers.FloatField(required=False)
    sd_stimulus = serializers.FloatField(required=False)
    sd_residual = serializers.FloatField(required=False)


class PreviewSerializer(StrictSerializer):
    """Where a study's preview is, for some minutes and without a login."""

    url = serializers.CharField()
    expires_in_s = serializers.IntegerField()
    tasks = serializers.ListField(
        child=serializers.CharField(),
        help_text="Add ?task=KEY to see one, #trial to skip its text.",
    )
