"""Models of how good raters are, beside rules: of labels and of scores."""

from analysis.statistics.rater_models.dawid_skene import DawidSkene as DawidSkene
from analysis.statistics.rater_models.dawid_skene import dawid_skene as dawid_skene
from analysis.statistics.rater_models.severity import Severity as Severity
from analysis.statistics.rater_models.severity import severity as severity
