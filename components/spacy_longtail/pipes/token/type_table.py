"""Types of a token pipe with their descriptions."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import Errors
from ...types import Block
from .describing import describe_types


@dataclass(frozen=True)
class TypeTable:
    """The types that a pipe finds. A table is not changed: methods return another one.

    labels (Tuple[str, ...]): Names of the types, in the order of the model's outputs.
    descriptions (Mapping[str, str]): Texts by type, for a model that computes weights from them.
    unseen (Tuple[str, ...]): Described types without a mention in any training example so far.
    """

    labels: tuple[str, ...] = ()
    descriptions: Mapping[str, str] = field(default_factory=dict)
    unseen: tuple[str, ...] = ()

    @classmethod
    def from_cfg(cls, cfg: Block) -> "TypeTable":
        """Return the table of a saved pipe.

        cfg (Dict[str, Any]): As `to_cfg` returned it. Pipelines of version 0.3.0 lack "unseen".
        """
        return cls(tuple(cfg["types"]), cfg.get("descriptions", {}), tuple(cfg.get("unseen", ())))

    def to_cfg(self) -> dict[str, Any]:
        """Return the values that are saved in the `cfg` file of a pipe."""
        return {
            "types": list(self.labels),
            "descriptions": dict(self.descriptions),
            "unseen": list(self.unseen),
        }

    def adding(self, label: str, is_described: bool) -> "TypeTable":
        """Return a table with one more type, or this one if it has the type already.

        label (str): The type.
        is_described (bool): Whether its weights come from a description: such a type counts as
            unseen until a training example mentions it.
        """
        if label in self.labels:
            return self
        unseen = (*self.unseen, label) if is_described else self.unseen
        return replace(self, labels=(*self.labels, label), unseen=unseen)

    def describing(self, given: Mapping[str, str], who: str) -> "TypeTable":
        """Return a table with a description of each of its types and of no other.

        given (Mapping[str, str]): Descriptions by type. Other types keep the one that they have; a
            type without any is described by the words of its name.
        who (str): Name of the pipe, for messages.
        RAISES (ValueError): If a description is blank or no text, or two are the same (L271).
        """
        texts = describe_types(self.labels, {**self.descriptions, **given}, who)
        return replace(self, descriptions=texts)

    def starting(
        self, given: Mapping[str, str], mentioned: Collection[str], known: Collection[str], who: str
    ) -> "TypeTable":
        """Return the table that a training starts with, which describes each type.

        given (Mapping[str, str]): Descriptions by type.
        mentioned (Collection[str]): Types with a mention in the training data. Others are unseen.
        known (Collection[str]): All types of the data, which may be described.
        who (str): Name of the pipe, for messages.
        RAISES (ValueError): If another type is described (L801); or as for `describing`.
        """
        texts = {**self.descriptions, **given}
        if unknown := ", ".join(sorted(texts.keys() - {*known, *self.labels})):
            raise ValueError(Errors.L801.format(who=who, unknown=unknown))
        return TypeTable(self.labels, unseen=self.labels).describing(texts, who).seeing(mentioned)

    def seeing(self, mentioned: Collection[str]) -> "TypeTable":
        """Return a table in which the mentioned types no longer count as unseen."""
        return replace(self, unseen=tuple(label for label in self.unseen if label not in mentioned))
