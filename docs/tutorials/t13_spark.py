"""
Predictions on a Spark cluster
==============================

The predictions of two models lie on a cluster, too many to fetch. Spark tallies them where they
are, and only sums come back to the driver: a few thousand numbers, from which the whole report is
made. On a cluster only the session differs from this page, which uses two cores of one machine.
"""

# sphinx_gallery_thumbnail_path = 'images/report.png'
import os
import sys

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

import stakes
from stakes.calibration import Isotonic

os.environ["PYSPARK_PYTHON"] = sys.executable
builder = SparkSession.builder.master("local[2]")  # on a cluster: "yarn", or none at all
settings = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "ERROR",
}
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()

# %%
# You need Java 17 or newer on every node, and ``pip install 'stakes[spark]'`` on the driver only:
# everything is an expression of Spark SQL, so that the workers need no Python package.
#
# The rows
# --------
#
# In a job the frame comes from ``spark.read.parquet("hdfs:///predictions/2026/*.parquet")``. Here
# are 20,000 payments of 2,000 customers, one in twenty of them a fraud. The old model overstates
# how sure it is.

rng = np.random.default_rng(0)
n_rows = 20_000
fraud = rng.random(n_rows) < 0.05
evidence = rng.normal(np.where(fraud, 2, -2), 2) - 3
old_evidence = 2 * (rng.normal(np.where(fraud, 1.5, -1.5), 2) - 3)
payments = spark.createDataFrame(
    pa.table(
        {
            "customer": rng.integers(0, 2_000, n_rows),
            "country": rng.choice(["DE", "FR", "PT"], n_rows, p=[0.6, 0.3, 0.1]),
            "label": np.where(fraud, "fraud", "legit"),
            "p_new": (1 / (1 + np.exp(-evidence))).round(4),
            "p_old": (1 / (1 + np.exp(-old_evidence))).round(4),
        }
    )
)
print(f"{payments.count():,} rows, columns {', '.join(payments.columns)}")

# %%
# One call
# --------
#
# ``clusters`` are rows that were sampled together, here the payments of a customer: the intervals
# count customers, not payments. ``key`` is a column of whole numbers from which the fold of each
# row follows, so that recalibration is fitted on other customers than those it is judged on.

problem = stakes.Problem(
    {
        "legit": {"approve": 0, "review": 3, "block": 25},
        "fraud": {"approve": 180, "review": 8, "block": 0},
    },
    unit="EUR",
)
report = stakes.evaluate_frame(
    payments,
    problem,
    y_true="label",
    models={"new": "p_new", "old": "p_old"},
    by="country",
    clusters="customer",
    key="customer",
    calibrator=Isotonic(),
    engine="spark",
)
for sentence in report.verdict.sentences:
    print(sentence)

# %%
# The report names the engine that tallied the rows and what was fitted:

print(report.assumptions.engine, "·", report.assumptions.calibrator)

# %%
# Slices come from the same tallies. Small countries have wide intervals:

for part in report.slices:
    (cost,) = (each.cost for each in part.costs if each.system == report.best.name)
    print(f"{part.group}: {cost.value:.2f} EUR, 95 % interval {cost.low:.2f} to {cost.high:.2f}")

# %%
# Tallies of days add up
# ----------------------
#
# A tally is a value. That of today added to that of yesterday is the tally of both days, so that a
# job keeps one small table instead of all rows.

halves = payments.randomSplit([0.5, 0.5], seed=1)
columns = {"y_true": "label", "scores": "p_new", "positive": "fraud"}
today, yesterday = (stakes.ScoreTable.from_frame(half, **columns) for half in halves)
both = stakes.ScoreTable.from_frame(payments, **columns)
print(f"AUC {float(stakes.auc(both)):.4f}; the same from two parts: {today + yesterday == both}")

# %%
# Decisions where the rows are
# ----------------------------
#
# A rule adds a column, lazily. Write the frame where you like; nothing passes through the driver.

decided = report.rule().decide(payments)
decided.groupBy("decision").count().orderBy("decision").show()

# %%
# :doc:`On a Spark cluster </spark>` has the command line, and says what comes back to the driver
# and how many passes over the rows a report takes.
