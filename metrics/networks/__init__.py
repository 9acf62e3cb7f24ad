"""Neural networks: predictors, embeddings, recognisers."""
