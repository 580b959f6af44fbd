"""Guests: foreign libraries. Nothing here is imported before it is asked for.

Files are read by DuckDB (`duck`). A lazy frame of any engine is tallied by that engine (`tallies`),
with expressions that narwhals translates.
"""
