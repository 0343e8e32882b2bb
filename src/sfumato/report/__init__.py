"""Showing: results become one plain summary; terminal, plots, report and JSON read only that."""
