"""The anchors of ITU-R BS.1534: how they are called, and where they are cut."""

ANCHORS = {"anchor35": 3500, "anchor70": 7000}  # Hz
LABELS = {"anchor35": "Low anchor, 3.5 kHz", "anchor70": "Middle anchor, 7 kHz"}
