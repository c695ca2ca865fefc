"""Records of an evaluation's JSON file, with its reader and writer."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import srsly
from pydantic import ConfigDict, Field, JsonValue

from ..output.writing import write_file
from ..records import PRF, Number, Record, read_record
from ..training.provenance import Method, RunRecord

MARK = '"checksum":'  # near the beginning of an evaluation, which may be replaced


class TypeScores(PRF):
    """Scores of one type."""

    support: int  # number of gold mentions


NOTHING = TypeScores(p=0.0, r=0.0, f=0.0, support=0)  # scores of a type that does not occur


class Scores(Record):
    """Scores of a pipeline in [0, 1]. Gates add their own."""

    model_config = ConfigDict(extra="allow")

    ents_f: float
    ents_macro_f: float
    ents_weighted_f: float
    ents_per_type: dict[str, TypeScores]
    ents_tail_f: float | None = None
    ents_o_f: float | None = None
    ents_word_acc: float | None = None
    ents_sentence_acc: float | None = None

    def of_type(self, label: str) -> TypeScores:
        """Return the scores of a type, which are 0 if it is neither annotated nor predicted."""
        return self.ents_per_type.get(label, NOTHING)

    def averaged(self, labels: Sequence[str], tail: Sequence[str]) -> "Scores":
        """Return the scores with the averages over other declared types.

        `ents_per_type` has every type that is annotated or predicted. So an evaluation stays valid
        if the corpus gets a new type or declares other types as rare.

        labels (Sequence[str]): The declared types, at least one.
        tail (Sequence[str]): The rare types.
        RETURNS (Scores): A copy with macro, weighted and tail F1 over these types.
        """
        own = [self.of_type(label) for label in labels]
        support = sum(score.support for score in own)
        return self.model_copy(
            update={
                "ents_macro_f": sum(score.f for score in own) / len(own),
                "ents_weighted_f": sum(score.f * score.support for score in own) / max(support, 1),
                "ents_tail_f": sum(self.of_type(t).f for t in tail) / len(tail) if tail else None,
            }
        )


class TrainingSettings(Record):
    """Settings of [training] in the pipeline's config."""

    seed: int | None = None
    max_steps: int | None = None
    patience: int | None = None


EntityScore = Annotated[float, Field(ge=0, le=1)] | None


class Document(Record):
    """Document with gold and predicted entities in character offsets, in the order of the text."""

    title: JsonValue = ""
    group: JsonValue = None  # value of group_by; documents with the same value are one unit
    text: str
    sentences: list[tuple[int, int]]
    gold: list[tuple[int, int, str]]
    predicted: list[tuple[int, int, str, EntityScore]]


class Evaluation(Record):
    """Scores of a pipeline on a part of a corpus, its origin and its predictions."""

    name: str  # of the model in reports
    model: str
    data: str
    part: str | None = None
    checksum: str | None = None  # of the data
    labels: list[str]
    tail: list[str]
    names: dict[str, str] = Field(default_factory=dict)  # corpus type by pipeline type
    training: TrainingSettings
    method: Method = Method()
    run: RunRecord = RunRecord()
    curve: list[dict[str, Number]] = Field(default_factory=list)  # one entry per evaluation on dev
    performance: dict[str, Number]  # scores on dev in the pipeline's meta data
    scores: Scores
    analysis: dict[str, Any] | None = None  # result of `analyse`
    secondaries: dict[str, dict[str, Number]] = Field(default_factory=dict)  # usage by component
    words_per_second: float
    documents: list[Document]


def read_evaluation(path: Path) -> Evaluation:
    """Read a file that the command `evaluate` wrote."""
    return read_record(Evaluation, path, "evaluate")


def write_evaluation(evaluation: Evaluation, path: Path) -> None:
    """Write an evaluation as JSON. Missing folders are created."""
    write_file(path, srsly.json_dumps(evaluation.as_json(), indent=0))
