"""Showing: results become one plain summary, and every renderer (terminal, plots, HTML report, JSON) reads only that."""
