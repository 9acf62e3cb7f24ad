"""What the site serves of analyses: pages, forms, files, and the jobs behind them."""
