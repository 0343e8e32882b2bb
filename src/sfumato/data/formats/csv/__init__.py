"""Delimited text: what its dialect is, its cells as numbers or text, a table in and out."""
