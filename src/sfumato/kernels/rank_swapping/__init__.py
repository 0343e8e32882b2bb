"""Partners for rank swapping."""
