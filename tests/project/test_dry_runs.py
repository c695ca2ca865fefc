"""`--dry-run`: what each command would do and how long it would take; nothing is run or written."""

import json
import shutil

import pytest
from typer.testing import CliRunner

from spacy_longtail.cli import app
from spacy_longtail.corpus.formats.context import Settings
from spacy_longtail.errors import Errors
from spacy_longtail.studies.pretraining import Options as PretrainOptions
from spacy_longtail.studies.pretraining import dry_run as pretraining
from spacy_longtail.studies.pretraining import pretrain
from spacy_longtail.studies.trials import estimate
from spacy_longtail.studies.trials.keys import code_version
from spacy_longtail.studies.trials.ledger import Ledger
from spacy_longtail.studies.trials.plan import read_plan
from spacy_longtail.studies.trials.records import TrialRecord
from spacy_longtail.studies.trials.run import Matrix, Options
from spacy_longtail.studies.tuning import dry_run as tuning
from spacy_longtail.studies.tuning.search import Search, read_config
from spacy_longtail.studies.tuning.space import read_space
from spacy_longtail.training.probe import Probe
from spacy_longtail.training.train import train_model
from spacy_longtail.unlabelled import dry_run as unlabelled
from spacy_longtail.unlabelled import mining, reading
from spacy_longtail.unlabelled.passes import save_state
from spacy_longtail.unlabelled.reading import time_texts
from tests.project.pretraining import DEV, RATES, SHIPS, kill_at, write
from tests.project.test_distil import CONFIG as TOKENS
from tests.project.test_out_of_fold import numbered
from tests.unit.test_estimates import Ticks
from tests.util import SENTENCES, blank, refused, toy_corpus, toy_docs

pytest.importorskip("optuna")
RUN = CliRunner()
PROBE = Probe(0.0, 1.0, 0.0, 0.0, 10, 100, 50, 50, 0)  # a training of 100 s
TINY = {"training.max_steps": 40, "components.tok2vec.model.width": 32, "training.eval_frequency": 20}
TINY |= {"components.tok2vec.model.depth": 1, "components.tok2vec.model.embed_size": 200}
TINY |= {"training.optimizer.learn_rate": 0.02}
SET = [part for name, value in TINY.items() for part in ("--set", f"{name}={value}")]


@pytest.fixture
def corpus(tmp_path):
    return toy_corpus(tmp_path / "toy", train=numbered(), dev=numbered()[:8], test=numbered()[8:16])


@pytest.fixture
def probed(monkeypatch):
    """What was probed; nothing is measured."""
    found = []

    def probe(config, gpu_id=-1):
        found.append(config)
        return PROBE

    for module in (estimate, tuning, unlabelled):
        monkeypatch.setattr(module, "probe_training", probe)
    for module in (estimate, tuning):
        monkeypatch.setattr(module, "time_start", lambda: 0.0)
    return found


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def dry(*arguments, as_json=True):
    """The plan of a command, which leaves the disk as it is."""
    result = RUN.invoke(app, [str(a) for a in [*arguments, "--dry-run", *["--json"] * as_json]])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout) if as_json else result.stdout


def stages(found):
    return {stage["name"]: (stage["n"], stage["seconds_each"]) for stage in found["stages"]}


def record_of(matrix, key, seconds=30.0, steps_trained=100, status="done", **own):
    trial = matrix.trials[key]
    return TrialRecord(
        key=key,
        corpus=trial.corpus.name,
        method=trial.method.name,
        choices={},
        seed=trial.seed,
        draw=trial.draw,
        steps=own.get("steps", matrix.plan.steps),
        training={"patience": matrix.plan.patience},
        curve=[{"step": steps_trained, "ents_macro_f": 0.5}],
        code=code_version(),
        status=status,
        seconds=seconds,
        error="",
    )


def finish(matrix, key, **own):
    ledger = Ledger(matrix.output)
    work = matrix.output / "work" / key
    work.mkdir()
    ledger.finish(work, record_of(matrix, key, **own))


# Trials

OPTIONS = ("--steps", "100", "--seeds", "0,1")


def matrix_of(corpus, output, **given):
    return Matrix(
        read_plan("quick", {"corpora": [str(corpus)], "steps": 100, "seeds": [0, 1], **given}), output
    )


