"""Records: errors name the place that is wrong in a file, and no value is converted."""

import json
import re

import pytest
from pydantic import ValidationError

from spacy_longtail.evaluation.records import read_evaluation, write_evaluation
from spacy_longtail.records import Number, Record, problem_of
from tests.util import evaluation_data


class Inner(Record):
    n: int
    share: float | None = None


class Outer(Record):
    name: str
    rows: list[tuple[int, str]]
    inner: dict[str, Inner]
    numbers: dict[str, Number]


GOOD = {"name": "x", "rows": [[1, "a"]], "inner": {"PER": {"n": 1}}, "numbers": {"a": 1, "b": 1.0}}


def test_records_are_written_as_they_were_read():
    found = Outer.model_validate_json(json.dumps({**GOOD, "more": 3}))
    assert json.dumps(found.as_json()) == json.dumps(GOOD)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "the file: Invalid JSON.*"),
        ("[]", "the file: Input should be an object.*"),
        *(
            (json.dumps({**GOOD, **change}), problem)
            for change, problem in (
                ({"name": 3}, "the file, 'name': Input should be a valid string, found 3"),
                ({"rows": {}}, "the file, 'rows': Input should be a valid array, found {}"),
                ({"rows": [[1, "a"], ["1", "a"]]}, "the file, 'rows', 1, 0: .* found '1'"),
                ({"rows": [[1]]}, "the file, 'rows', 0, 1: Field required"),
                ({"inner": {"PER": {}}}, "the file, 'inner', 'PER', 'n': Field required"),
                ({"inner": {"PER": 1}}, "the file, 'inner', 'PER': .* found 1"),
                (
                    {"inner": {"PER": {"n": 1, "share": float("nan")}}},
                    "the file.*'share': .* found nan",
                ),
                ({"numbers": {"a": "1"}}, "the file, 'numbers', 'a', 'int': .* found '1'"),
                ({"inner": {"PER": {}}, "name": None}, "the file, 'name': .* found None"),
            )
        ),
    ],
)
def test_a_problem_has_its_place(text, problem):
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate_json(text)
    assert re.fullmatch(problem, problem_of(caught.value))


def test_an_evaluation_is_written_as_it_was_read(tmp_path):
    document = {"title": 3, "text": "Ann", "sentences": [[0, 3]], "gold": [[0, 3, "PER"]]}
    data = evaluation_data(
        [{**document, "predicted": [[0, 3, "PER", 0.5], [0, 1, "GEO", None]]}],
        curve=[{"step": 2, "ents_f": 0.6}],
        scores={"weak_sents_f": 0.25},
        method={"reader": {"path": None}, "pipes": {"ner": {"lam": 1}}},
    )
    (tmp_path / "a.json").write_text(json.dumps(data))
    write_evaluation(read_evaluation(tmp_path / "a.json"), tmp_path / "b.json")
    assert json.loads((tmp_path / "b.json").read_text()) == data
