"""What whoever runs Earnest needs: health, heartbeats, logs, metrics, and a page of them."""
