"""`python -m earnest`: the command line of the client."""

import sys

from earnest.cli import main

sys.exit(main())
