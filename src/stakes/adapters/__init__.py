"""Frames of other libraries, files and relations; optional packages are imported on first use.

DuckDB reads files (`duck`), which are then frames as any other (`sources`). A lazy frame whose
columns exceed the memory limit is tallied by its engine (`engine_evidence`), with expressions that
narwhals translates.
"""

# What other rooms may import, by file: each brings in its own foreign library only, which an
# `__all__` of the room would import all at once.
DOORS = {
    "checked_columns": ("NOT_MEANT", "posterior_columns"),
    "columns": ("Columns", "model_argument", "prediction_columns"),
    "data_files": ("Format", "unnamed", "write_rows"),
    "duck": ("FileSource", "opened_files", "refuse_gaps", "spark_files"),
    "engine_work": ("Advance", "Watch"),
    "frame": ("evaluate_frame", "frame_of", "report_frame"),
    "frame_tallies": ("frame_bins", "frame_counts", "frame_losses", "frame_scores"),
    "lazy_decisions": ("bayes_column", "rule_column"),
    "report_on": ("count_rows", "memory_size"),
    "sources": ("Source",),
}
