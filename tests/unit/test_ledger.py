"""Records of trials: what is finished stays."""

import pytest

from spacy_longtail.studies.trials.store import TrialStore
from tests.trials import record_of
from tests.util import new_file


def end(output, key, status="done", name="w", **more):
    work = new_file(output / "work" / name / "log.txt", name).parent
    TrialStore(output).finish(work, record_of(key, status, **more))


def log(output, key):
    return (TrialStore(output).place(key) / "log.txt").read_text(encoding="utf8")


def test_a_finished_trial_has_a_folder(tmp_path):
    assert TrialStore(tmp_path).records() == {}
    draw, curve = {"n_sentences": 9, "entity_share": None}, [{"step": 2, "ents_macro_f": 0.1}]
    kept = {"draw": draw, "curve": curve, "dev": {"ents_f": 0.5}, "test": {"ents_f": None}, "score": 1}
    end(tmp_path, "k", **kept)
    (record,) = TrialStore(tmp_path).records().values()
    assert record == record_of("k", **kept)
    assert {name: record.data()[name] for name in kept} == kept and log(tmp_path, "k") == "w"


def test_a_failure_can_be_tried_again_and_what_is_done_stays(tmp_path):
    for status in ("failed", "timeout", "done"):
        end(tmp_path, "k", status, name=status)
        assert TrialStore(tmp_path).records()["k"].status == status
    end(tmp_path, "k", "failed", name="second")
    assert log(tmp_path, "k") == "done" and TrialStore(tmp_path).records()["k"].status == "done"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"key": "other"}', "\0\0"])
def test_a_folder_that_somebody_has_changed(text, tmp_path):
    end(tmp_path, "k")
    (TrialStore(tmp_path).place("k") / "record.json").write_text(text, encoding="utf8")
    with pytest.warns(UserWarning, match="LW097"):
        assert TrialStore(tmp_path).records() == {}
    end(tmp_path, "k", name="again")
    assert TrialStore(tmp_path).records()["k"].status == "done"
