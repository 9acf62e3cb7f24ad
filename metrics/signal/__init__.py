"""Signal processing: SRMR, F0, periods and jitter, mel scales, speech segments, turns."""
