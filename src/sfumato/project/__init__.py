"""A sweep's folder: what is planned, run, released and signed in it."""
