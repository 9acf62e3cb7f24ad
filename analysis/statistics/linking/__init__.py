"""Systems of several studies on one scale, linked by clips that more than one of them rated."""
