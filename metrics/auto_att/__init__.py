"""Auto-ATT: models that learn a study's human-likeness labels; data, training, evaluation."""
