"""Where raters come from, one provider a file; `Provider.registry` finds them."""

from listening.design.providers.provider import Mistake, Provider, Visit
