"""Groups of records for microaggregation by maximum distance to the average vector (MDAV)."""
