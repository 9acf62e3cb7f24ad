"""Comparisons of conditions: families, adjusted p, effect sizes, ROPE, tiers, tests by name."""
