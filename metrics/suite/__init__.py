"""The metrics, one file each; their base's registry finds them."""
