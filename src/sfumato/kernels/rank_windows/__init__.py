"""Records inside the window of ranks around each record."""
