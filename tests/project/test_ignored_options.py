"""An option that would have no effect is refused, with the reason, instead of ignored."""

import pytest

from tests.util import GATE_MODEL, new_file, one_pipe, refused, small_ner, trained_once


def said(arguments):
    return " ".join(refused(arguments, "L420").stderr.split())


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        *(
            (f"audit CORPUS {option} 2", f"{option} would be ignored: it needs -o")
            for option in ("--gpu-id", "--steps", "--folds", "--seed")
        ),
        ("audit CORPUS --config CODE", "--config would be ignored: it needs -o"),
        ("audit CORPUS -o OUT --verbose", "--verbose would be ignored"),
        ("audit CORPUS --verbose --json", "--verbose would be ignored"),  # JSON has whole texts
        *(
            (f"evaluate FOLDER --report OUT {option}", "would be ignored: --report reads evaluations")
            for option in ("--gpu-id 0", "--map A=B", "--code CODE", "--name x", "--part dev")
        ),
        ("evaluate FOLDER CORPUS --card FOLDER", "--card would be ignored"),
        ("ensemble a b -o OUT --part test", "--part would be ignored: it needs --gold"),
        ("split CORPUS OUT --strict --min-mentions 0", "--strict would be ignored"),
    ],
)
def test_an_option_without_effect_is_refused(command, problem, corpus, tmp_path):
    code = new_file(tmp_path / "own.py", "")
    paths = {"CORPUS": corpus, "FOLDER": tmp_path, "OUT": tmp_path / "out", "CODE": code}
    assert problem in said([paths.get(word, word) for word in command.split()])


@pytest.mark.parametrize(
    ("option", "factory", "settings"),
    [
        ("--gate-recall", "longtail_ner", small_ner(scores_key="entity_scores")),
        ("--precision", "longtail_sentence_gate", {"model": GATE_MODEL, "rare_labels": ["NAT"]}),
    ],
)
def test_thresholds_need_the_component_that_they_are_for(option, factory, settings, corpus, tmp_path):
    trained_once(one_pipe, 1, factory=factory, **settings)[0].to_disk(tmp_path / "model")
    command = ["thresholds", tmp_path / "model", corpus, "-o", tmp_path / "out", option, 0.9]
    assert f"{option} would be ignored" in said(command)
