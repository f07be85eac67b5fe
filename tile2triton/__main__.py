"""`python -m tile2triton`."""

from tile2triton.cli import main

raise SystemExit(main())
