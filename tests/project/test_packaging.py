"""The package of a run holds what dev shows to be better than the baseline, else the baseline."""

import json
from pathlib import Path

import pytest
import srsly
from scripts import package as packaging
from scripts.package import RECORD, build_package

from tests.util import TOKEN_MODEL, new_file, one_pipe, run_app, toy_corpus, toy_docs, trained_once, tree

pytest.importorskip("scipy", reason="needs the extra 'report'")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A baseline that has learnt little, a method that has learnt much, and the baseline again."""
    folder = tmp_path_factory.mktemp("run")
    toy_corpus(folder / "tiny", **dict.fromkeys(("train", "dev", "test"), toy_docs(4)))
    for name, steps in (("baseline", 6), ("ours", 60), ("alike", 6)):
        nlp, _ = trained_once(one_pipe, steps, model=TOKEN_MODEL)
        (folder / name).mkdir()
        nlp.to_disk(folder / name / "model-best")
    return folder


@pytest.fixture
def metrics(run, tmp_path):
    def evaluated(*names):
        run_app("stats", run / "tiny", "-o", tmp_path / "m" / "stats.json")
        for name in names:
            for part, place in (("test", "."), ("dev", "dev")):
                path = tmp_path / "m" / place / f"{name}.json"
                model = run / name / "model-best"
                run_app("evaluate", model, run / "tiny", "--part", part, "--name", name, "-o", path)
                found = srsly.read_json(path)
                performance = {"ents_macro_f": found["scores"]["ents_macro_f"]}
                srsly.write_json(path, {**found, "performance": performance, "training": {"seed": 0}})
                meta = srsly.read_json(model / "meta.json")
                srsly.write_json(model / "meta.json", {**meta, "performance": performance})
        return tmp_path / "m"

    return evaluated


@pytest.fixture
def built(monkeypatch):
    """What spaCy was asked to package, instead of minutes of building."""
    seen = []

    def package(model, output, *, name, version, **_):
        seen.append((json.loads((Path(model) / "meta.json").read_text()), (Path(model) / "README.md")))
        assert seen[-1][1].is_file()  # with its card
        new_file(output / f"en_{name}-{version}" / "dist" / "x.tar.gz", str(model))

    monkeypatch.setattr(packaging, "package", package)
    return seen


def test_a_run_that_is_significantly_better_on_dev_is_packaged(metrics, built, tmp_path):
    folder = metrics("baseline", "ours").rename(tmp_path / "my-corpus 2.0")
    found = build_package(folder, tmp_path / "p", "baseline", "1.0")
    assert found.model == "ours"
    assert found.reason.startswith("Use ours")
    assert json.loads((tmp_path / "p" / RECORD).read_text()) == found._asdict()
    assert Path(found.package).is_file()
    assert built[0][0]["name"] == "longtail_my_corpus_2_0"


def test_the_baseline_is_packaged_if_no_run_is_significantly_better(metrics, built, tmp_path):
    found = build_package(metrics("baseline", "alike"), tmp_path / "p", "baseline", "1.0")
    assert found.model == "baseline" and found.reason.startswith("Stay with baseline")


def test_runs_without_scores_on_dev_are_no_candidates(metrics, built, tmp_path):
    folder = metrics("baseline", "alike", "ours")
    (folder / "dev" / "ours.json").unlink()
    assert build_package(folder, tmp_path / "p", "baseline", "1.0").model == "baseline"
    (folder / "dev" / "baseline.json").unlink()
    with pytest.raises(ValueError, match=r"L487.*the baseline 'baseline' has no scores"):
        build_package(folder, tmp_path / "p", "baseline", "1.0")


def test_an_evaluation_of_another_model_is_refused_and_the_package_stays(metrics, built, tmp_path):
    folder = metrics("baseline", "ours")
    build_package(folder, tmp_path / "p", "baseline", "1.0")
    before = tree(tmp_path / "p")
    (folder / "dev" / "ours.json").write_text((folder / "dev" / "baseline.json").read_text())
    with pytest.raises(ValueError, match=r"L405.*no evaluation of .*ours/model-best on dev"):
        build_package(folder, tmp_path / "p", "baseline", "1.0")
    (folder / "dev" / "ours.json").write_text((folder / "ours.json").read_text())  # of test
    with pytest.raises(ValueError, match="L405"):
        build_package(folder, tmp_path / "p", "baseline", "1.0")
    assert tree(tmp_path / "p") == before
