"""One clip and one question from 1 to 5 on each page, forty pages per participant."""

from otree.api import BaseConstants, BaseGroup, BasePlayer, BaseSubsession, Page, models, widgets


class C(BaseConstants):
    NAME_IN_URL = "rating"
    PLAYERS_PER_GROUP = None
    NUM_ROUNDS = 40


class Subsession(BaseSubsession):
    pass


class Group(BaseGroup):
    pass


class Player(BasePlayer):
    score = models.IntegerField(
        label="How natural does this speech sound?",
        choices=[[5, "Excellent"], [4, "Good"], [3, "Fair"], [2, "Poor"], [1, "Bad"]],
        widget=widgets.RadioSelectHorizontal,
    )


class Rate(Page):
    form_model = "player"
    form_fields = ["score"]


page_sequence = [Rate]
