"""Run methods and measures over a table, compare the figures, and choose; what is public is in ``sfumato``."""
