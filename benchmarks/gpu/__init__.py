"""What metrics, presets, training and judges do on a GPU, in ten minutes and without a database."""
