"""The recommendations of standards bodies that reports cite."""

from __future__ import annotations

from analysis.report.work import Work, recommendation

RECOMMENDATIONS: tuple[Work, ...] = (
    recommendation(
        "itu_p808",
        "ITU-T P.808",
        "ITU-T P.808",
        "Subjective Evaluation of Speech Quality with a Crowdsourcing Approach",
        2021,
    ),
    recommendation(
        "itu_p910",
        "ITU-T P.910",
        "ITU-T P.910",
        "Subjective Video Quality Assessment Methods for Multimedia Applications",
        2023,
    ),
    recommendation(
        "itu_p1401",
        "ITU-T P.1401",
        "ITU-T P.1401",
        "Methods, Metrics and Procedures for Statistical Evaluation, Qualification and Comparison "
        "of Objective Quality Prediction Models",
        2020,
    ),
    recommendation(
        "itu_bt500",
        "ITU-R BT.500",
        "ITU-R BT.500-15",
        "Methodologies for the Subjective Assessment of the Quality of Television Images",
        2023,
    ),
    recommendation(
        "itu_bs1534",
        "ITU-R BS.1534",
        "ITU-R BS.1534-3",
        "Method for the Subjective Assessment of Intermediate Quality Level of Audio Systems",
        2015,
    ),
)
