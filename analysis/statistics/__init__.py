"""Statistics on arrays and tables of ratings: pure, without pages, jobs or databases."""
