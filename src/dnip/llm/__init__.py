"""Everything that knows what a language model is: prompts, answers, and servers."""
