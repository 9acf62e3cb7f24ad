"""The estimators, one file each; `analysis.statistics.estimator.estimators` finds them."""
