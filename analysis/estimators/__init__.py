"""The estimators, one file each; `analysis.base.estimators` finds them."""
