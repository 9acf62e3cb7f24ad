"""Mixed models of ratings: Gaussian by REML or exact sampling, ordinal and binary by quadrature."""
