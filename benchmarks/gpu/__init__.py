"""What metrics, presets and training do on a GPU, in ten minutes and without a database."""
