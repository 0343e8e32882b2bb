"""What the rest of a protected file gives back of the values that were protected: the restoration audit."""
