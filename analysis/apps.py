"""Registers analysis with Django."""

from django.apps import AppConfig
from django.db.models.signals import pre_delete


class AnalysisConfig(AppConfig):
    name = "analysis"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Whoever withdraws is forgotten here, too; a study that closes is analysed by itself."""
        from analysis.statistics.screening.rule_text import declared_text
        from analysis.web.board_jobs import forget_board_of
        from analysis.web.first_runs import analyse_closed
        from analysis.web.human_correlations import human_correlations
        from analysis.web.pair_fits import ask_for_fit
        from analysis.web.withdrawals import (
            forget_deleted,
            forget_draft,
            forget_reasons,
            forget_reports,
        )
        from listening.common.signals import (
            closed,
            metrics_beside_raters,
            pair_fit_due,
            reasons_erased,
            withdrawn,
        )
        from listening.design.analysis_rules import set_rule_reader

        set_rule_reader(declared_text)
        pre_delete.connect(
            forget_deleted, sender="listening.Study", dispatch_uid="analysis.web.deleted"
        )
        pre_delete.connect(
            forget_draft, sender="listening.Draft", dispatch_uid="analysis.web.draft"
        )
        pre_delete.connect(
            forget_board_of, sender="analysis.LeaderboardEntry", dispatch_uid="analysis.web.boards"
        )
        withdrawn.connect(forget_reports, dispatch_uid="analysis.web.withdrawals")
        reasons_erased.connect(forget_reasons, dispatch_uid="analysis.web.withdrawals.reasons")
        metrics_beside_raters.connect(
            human_correlations, dispatch_uid="analysis.web.human_correlations"
        )
        pair_fit_due.connect(ask_for_fit, dispatch_uid="analysis.web.pair_fits")
        closed.connect(analyse_closed, dispatch_uid="analysis.web.first_runs")
