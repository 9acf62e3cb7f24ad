"""Figures for papers: any `content.Figure` as PDF, SVG and PNG, one drawing per file.

Vector, with the fonts embedded (TrueType, as publishers want), one column (3.35 in) wide or two
(7 in), colours that colour-blind people can tell apart, and the same bytes for the same figure.
Matplotlib is imported inside functions only.
"""

from analysis.report.paper.paper_draw import DOUBLE, FORMATS, SINGLE, paper_files, width_for

__all__ = ["DOUBLE", "FORMATS", "SINGLE", "paper_files", "width_for"]
