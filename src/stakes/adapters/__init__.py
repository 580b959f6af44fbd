"""Frames of other libraries, files and relations; optional packages are imported on first use.

Files are read by DuckDB (`duck`). A lazy frame of any engine is tallied by that engine (`tallies`),
with expressions that narwhals translates.
"""
