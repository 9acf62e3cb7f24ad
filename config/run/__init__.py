"""Starting Earnest: process tree, embedded servers, commands."""