def test_the_time_of_a_training_by_its_parts():
    """At 1 s an update, and 7 s an evaluation every 100 of them: 50 words of 0.1 s, and 2 s to save."""
    found = Probe(5.0, 1.0, 2.0, 0.1, 10, 2001, 100, 50, 400)
    assert found.training(30) == (5 + 2001 + 21 * 7 + 3, "measured on 10 steps", True)
    assert found.least(30) == 5 + 401 + 5 * 7 + 3
    assert found._replace(updates=50).least() == 5 + 50 + 7
    assert found._replace(patience=0).least() == found.training().seconds
    assert found._replace(updates=None).training() is None
    assert found._replace(updates=None).least() == 5 + 401 + 5 * 7
    assert found._replace(updates=None, patience=0).least() is None


def test_trials_are_probed_once_a_method(corpus, tmp_path, probed):
    before = files(tmp_path)
    found = dry("matrix", "quick", corpus, "-o", tmp_path / "out", *OPTIONS, "--workers", 2)
    assert len(probed) == 3 and set(stages(found).values()) == {(2, 100.0)}
    assert found["seconds"] == 300.0 and not found["at_most"]
    assert len(found["trials"]) == 6 and {t["status"] for t in found["trials"]} == {"open"}
    assert files(tmp_path) == before and not (tmp_path / "out").exists()


def test_finished_trials_say_how_long_the_others_take(corpus, tmp_path, probed):
    matrix = matrix_of(corpus, tmp_path / "out")
    first, second, *_ = (key for key, t in matrix.trials.items() if t.method.name == "crf")
    finish(matrix, first, seconds=30.0)
    before = files(tmp_path)
    found = dry("matrix", "quick", corpus, "-o", tmp_path / "out", *OPTIONS)
    assert stages(found)["crf"] == (1, 30.0) and stages(found)["softmax"] == (2, 100.0)
    assert len(probed) == 2 and "1 of 6 trials are finished." in found["facts"]
    assert found["seconds"] == 2 * 200 + 30
    basis = {stage["name"]: stage["basis"] for stage in found["stages"]}
    assert basis["crf"] == "from 1 finished trial" and basis["softmax"] == "measured on 10 steps"
    longer = dry("matrix", "quick", corpus, "-o", tmp_path / "out", "--steps", "500", "--seeds", "0")
    assert stages(longer)["crf"] == (1, 150.0)  # five times as many steps
    assert "of other steps" in {s["name"]: s["basis"] for s in longer["stages"]}["crf"]
    text = dry("matrix", "quick", corpus, "-o", tmp_path / "out", *OPTIONS, as_json=False)
    assert f"{first}  toy, crf, seed 0, done\n" in text and f"{second}  toy, crf, seed 1\n" in text
    assert files(tmp_path) == before
    for key in matrix.trials:
        finish(matrix, key, **({"status": "failed", "seconds": 5.0} if key == second else {}))
    text = dry("matrix", "quick", corpus, "-o", tmp_path / "out", *OPTIONS, as_json=False)
    assert "Nothing to do" in text
    again = dry("matrix", "quick", corpus, "-o", tmp_path / "out", *OPTIONS, "--retry-failed")
    assert stages(again)["crf"] == (1, 30.0) and again["seconds"] == 30.0


def test_what_was_not_measured_is_taken_like_the_others(corpus, tmp_path, probed, monkeypatch):
    monkeypatch.setattr(estimate, "PROBING", -1.0)
    found = dry("matrix", "quick", corpus, "-o", tmp_path / "out", *OPTIONS, "--minutes", "1")
    assert len(probed) == 1 and set(stages(found).values()) == {(2, 60.0)} and found["at_most"]
    assert found["stages"][1]["basis"] == "not measured: like the one that was; --minutes ends it"
    call = ("curve", corpus, "-o", tmp_path / "out", "--sizes", "2,8", "--partitions", "2")
    assert all(stage["at_most"] for stage in dry(*call)["stages"])


def test_a_method_that_would_fail_is_named(corpus, tmp_path, probed, monkeypatch):
    def probe(config, gpu_id):
        if config["components"]["ner"].get("head") == "crf":
            raise ValueError(Errors.L564.format(problem="boom."))
        return PROBE

    monkeypatch.setattr(estimate, "probe_training", probe)
    with pytest.warns(UserWarning, match=r"W104.*crf.*boom"):
        found = estimate.estimate_trials(matrix_of(corpus, tmp_path / "out"), Options(), print)
    assert found.unknown == ["crf"] and found.seconds == 4 * 100


