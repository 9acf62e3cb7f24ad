"""Comparisons of pairs of clips: means, order, Bradley-Terry, Davidson, Thurstone, triads."""
