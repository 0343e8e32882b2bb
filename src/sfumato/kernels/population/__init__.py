"""The population behind a sample: models of how classes of equal keys continue, as arrays in and arrays out."""