def test_needed_steps_are_known_when_the_first_seed_is_finished(corpus, tmp_path, probed):
    call = ("matrix", "quick", corpus, "-o", tmp_path / "out", "--seeds", "0,1")
    found = dry(*call)
    assert stages(found)["crf"] == (1, 100.0) and stages(found)["crf, all seeds"] == (2, 100.0)
    assert found["at_most"] and found["seconds"] == 3 * 300
    plan = read_plan("quick", {"corpora": [str(corpus)], "seeds": [0, 1]})
    first = Matrix(plan.first_seed(), tmp_path / "out")
    for key in first.trials:
        finish(first, key, steps_trained=700)
    found = dry(*call)
    assert "6 trials, 700 steps each" in found["facts"] and len(found["trials"]) == 6


def test_draws_are_estimated_by_the_largest(corpus, tmp_path, probed):
    call = ("curve", corpus, "-o", tmp_path / "out", "--sizes", "2,8", "--partitions", "2")
    found = dry(*call)
    assert {n for n, _ in stages(found).values()} == {4} and found["at_most"]
    assert {c["corpora"]["plain"]["n_sentences"] for c in probed} == {8}
    given = {"corpora": [str(corpus)], "sizes": [2, 8], "partitions": 2}
    matrix = Matrix(read_plan("paper-auc", given), tmp_path / "out")
    keys = {t.draw.n_sentences: key for key, t in matrix.trials.items() if t.method.name == "softmax"}
    for size, n_probed, seconds in ((2, 5, 100.0), (8, 4, 30.0)):
        finish(matrix, keys[size])
        probed.clear()
        assert stages(dry(*call))["softmax"][1] == seconds and len(probed) == n_probed


def test_folds_of_a_corpus_are_one_stage(corpus, tmp_path, probed):
    found = dry("matrix", "quick", corpus, "-o", tmp_path / "out", *OPTIONS, "--folds", "3")
    assert stages(found)["ner"] == (6, 100.0) and len(probed) == 3
    assert not (tmp_path / "out").exists()
    told = refused(["matrix", "quick", corpus, "--folds", 3, "--dry-run", "-o", corpus], "L436")
    assert told.exit_code


def test_each_trial_has_a_process_that_takes_its_time_to_start(corpus, tmp_path, probed, monkeypatch):
    begun = []
    monkeypatch.setattr(estimate, "time_start", lambda: begun.append(1) or 7.0)
    found = dry("matrix", "quick", corpus, *OPTIONS, "-o", tmp_path / "out")
    assert all(each == 107.0 for _, each in stages(found).values()) and len(begun) == 1


def test_bad_input_is_refused_as_in_a_real_run(corpus, tmp_path, probed):
    cut = ["matrix", "quick", corpus, *OPTIONS, "--dry-run", "-o"]
    refused([*cut, corpus], "L436")
    refused([*cut, tmp_path / "out", "--set", "components.ner.scorer=1"], "L480")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("x")
    refused([*cut, tmp_path / "other"], "L476")
    assert not probed


# Advice


