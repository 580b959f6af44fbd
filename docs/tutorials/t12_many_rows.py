"""
A million rows, and a hundred times as many
===========================================

Rows are read once and summed. What a report needs then fits into a few kilobytes, however many rows
there were. This page writes a million rows to a Parquet file and lets DuckDB tally them within a
small memory limit. A hundred million rows take the same call; the last section has figures that
were recorded for them.
"""

# sphinx_gallery_thumbnail_path = 'images/report.png'
import os
import tempfile
import time
from pathlib import Path

import duckdb

import stakes
from stakes import Problem
from stakes.calibration import Isotonic

folder = Path(tempfile.mkdtemp())
n_rows = 1_000_000
duckdb.execute("SET threads = 1; SELECT setseed(0.5)").fetchall()
duckdb.sql(f"""
    COPY (
        SELECT payment, CASE WHEN y THEN 'fraud' ELSE 'legit' END AS label,
            round(1 / (1 + exp(4.0 - CASE WHEN y THEN 4 ELSE 0 END - 1.6 * z)), 4) AS p_new,
            round(1 / (1 + exp(4.5 - CASE WHEN y THEN 3 ELSE 0 END - 1.9 * z)), 4) AS p_old
        FROM (SELECT payment, random() < 0.03 AS y,
            sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()) AS z
            FROM range({n_rows}) AS rows(payment))
    ) TO '{folder}/payments.parquet' (FORMAT parquet)
""")
print(f"{os.path.getsize(folder / 'payments.parquet') / 1e6:.0f} MB")

# %%
# One call
# --------
#
# Paths and globs are read by DuckDB. With ``engine="duckdb"`` the rows are tallied there whatever
# their number; without it, rows are read into arrays as long as they fit into ``memory_limit``.
# ``key`` is a column of whole numbers that determines the fold of each row, so that recalibration
# is fitted on rows other than those on which it is judged.

problem = Problem(
    {
        "legit": {"approve": 0, "review": 3, "block": 25},
        "fraud": {"approve": 180, "review": 8, "block": 0},
    },
    unit="EUR",
)
start = time.perf_counter()
report = stakes.evaluate_frame(
    str(folder / "*.parquet"),
    problem,
    y_true="label",
    models={"new": "p_new", "old": "p_old"},
    calibrator=Isotonic(),
    key="payment",
    engine="duckdb",
    memory_limit="256MiB",
)
print(f"{report.assumptions.n_cases:,.0f} rows in {time.perf_counter() - start:.0f} seconds")

# %%

for sentence in report.verdict.sentences:
    print(sentence)

# %%
# With a million cases the intervals are narrow, and even small differences are clear. Whether they
# matter is another question: the verdict gives them in EUR.
#
# The report says what to watch out for, and which engine tallied the rows:

for caveat in report.caveats:
    print("-", caveat.text)
print(f"tallied by {report.assumptions.engine}; {report.assumptions.calibrator}")

# %%
# Only sums leave the engine
# --------------------------
#
# A score table has one row for each distinct score. With scores of four digits there are at most
# 10,001 of them, for a million rows as for a hundred million. The ROC curve, its hull, the AUC,
# cost curves and best thresholds are all functions of that table, exact and not binned.

payments = duckdb.sql(f"SELECT * FROM '{folder}/payments.parquet'")
table = stakes.ScoreTable.from_frame(payments, y_true="label", scores="p_new", positive="fraud")
print(f"{len(table.scores):,} distinct scores, AUC {float(stakes.auc(table)):.5f}")

# %%
# Scores with all their digits would make the table as long as the file. A grid of bins, finer
# towards 0 and 1, keeps it short, and the report states how large the error of the AUC may then be.
#
# Decisions for all rows
# ----------------------
#
# A rule adds a column to a lazy frame. Nothing is read until somebody asks for the result:

rule = report.rule()
decided = rule.decide(payments)
print(type(decided).__name__, decided.columns)
decided.aggregate("decision, count(*) AS payments").order("decision").fetchall()

# %%
# A hundred million
# -----------------
#
# This page stops at a million rows, because it runs whenever the site is built. Files of any size
# go through the same calls, so the figures below were recorded once, on two cores.
#
# The call of this page with ``n_rows = 100_000_000`` has the same verdict with narrower intervals:
# *Deploy new with Bayes decisions, recalibrated: it costs 1.0002 EUR per case (95 % interval 0.9986
# to 1.0019).* It took 115 seconds of processor time, 44 times as much as DuckDB's own scan of the
# label and both scores, and at most 0.31 GiB of memory. Scores of four digits make that possible:
# there are at most 10,001 of them to which a map is fitted.
#
# Where every score is different, a map would need all of them in memory, so such reports are **not
# recalibrated**. They take five to eight times the processor time of DuckDB's scan, and 1 GiB of
# memory with exact ranks or 0.3 GiB in bins. Whether ranks are exact follows from ``memory_limit``:
# eight bytes for each row must fit into it. :doc:`Frames and engines </frames>` says more, and
# :doc:`the benchmarks </benchmarks>` have the latest figures; those of GPUs for 10⁸ and 10⁹ scores
# are on :doc:`the page about torch </torch>`.
