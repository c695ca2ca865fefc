"""`longtail_ensemble_ner`: trained token NERs as one, by the mean of their tag probabilities."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Ints1d, Ragged

from ...errors import Errors
from ...heads.outputs import forget_outputs
from ...losses import CrossEntropy
from ...types import Block
from ..base import factory
from ..saved import bad_cfg
from ..scores.thresholding import check_judging
from .tagging import TokenTagger
from .token_model import TokenModel
from .type_table import TypeTable

WHO = "longtail_ensemble_ner"

MIN_PROBABILITY = 1e-30  # instead of 0, so that the logarithm is a number


class EnsembleNER(TokenTagger):
    """Several trained token NERs as one, which the command `ensemble` writes and nothing trains.

    The score of an entity is the mean probability of its tags. Weights and types come from
    `compose` or from a saved component.

    members (Dict[str, Dict]): Settings of each member by any name: `head`, "softmax" or "crf", and
        `model` with an encoder.
    scheme (str): Tags of all of them: "BIO" or "BILUO".
    scores_key, thresholds, abstain_key: As for longtail_ner.
    write_probabilities (bool): As for longtail_token_ner.
    scorer (Optional[Callable]): The scoring function.
    SOURCE: Lakshminarayanan et al. 2017, arXiv:1612.01474.
    """

    required = ("types", "members", "scheme")

    def __init__(
        self,
        nlp: Language,
        name: str,
        members: dict[str, dict],
        scheme: Literal["BIO", "BILUO"] = "BIO",
        scores_key: str | None = None,
        thresholds: dict[str, float] | None = None,
        abstain_key: str | None = None,
        write_probabilities: bool = False,
        scorer: Callable | None = None,
    ) -> None:
        self.members = {
            member: TokenModel(settings["model"], settings["head"], CrossEntropy(), scheme)
            for member, settings in sorted(members.items())
        }
        # by member, the columns of the ensemble's tags in its probabilities
        self.columns: dict[str, Ints1d] = {}
        layers = [member.model for member in self.members.values()]
        super().__init__(
            nlp,
            Model("mean_of_members", self._mean_of_members, layers=layers),
            name,
            loss=CrossEntropy(),
            scorer=scorer,
            members={member: {"types": []} for member in self.members},
            scheme=scheme,
            write_probabilities=write_probabilities,
            **check_judging(thresholds, abstain_key, scores_key, WHO),
        )
        self.token_models = list(self.members.values())

    def read_cfg(self, source: Path | str) -> Block:
        """Return saved settings and types, checked against those of the members.

        source (Path | str): The file, or the JSON text in a serialized pipe.
        RAISES (ValueError): If the members are not those of the config, or a member lacks a type.
        """
        cfg = super().read_cfg(source)
        members = {name: member.get("types", []) for name, member in cfg["members"].items()}
        problem = ""
        if members.keys() != self.members.keys():
            problem = f"its members are {', '.join(members)}, in the config {', '.join(self.members)}"
        for name, types in members.items():
            if lacking := [label for label in cfg["types"] if label not in types]:
                shown = ", ".join(lacking)
                problem = f"'types' names {shown}, which the member {name} was not trained on"
        if problem:
            raise bad_cfg(source, self, problem)
        return cfg

    def _align(self) -> None:
        """Set the types of the members, and find the ensemble's tags among theirs."""
        for name, member in self.members.items():
            member.scheme = self.cfg["scheme"]
            member.use(TypeTable(tuple(self.cfg["members"][name]["types"])))
            columns = {tag: i for i, tag in enumerate(member.codec.tags)}
            self.columns[name] = np.array([columns[tag] for tag in self.tokens.codec.tags])

    def _mean_of_members(self, model: Model, docs: list[Doc], is_train: bool) -> tuple[Ragged, None]:
        """Return the log of the mean tag probabilities, (n_tokens, n_tags), without a gradient."""
        members = self.members.items()
        p = np.mean([m.marginals(docs)[:, self.columns[name]] for name, m in members], axis=0)
        n_tokens = model.ops.asarray1i([len(doc) for doc in docs])
        return Ragged(model.ops.asarray2f(np.log(np.maximum(p, MIN_PROBABILITY))), n_tokens), None

    def load_cfg(self, saved: Block, exclude: Iterable[str]) -> None:
        """Take over saved settings and types of the ensemble and of its members."""
        # the model of the means has no outputs to forget; those of the members follow
        super().load_cfg(saved, ["model"])
        self._align()
        for member in self.members.values() if "model" not in exclude else ():
            forget_outputs(member.model)

    def compose(self, types: Iterable[str], weights: Mapping[str, TokenTagger]) -> None:
        """Take over types and weights of trained token NERs.

        types (Iterable[str]): Types in the order of the ensemble's tags.
        weights (Mapping[str, TokenTagger]): Trained components by name of the member.
        """
        self.tokens.use(TypeTable(tuple(types)))
        self.cfg["members"] = {name: {"types": list(weights[name].labels)} for name in self.members}
        self._align()
        for name, member in self.members.items():
            forget_outputs(member.model)
            member.model.from_bytes(weights[name].model.to_bytes())

    def add_label(self, label: str, description: str | None = None) -> int:
        """Refuse a type that the members lack. RETURNS (int): 0, for a type that they have."""
        return 0 if label in self.labels else self._refuse(f"learn the type {label!r}")

    def set_labels(self, labels: Mapping[str, str] | Iterable[str]) -> NoReturn:
        """Refuse other types, because the members have learnt theirs."""
        self._refuse("get other types")

    def initialize(self, get_examples: Callable, **settings: Any) -> NoReturn:
        """Refuse, because the members were trained by themselves."""
        self._refuse("be initialized")

    def update(self, *args: Any, **settings: Any) -> NoReturn:
        """Refuse, because the members were trained by themselves."""
        self._refuse("be trained")

    def _refuse(self, what: str) -> NoReturn:
        raise ValueError(Errors.L303.format(who=self.name, what=what))


make_ensemble_ner = factory(WHO, "ner")(EnsembleNER)
