"""One reader per file format: a path in, a stream of raw chunks out."""
