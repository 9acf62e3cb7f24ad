"""Speech recognisers behind one small interface; their base's registry finds them."""
