"""Signal processing: SRMR, F0, envelopes, speech segments."""
