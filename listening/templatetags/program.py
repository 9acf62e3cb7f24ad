"""`{% program %}`: what stands before the name of a command."""

from django.template import Library

from listening.common.command_name import PROGRAM

register = Library()


@register.simple_tag
def program() -> str:
    return PROGRAM