def test_candidates_folds_and_what_fits(corpus, tmp_path, probed, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = files(tmp_path)
    call = (
        "recommend",
        corpus,
        "-o",
        tmp_path / "out",
        "--folds",
        "3",
        "--steps",
        "100",
        "--workers",
        "1",
    )
    text = dry(*call, "--minutes", "10", as_json=False)
    assert text.index("ner: stock spaCy") < text.index("crf: a CRF")
    assert "About 4 of " in text and "candidates get a fold" in text
    assert "3 folds, 100 steps each, 10 minutes in all" in text and "on fold 1" in text
    assert files(tmp_path) == before
    result = RUN.invoke(app, [*map(str, call), "--minutes", "1", "--dry-run"])
    assert "LW105" in result.output + str(result.stderr)
    refused([*call, "--dry-run", "--pretrained", tmp_path], "L720")
    refused(["recommend", corpus, "-o", corpus, "--dry-run"], "L436")


# A search


def test_a_search_lists_its_parameters_and_counts_what_is_done(corpus, tmp_path, probed):
    call = ("tune", corpus, "--loss", "MoM", "-o", tmp_path / "out", "--trials", "5", *SET[2:])
    call += ("--steps", "60", "--search", "lam=0.1:1")
    found = dry(*call, "--workers", "2")
    assert found["parameters"] == [{"name": "lam", "range": "0.1 to 1", "baseline": "1.0"}]
    assert stages(found) == {"search": (5, 100.0)} and found["seconds"] == 250.0
    assert not (tmp_path / "out").exists()
    own = {**TINY, "training.max_steps": 60}
    space = read_space(read_config(None, {"loss": "MoM"}, own), ["lam=0.1:1"])
    search = Search(space, corpus, tmp_path / "out")
    (tmp_path / "out" / "models").mkdir(parents=True)
    rows = [(search.key(i), status) for i, status in enumerate(("done", "pruned"))]
    rows.append(("tune-another-0", "done"))
    lines = [
        json.dumps({"key": key, "status": s, "seconds": 7 if s == "done" else 2}) for key, s in rows
    ]
    search.records.write_text("\n".join(lines) + "\n", encoding="utf8")
    (tmp_path / "out" / "study.db").touch()  # the study that they are of
    found = dry(*call)
    assert stages(found) == {"search": (3, 7.0)} and len(probed) == 1
    assert "Nothing to do" in dry(*call[:5], tmp_path / "out", "--trials", "2", *call[8:], as_json=False)
    refused([*call, "--dry-run", "--search", "training.drop_out=0.1:0.2"], "L482")


# Pretraining


@pytest.fixture(scope="module")
def donors(tmp_path_factory):
    for extra in ("torch", "transformers"):
        pytest.importorskip(extra, reason="needs the extra 'transformers'")
    folder = tmp_path_factory.mktemp("donors")
    return [
        write(folder / "toy", SENTENCES, dev=DEV["toy"]),
        write(folder / "ships", SHIPS, dev=DEV["ships"]),
    ]


def test_donors_and_steps_of_a_pretraining(donors, tmp_path, monkeypatch):
    call = ["pretrain", *donors, "-o", tmp_path / "out", "--steps", "40", "--words", "20"]
    call += [part for name, value in RATES.items() for part in ("--set", f"{name}={value}")]
    call += ["--evaluations", "3", "--exclude", donors[0]]
    monkeypatch.setattr(pretraining, "time_steps", lambda steps, begin: (next(steps), 2.0, 10)[0:3])
    found = dry(*call)
    assert stages(found)["training"] == (40, 2.0)
    assert stages(found)["scoring the donors"][0] == 4  # after 13, 26, 39 and 40 steps
    assert [(d["name"], d["sentences"]) for d in found["donors"]] == [("toy", 8), ("ships", 4)]
    assert not (tmp_path / "out").exists()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("x")
    refused([*call, "--dry-run", "-o", tmp_path / "full"], "L437")


def test_a_finished_pretraining_has_nothing_to_do(donors, tmp_path):
    call = ["pretrain", *donors, "-o", tmp_path / "out", "--steps", "2", "--words", "20"]
    call += [part for name, value in RATES.items() for part in ("--set", f"{name}={value}")]
    assert RUN.invoke(app, [str(a) for a in call]).exit_code == 0
    before = files(tmp_path)
    assert "Nothing to do" in dry(*call, as_json=False) and files(tmp_path) == before
    refused([*call, "--dry-run", "--seed", "1"], "L497")


def test_a_pretraining_that_was_killed_goes_on(donors, tmp_path, monkeypatch):
    from spacy_longtail.studies.pretraining.bi_encoder.cnn_learner import CNNLearner

    options = {"steps": 12, "words": 20, "evaluations": 3, "settings": RATES}
    kill_at(monkeypatch, 9, (4, 8), CNNLearner)
    with pytest.raises(KeyboardInterrupt):
        pretrain(donors, tmp_path / "out", PretrainOptions(**options), [], print)
    monkeypatch.undo()
    before = files(tmp_path)
    found = pretraining.pretraining_outlook(
        donors, tmp_path / "out", PretrainOptions(**options), [], print
    )
    assert [stage.n for stage in found.stages] == [4, 1] and "8 steps are done." in found.facts
    rarer = PretrainOptions(**{**options, "evaluations": 1})  # which is no other pretraining
    found = pretraining.pretraining_outlook(donors, tmp_path / "out", rarer, [], print)
    assert [stage.n for stage in found.stages] == [4, 1]
    assert files(tmp_path) == before


# Text without labels


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    toy_corpus(folder / "gold", train=toy_docs(2))
    texts = [f"Maria sailed to Oslo on day {i} ." for i in range(50)]
    (folder / "pool.txt").write_text("\n".join(texts), encoding="utf8")
    train_model(
        TOKENS, folder / "gold", folder / "teacher", overrides={**TINY, "training.max_steps": 20}
    )
    return folder


def test_the_rounds_of_a_distillation(place, tmp_path, probed, monkeypatch):
    call = ("distil", place / "teacher/model-best", place / "pool.txt", "--student", TOKENS)
    call += ("--gold", place / "gold", "-o", tmp_path / "out", "--rounds", "2", *SET)
    before = files(place)
    found = dry(*call)
    assert stages(found)["students"] == (3, 100.0) and stages(found)["reading, round 1"][0] == 50
    assert stages(found)["reading, round 2"][0] == 50 and found["at_most"]
    assert any(fact.endswith("pool.txt: 50 texts") for fact in found["facts"])
    assert files(place) == before and not list(tmp_path.iterdir())
    (tmp_path / "out").mkdir()
    for name in ("settings.json", "silver.json", "student/model-best/config.cfg"):
        (tmp_path / "out" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "out" / name).write_text("{}")
    refused([*call, "--dry-run"], "L512")
    monkeypatch.setattr("spacy_longtail.unlabelled.distil.Request.about", lambda self: {})
    found = dry(*call)
    assert stages(found)["students"] == (2, 100.0) and stages(found)["reading, round 1"][0] == 0
    for name in ("without_silver", "round-2/student"):
        shutil.copytree(tmp_path / "out" / "student", tmp_path / "out" / name)
    shutil.copy(tmp_path / "out" / "silver.json", tmp_path / "out" / "round-2")
    assert "Nothing to do" in dry(*call, as_json=False)


def test_the_pool_of_a_mining(place, tmp_path, monkeypatch):
    call = ("mine", place / "teacher/model-best", place / "pool.txt", "--types", "ART,NAT")
    call += ("--labels", "10", "-o", tmp_path / "out.jsonl")
    text = dry(*call, as_json=False)
    assert "10 sentences to propose, 1 of them by lot" in text and "50 texts" in text
    assert "measured on 30 texts" in text and not list(tmp_path.iterdir())
    monkeypatch.setattr(reading, "COUNTING", -1.0)
    monkeypatch.setattr(reading, "LOOK", 20)
    text = dry(*call, as_json=False)
    assert "more than 20 texts" in text and "there are more" in text
    refused([*call, "--dry-run", "--types", "NONE"], "L501")
    refused([*call[:2], place / "none.txt", *call[3:], "--dry-run"], "L402")


def test_what_an_interrupted_mining_has_read_is_not_counted(place, tmp_path):
    call = (place / "teacher/model-best", place / "pool.txt", tmp_path / "out.jsonl")
    call += (mining.Request(10, ("ART", "NAT")), Settings(None, "utf8"), "prodigy", None)
    own = mining.ready(*call)
    own.scan.n_texts = 20
    save_state(own.scan, own.state, own.about)
    found = unlabelled.mine_outlook(*call, print)
    assert [stage.n for stage in found.stages] == [30] and "20 of them are read." in found.facts
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl.state"]


def test_the_first_texts_are_not_measured_and_processes_share(monkeypatch):
    monkeypatch.setattr(reading, "perf_counter", Ticks())
    nlp, taken = blank(), []
    for n_process, share in ((1, ""), (2, ", shared by 2 processes")):
        texts = (nlp.make_doc("Oslo") for _ in range(50))
        found = time_texts(texts, nlp, taken.extend, n_process)
        assert found.seconds == pytest.approx(2 / 30 / n_process)  # a tick for 20 texts, one for 10
        assert found.basis == f"measured on 30 texts{share}"
    assert len(taken) == 100 and time_texts(iter(()), nlp, taken.extend) is None
    slow = Ticks(reading.LONGEST)
    monkeypatch.setattr(reading, "perf_counter", slow)
    texts = (nlp.make_doc("Oslo") for _ in range(50))
    assert time_texts(texts, nlp, taken.extend).basis == "measured on 20 texts" and len(taken) == 120


# Folds for thresholds


def test_the_trainings_of_thresholds_out_of_fold(place, corpus, tmp_path, probed):
    model = place / "teacher" / "model-best"
    call = ("thresholds", model, corpus, "--folds-output", tmp_path / "out")
    before = files(place)
    found = dry(*call, "--out-of-fold", "3")
    assert stages(found) == {"out of fold": (3, 100.0)} and files(place) == before
    assert not (tmp_path / "out").exists()
    refused(["thresholds", model, corpus, "--dry-run"], "L538")
    refused([*call[:3], "--folds-output", corpus, "--out-of-fold", 3, "--dry-run"], "L436")
