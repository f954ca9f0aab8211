"""Engines: one file per way to reach a language model; each loads its library where it is used."""
