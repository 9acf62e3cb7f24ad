#!/usr/bin/env python
"""Runs Earnest's and Django's commands: `manage.py help` lists them."""

import sys

from config.run.commands import main

if __name__ == "__main__":
    sys.exit(main())
