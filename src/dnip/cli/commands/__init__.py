"""One file per command: it reads the options, calls the library, and prints the result."""
