"""One file per table format: its reader and its writer. `registry` lists them by suffix."""
