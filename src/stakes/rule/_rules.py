"""The rules of a report; those that need a fit are made when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from stakes.errors import InputError
from stakes.rule._rule import Rule


class Rules(Mapping[str, Rule]):
    """Rules by the name of their system.

    The calibration map of a rule is fitted on all cases. Because that takes time, the rule is made
    when it is first used; until then the scores of its model stay in memory. A report of two
    classes uses it at once, for the cuts that it shows, unless cases have costs of their own.
    Comparing, copying or writing the rules makes all of them.

    Examples
    --------
    >>> from stakes import Problem, evaluate
    >>> problem = Problem.binary(false_alarm=1, miss=9, decisions=["wait", "treat"])
    >>> y, models = [0, 0, 0, 1] * 25, {"net": [0.02, 0.05, 0.3, 0.6] * 25}
    >>> rules = evaluate(y, models, problem, calibrator=None).rules
    >>> list(rules), rules["net (as is)"].decide([0.05, 0.2]).tolist()
    (['net (as is)', 'net (tuned)'], ['wait', 'treat'])
    """

    def __init__(self, rules: Mapping[str, Rule | Callable[[], Rule]]) -> None:
        self._rules = dict(rules)

    def __getitem__(self, name: str) -> Rule:
        rule = self._rules[name]
        if not isinstance(rule, Rule):
            rule = self._rules[name] = rule()
        return rule

    def __iter__(self) -> Iterator[str]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)

    def fitted(self) -> dict[str, Rule]:
        """All rules that can be fitted; a map may be impossible to fit to all cases.

        Returns
        -------
        rules by the name of their system

        Examples
        --------
        >>> from stakes import Problem
        >>> rules = Rules({"forest (as is)": lambda: Rule(Problem.zero_one(2))})
        >>> rules.fitted()["forest (as is)"].decide([0.2, 0.7])
        array([0, 1])
        """
        rules = {name: self.if_fitted(name) for name in self}
        return {name: rule for name, rule in rules.items() if rule is not None}

    def if_fitted(self, name: str) -> Rule | None:
        """The rule of a system, or None where its map is impossible to fit to all cases.

        Parameters
        ----------
        name : the name of the system

        Returns
        -------
        the rule

        Examples
        --------
        >>> from stakes import Problem
        >>> rules = Rules({"forest (as is)": lambda: Rule(Problem.zero_one(2))})
        >>> rules.if_fitted("forest (as is)").decide([0.2, 0.7])
        array([0, 1])
        """
        try:
            return self[name]
        except InputError:
            return None

    def with_columns(self, columns: Mapping[str, tuple[str, ...]]) -> Rules:
        """The same rules, each with the columns from which its model was read, if known.

        Parameters
        ----------
        columns : names of columns, by model

        Returns
        -------
        the rules

        Examples
        --------
        >>> from stakes import Problem
        >>> from stakes.rule import Origin
        >>> origin = Origin("0.2", seed=0, n_rows=9, n_cases=9.0, prior=(0.5, 0.5))
        >>> rules = Rules({"rf (as is)": Rule(Problem.zero_one(2), model="rf", origin=origin)})
        >>> rules.with_columns({"rf": ("p_rf",)})["rf (as is)"].origin.columns
        ('p_rf',)
        """

        def later(rule: Rule | Callable[[], Rule]) -> Rule | Callable[[], Rule]:
            if isinstance(rule, Rule):
                return rule.with_columns(columns.get(rule.model, ()))
            return lambda: (fitted := rule()).with_columns(columns.get(fitted.model, ()))

        return Rules({name: later(rule) for name, rule in self._rules.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rules) and self.fitted() == other.fitted()

    def __hash__(self) -> int:
        return hash(Rules)  # a hash of the content would have to fit all maps

    def __reduce__(self) -> tuple[type[Rules], tuple[dict[str, Rule]]]:
        return Rules, (self.fitted(),)  # fitted rules, so that a pickle holds no rows
