"""Trees grown by recursive partitioning: regression and classification."""
