"""
From a report to a rule to a decided file
=========================================

A report ends with a recommendation. A *rule* is that recommendation as a small JSON file with the
costs, the calibration map and the thresholds: everything that is needed to decide a new case. This
page takes every step, in Python and on the command line.
"""

# sphinx_gallery_thumbnail_path = 'images/report.png'
import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

import pandas as pd

import stakes
from stakes import Problem, Rule

folder = Path(tempfile.mkdtemp())
applicants = pd.read_csv(str(files("stakes") / "data" / "german_credit.csv"))
past, new = applicants[:700], applicants[700:].drop(columns="risk")
past.to_csv(folder / "past.csv", index=False)
new.to_csv(folder / "new.csv", index=False)

# %%
# The problem is a file that people can read and keep under version control:

problem_file = folder / "loans.toml"
problem_file.write_text(
    """\
unit = "loan margins"

[costs.good]
grant = 0
review = 0.3
decline = 1

[costs.bad]
grant = 5
review = 0.3
decline = 0
"""
)
problem = Problem.from_toml(problem_file)
problem

# %%
# In Python
# ---------

report = stakes.evaluate_frame(
    past, problem, y_true="risk", models={"boosting": "boosting", "logistic": "logistic"}
)
rule = report.rule()
rule.to_json(folder / "rule.json")
rule

# %%
# These cuts are on the model's own probability. The verdict, which the command line prints below,
# has those on the recalibrated one, 6 % and 70 %. The decisions are the same.
#
# Later, on another machine:

shipped = Rule.from_json(folder / "rule.json")
decisions = shipped.decide(new[report.best.model])
pd.Series(decisions).value_counts()

# %%
# A rule that consists of one or two thresholds on a probability can be written as SQL:

uncalibrated = stakes.evaluate_frame(
    past, problem, y_true="risk", models={"logistic": "logistic"}, calibrator=None
)
print(uncalibrated.rule().to_sql("p_bad"))

# %%
# On the command line
# -------------------
#
# The same in two commands. ``--rule-out`` writes the rule, ``stakes decide`` applies it.


def run(*arguments: str) -> None:
    """Run ``stakes`` in the folder, and print the command and the first part of its output."""
    print("$ stakes", *arguments)
    completed = subprocess.run(
        [sys.executable, "-m", "stakes", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = (completed.stdout + completed.stderr).splitlines()
    blank = next((place for place in range(8, len(lines)) if not lines[place]), len(lines))
    print("\n".join([*lines[:blank], *["…"] * (blank < len(lines))]))


run(
    *("evaluate", "past.csv", "--problem", "loans.toml", "--truth", "risk"),
    *("--model", "boosting=boosting", "--model", "logistic=logistic"),
    *("--rule-out", "rule.json"),
)

# %%

run("decide", "new.csv", "--rule", "rule.json", "--out", "decided.csv")

# %%

pd.read_csv(folder / "decided.csv").head()
