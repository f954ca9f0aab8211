"""From the answer of a language model to the label that it names."""
