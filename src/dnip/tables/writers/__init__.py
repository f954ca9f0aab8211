"""One writer per file format: blocks of rows go into an open binary file."""
