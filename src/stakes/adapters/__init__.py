"""Frames of other libraries, files and relations; optional packages are imported on first use.

DuckDB reads files (`duck`), which are then frames as any other (`sources`). A lazy frame whose
columns exceed the memory limit is tallied by its engine (`engine_evidence`), with expressions that
narwhals translates.
"""
