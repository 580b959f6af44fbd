"""Frames of other libraries, files and relations; optional packages are imported on first use.

DuckDB reads files (`duck`). A lazy frame of any engine is tallied by that engine (`tallies`), with
expressions that narwhals translates.
"""
