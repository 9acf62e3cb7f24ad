"""Audio language models asked over an OpenAI-compatible API: rubric, repeats, cache, cost."""
