"""The types of a secondary by the names that they get, and which of them may be set."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from ...errors import Errors


class TypeMap(NamedTuple):
    allowed: Collection[str] | None  # null is all
    names: Mapping[str, str]  # of the secondary's types, where they are called otherwise here

    def renamed(self, label: str) -> str:
        return self.names.get(label, label)

    def allows(self, name: str) -> bool:
        return self.allowed is None or name in self.allowed

    def labels(self, known: Collection[str]) -> tuple[str, ...]:
        """The types that may be set, as far as they are known.

        known (Collection[str]): The secondary's own.
        """
        found = map(self.renamed, known) if self.allowed is None else self.allowed
        return tuple(dict.fromkeys(found))

    def check(self, known: Collection[str], who: str) -> None:
        """Whether the names fit each other and the secondary.

        known (Collection[str]): The types of the secondary; empty where it does not know them yet.
        """
        problems = {
            "label_map has a blank type": [
                n for pair in self.names.items() for n in pair if not n.strip()
            ],
            "label_map leads to types that are not among 'labels'": [
                n for n in self.names.values() if not self.allows(n)
            ],
        }
        if known:
            given = set(map(self.renamed, known))
            strange = [n for n in self.names if n not in known]
            problems["label_map has types that the secondary has not"] = strange
            missing = [n for n in self.allowed or () if n not in given]
            problems["the secondary has nothing that becomes"] = missing
        for problem, found in problems.items():
            if found:
                text = f"{problem}: {', '.join(map(repr, found))}"
                shown = ", ".join(known) or "not known before it reads"
                raise ValueError(Errors.L289.format(who=who, problem=text, known=shown))
