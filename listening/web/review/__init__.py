"""The reviewer’s desk and the pages of reviews."""
