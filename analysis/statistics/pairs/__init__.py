"""Paired comparisons of clips: means, order, Bradley-Terry, Davidson, Thurstone, triads."""
