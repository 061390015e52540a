"""The parts of `tools/corpus.py`."""
