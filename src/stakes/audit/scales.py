"""What a score means: the scales on which a threshold stands for a cost proportion."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from stakes._check import FloatArray
from stakes._value import Value
from stakes.errors import InputError


class Scale(Value, ABC):
    """What a score means, and so for which cost proportion a threshold is the Bayes threshold."""

    @abstractmethod
    def cost_proportion(self, threshold: float) -> float:
        """Cost proportion whose Bayes threshold this is; nan when scores are on no such scale.

        Parameters
        ----------
        threshold : a threshold on this scale

        Returns
        -------
        the cost proportion, or nan

        Examples
        --------
        >>> Probabilities().cost_proportion(0.2), LogOdds().cost_proportion(0.0)
        (0.2, 0.5)
        """

    def refuse(self, scores: FloatArray) -> None:
        """Raise InputError when scores cannot be on this scale; by default any can.

        Parameters
        ----------
        scores : the scores

        Examples
        --------
        >>> import numpy as np
        >>> RawScores().refuse(np.array([-3.0, 8.5]))
        """


@dataclass(frozen=True, eq=False)
class Probabilities(Scale):
    """Scores are probabilities of the positive class; ±inf stands beyond 0 and 1."""

    def cost_proportion(self, threshold: float) -> float:  # noqa: D102
        return min(max(threshold, 0.0), 1.0)

    def refuse(self, scores: FloatArray) -> None:  # noqa: D102
        bad = np.flatnonzero(np.isfinite(scores) & ~((scores >= 0) & (scores <= 1)))
        if bad.size:
            raise InputError(
                f"scores on the scale Probabilities() must lie in [0, 1]; {bad.size} of "
                f"{scores.size} do not, the first being {scores[bad[0]]:g}. Calibrate them first, "
                f"with Affine or Isotonic from stakes.calibration, or read them as LogOdds() or "
                f"RawScores()."
            )


@dataclass(frozen=True, eq=False)
class LogOdds(Scale):
    """Scores are log-odds of the positive class."""

    def cost_proportion(self, threshold: float) -> float:  # noqa: D102
        with np.errstate(over="ignore"):
            return float(1 / (1 + np.exp(-float(threshold))))


@dataclass(frozen=True, eq=False)
class RawScores(Scale):
    """Scores only rank; there is no Bayes threshold on them."""

    def cost_proportion(self, threshold: float) -> float:  # noqa: D102
        return float("nan")


def read_scale(scale: Scale) -> Scale:
    """The scale; anything else, such as a class instead of its instance, is refused."""
    if not isinstance(scale, Scale):
        shown = scale.__name__ if isinstance(scale, type) else repr(scale)
        raise InputError(
            f"scale must be Probabilities(), LogOdds() or RawScores(); got {shown}. "
            f"Write the brackets: a class itself is not a scale."
        )
    return scale
