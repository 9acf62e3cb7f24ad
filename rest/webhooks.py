"""Webhooks: the channels of this kind that the page Messages has, too."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.http import Http404
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from listening.access.rights import LOOK
from listening.models import Channel
from listening.notifications import channels
from listening.notifications.channels import ChannelError
from listening.notifications.kinds import KINDS
from rest.base import ApiView, sent
from rest.payloads import MadeWebhook, NewWebhook, Webhook
from rest.schema_decorator import describe


class Webhooks(ApiView):
    @describe("List webhooks", Webhook(many=True), problems=())
    def get(self, request: Request) -> Response:
        """Return the webhooks of the token's account, without secrets."""
        rows = Channel.objects.filter(owner=self.of_account().pk, kind=Channel.Kind.WEBHOOK)
        channels_found = rows.prefetch_related("subscriptions")
        return Response(Webhook([_webhook_row(each) for each in channels_found], many=True).data)

    @describe("Create a webhook", MadeWebhook, status=201, request=NewWebhook)
    def post(self, request: Request) -> Response:
        """The secret that signs its messages is returned only once."""
        who, body = self.of_account(), sent(NewWebhook, request)
        if unknown := sorted(set(body["events"]) - set(KINDS)):
            known = ", ".join(KINDS)
            explanation = f"Unknown event {', '.join(unknown)}. Choose from {known}."
            raise ValidationError({"events": explanation})
        study = self.study(body["study"], LOOK) if body.get("study") else None
        with transaction.atomic():
            kind = Channel.Kind.WEBHOOK
            channel = channels.add_channel(who.token.owner, kind, body["name"], body["url"])
            channels.choose(channel, body["events"], study=study)
        return Response(
            MadeWebhook(_webhook_row(channel) | {"secret": channel.secret}).data, status=201
        )


class OneWebhook(ApiView):
    @describe("Delete a webhook", {204: None}, problems=(404, 409))
    def delete(self, request: Request, pk: int) -> Response:
        channel = self.of_account().token.owner.message_channels.filter(pk=pk).first()
        if channel is None:
            raise Http404("You have no such webhook.")
        if channel.kind != Channel.Kind.WEBHOOK:
            raise ChannelError("This channel is not a webhook. Remove it on the page Messages.")
        channel.delete()
        return Response(status=204)


def _webhook_row(channel: Channel) -> dict[str, Any]:
    events = {event for each in channel.subscriptions.all() for event in each.events}
    fields = ("pk", "name", "address", "stopped_at", "problem")
    return {name: getattr(channel, name) for name in fields} | {
        "events": [key for key in KINDS if key in events]
    }
