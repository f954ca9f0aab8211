"""``python -m dnip`` is ``dnip``."""

from dnip.cli import main

main()
