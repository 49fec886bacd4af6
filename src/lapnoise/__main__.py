"""``python -m lapnoise`` is the command ``lapnoise``."""

import sys

from lapnoise.cli import main

if __name__ == "__main__":
    sys.exit(main())
