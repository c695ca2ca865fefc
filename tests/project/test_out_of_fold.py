"""`thresholds --out-of-fold`: folds that hold all of train once, models that never saw theirs, one choice."""

import json
import shutil
import warnings
from functools import partial

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span
from typer.testing import CliRunner

from spacy_longtail.cli import app
from spacy_longtail.cli.thresholds import _print_expected
from spacy_longtail.corpus.descriptions import CorpusTypes, read_types, write_types
from spacy_longtail.evaluation import folds as folds_module
from spacy_longtail.evaluation import offset_choice
from spacy_longtail.evaluation.calibration import Scored
from spacy_longtail.evaluation.chosen import Expected
from spacy_longtail.evaluation.entity_thresholds import choose_types, warn_of, without_thresholds
from spacy_longtail.evaluation.folds import FoldModel, _expected, fit_out_of_fold
from spacy_longtail.evaluation.goal import Goal
from spacy_longtail.evaluation.offset_choice import OffsetWish
from spacy_longtail.evaluation.offsets import Unreached
from spacy_longtail.pipes.thresholding import CALIBRATION
from spacy_longtail.studies.out_of_fold import write_folds
from tests.util import SENTENCES, TOKEN_MODEL, blank, parse, refused, small_ner, toy_corpus, train

RUN = CliRunner()
TYPES = ["PER", "GEO", "ART", "NAT"]


def texts(path):
    docs = DocBin().from_disk(path).get_docs(blank().vocab)
    return [doc.text for doc in docs]


def numbered(n=24):
    nlp = blank()
    docs = [parse(nlp, f"{SENTENCES[i % len(SENTENCES)]} {i}") for i in range(n)]
    for doc in docs:
        doc.set_ents(doc.ents, default="outside")
    return docs


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus") / "toy"
    docs = numbered()
    return toy_corpus(folder, train=docs, dev=docs[:8], test=docs[8:16])


def build():
    nlp = blank()
    config = {"model": TOKEN_MODEL, "scores_key": "entity_scores"}
    nlp.add_pipe("longtail_token_ner", name="ner", config=config)
    return nlp


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    nlp = build()
    train(nlp, 15)
    nlp.config["training"].update(max_steps=4, eval_frequency=2, patience=0)
    nlp.config["corpora"] = {
        part: {"@readers": "spacy.Corpus.v1", "path": f"${{paths.{part}}}"} for part in ("train", "dev")
    }
    path = tmp_path_factory.mktemp("model") / "model"
    nlp.to_disk(path)
    return path


# Folds


def test_every_document_is_held_out_once_and_learnt_by_all_others(corpus, tmp_path):
    folds = write_folds(corpus, tmp_path / "out", 4, seed=1)
    whole = texts(corpus / "train.spacy")
    held = [texts(fold.corpus / "test.spacy") for fold in folds]
    assert sorted(text for own in held for text in own) == sorted(whole)
    for fold, own in zip(folds, held, strict=True):
        rest = texts(fold.corpus / "train.spacy")
        assert not set(rest) & set(own) and sorted(rest + own) == sorted(whole)
        assert (fold.n_train, fold.n_test) == (len(rest), len(own))
        assert texts(fold.corpus / "dev.spacy") == texts(corpus / "dev.spacy")
        assert json.loads((fold.corpus / "types.json").read_text("utf8"))["labels"] == TYPES


def test_folds_that_are_there_are_taken_as_they_are(corpus, tmp_path):
    first = write_folds(corpus, tmp_path / "out", 3)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.spacy")}
    assert write_folds(corpus, tmp_path / "out", 3) == first
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.spacy")}
    other = write_folds(corpus, tmp_path / "out", 3, seed=1)
    assert {fold.corpus for fold in other}.isdisjoint(fold.corpus for fold in first)


@pytest.mark.parametrize("lang", ["th", "vi"])
def test_folds_of_characters_need_no_tokenizer_of_words(lang, corpus, tmp_path):
    """spaCy's tokenizers of these languages are packages of their own."""
    write_types(corpus, read_types(corpus)._replace(lang=lang, tokens="characters"))
    folds = write_folds(corpus, tmp_path / "out", 3)
    assert [read_types(fold.corpus).lang for fold in folds] == [lang] * 3


@pytest.mark.parametrize(("with_dev", "n_folds"), [(False, 4), (True, 3), (True, 6)])
def test_a_fold_is_held_out_and_with_dev_another_is_not_trained_on(with_dev, n_folds, corpus, tmp_path):
    """The shares of test to training documents that the tests over folds reckon with."""
    folds = write_folds(corpus, tmp_path / "out", n_folds, with_dev=with_dev)
    n_test, n_train = (sum(own) for own in ([f.n_test for f in folds], [f.n_train for f in folds]))
    assert n_test / n_train == pytest.approx(1 / (n_folds - 1 - with_dev))


def test_copies_of_a_document_are_in_one_fold(tmp_path):
    docs = numbered()
    docs += [doc.copy() for doc in docs]
    corpus = toy_corpus(tmp_path / "twice", train=docs, dev=docs[:4], test=docs[:4])
    for fold in write_folds(corpus, tmp_path / "out", 3):
        assert not set(texts(fold.corpus / "train.spacy")) & set(texts(fold.corpus / "test.spacy"))


@pytest.mark.parametrize("case", ["few", "lone", "one fold"])
def test_what_cannot_be_cut_is_refused_before_training(case, model, tmp_path):
    docs = numbered()
    if case == "few":  # two mentions, three folds
        for i in (0, 4):
            doc = docs[i]
            doc.set_ents([*doc.ents, Span(doc, len(doc) - 1, len(doc), "SHIP")], default="outside")
    elif case == "lone":
        doc = Doc(docs[0].vocab, words=["Vega", "Vega", "Vega", "Vega"])
        doc.set_ents([Span(doc, i, i + 1, "SHIP") for i in range(4)], default="outside")
        docs.append(doc)
    corpus = toy_corpus(tmp_path / "odd", train=docs, dev=docs[:4], test=docs[:4])
    write_types(corpus, CorpusTypes([*TYPES, "SHIP"], ["SHIP"], "en", "words"))
    out = tmp_path / "out"
    folds = "1" if case == "one fold" else "3"
    command = ["thresholds", model, corpus, "--out-of-fold", folds, "--folds-output", out, "-o", out]
    if case == "one fold":
        assert RUN.invoke(app, [*map(str, command)]).exit_code == 2
    else:
        told = refused(command, "L537")
        assert "SHIP" in told.output
    assert not out.exists()


# What is chosen


@pytest.fixture(scope="module")
def folds(corpus, tmp_path_factory):
    """Models of other documents, quickly: the toy sentences are alike."""
    place = tmp_path_factory.mktemp("folds")
    found = []
    for i, fold in enumerate(write_folds(corpus, place / "out", 3)):
        nlp = build()
        train(nlp, 10 + 2 * i, seed=i)
        nlp.to_disk(place / f"model-{i}")
        found.append(FoldModel(place / f"model-{i}", fold.corpus / "test.spacy"))
    return found


@pytest.fixture(scope="module")
def weak_folds(folds, tmp_path_factory):
    """The same, trained less."""
    place = tmp_path_factory.mktemp("weak")
    for i in range(len(folds)):
        nlp = build()
        train(nlp, 6, seed=i)
        nlp.to_disk(place / f"model-{i}")
    return [fold._replace(model=place / f"model-{i}") for i, fold in enumerate(folds)]


def blank_of(nlp, doc):
    return Doc(nlp.vocab, [token.text for token in doc], [bool(token.whitespace_) for token in doc])


def choose(model, folds, corpus, output, **given):
    settings = {"goal": Goal(), "min_mentions": 3, "output": output, **given}
    return fit_out_of_fold(model, folds, corpus / "dev.spacy", **settings)


def test_the_outcomes_of_all_folds_are_pooled(model, folds, corpus, tmp_path):
    report = choose(model, folds, corpus, tmp_path / "out")
    own = report["ner"]
    docs = list(DocBin().from_disk(corpus / "train.spacy").get_docs(blank().vocab))
    for label in TYPES:
        assert own.types[label].mentions == sum(e.label_ == label for d in docs for e in d.ents)
    candidates = dict.fromkeys(TYPES, 0)
    for fold in folds:
        nlp = spacy.load(fold.model)
        for text in texts(fold.data):
            for ent in nlp(text).ents:
                candidates[ent.label_] += 1
    assert {label: own.types[label].candidates for label in TYPES} == candidates
    assert own.expected.folds == 3 and 0 <= own.expected.after <= 1
    nlp = spacy.load(tmp_path / "out")
    thresholds = {t: o.threshold for t, o in own.types.items() if o.threshold}
    assert (nlp.get_pipe("ner").cfg["thresholds"] or {}) == thresholds
    assert json.loads((tmp_path / "out" / "thresholds.json").read_text("utf8"))["ner"]["expected"]


def outcomes(seed, n=60, folds=4):
    """Scored candidates of two types, whose good thresholds differ from fold to fold."""
    rng = np.random.default_rng(seed)
    found = {}
    for label in ("ART", "NAT"):
        fold = rng.integers(0, folds, n)
        logits = rng.normal(size=n)
        right = (logits + rng.normal(size=n) > fold - 1.5).astype("int64")
        found[label] = Scored(logits, right, fold)
    return found, [
        {t: int(s.right[s.fold == i].sum()) + 2 for t, s in found.items()} for i in range(folds)
    ]


@pytest.mark.parametrize("calibrate", [True, False])
def test_what_is_expected_of_thresholds_is_by_those_of_the_other_folds(calibrate):
    by_type, by_fold = outcomes(0)
    recalls = {"NAT": 0.5}
    choose = partial(choose_types, goal=Goal(), calibrate=calibrate, least=1, recalls=recalls)
    found = _expected([by_type] * 4, by_fold, choose)
    counts = {label: np.zeros(3) for label in by_type}
    for i, n_gold in enumerate(by_fold):
        rest = {t: Scored(*(a[s.fold != i] for a in s)) for t, s in by_type.items()}
        others = {t: sum(own[t] for k, own in enumerate(by_fold) if k != i) for t in by_type}
        choice = choose_types(rest, others, Goal(), calibrate, 1, recalls)
        for label, scored in by_type.items():
            own = scored.fold == i
            slope, shift = choice.curves.get(label, (1.0, 0.0))
            score = 1 / (1 + np.exp(-(slope * scored.logits[own] + shift)))
            kept = score >= choice.thresholds.get(label, 0.0)
            counts[label] += [scored.right[own][kept].sum(), kept.sum(), n_gold[label]]
    f = [2 * right / (predicted + gold) for right, predicted, gold in counts.values()]
    assert found.after == pytest.approx(np.mean(f)) and found.folds == 4
    everything = choose_types(
        by_type, {t: sum(o[t] for o in by_fold) for t in by_type}, Goal(), False, 1, recalls
    )
    assert found.before == pytest.approx(np.mean([own.before.f for own in everything.types.values()]))
    assert found.after < np.mean([own.after.f for own in everything.types.values()])


@pytest.mark.parametrize("calibrate", [True, False])
def test_a_wanted_recall_is_kept_by_the_threshold_of_its_type(calibrate):
    by_type, by_fold = outcomes(0)
    n_gold = {t: sum(own[t] for own in by_fold) for t in by_type}
    plain = choose_types(by_type, n_gold, Goal(), calibrate, 1)
    wanted = plain.types["ART"].before.r - 0.02
    assert plain.types["ART"].after.r < wanted  # the best F1 costs it
    for goal in (Goal(), Goal(precision=0.95)):
        found = choose_types(by_type, n_gold, goal, calibrate, 1, {"ART": wanted})
        assert found.types["ART"].after.r >= wanted
        other = choose_types(by_type, n_gold, goal, calibrate, 1)
        assert found.types["NAT"] == other.types["NAT"]


def test_a_wanted_recall_that_candidates_do_not_have_takes_no_threshold():
    by_type, by_fold = outcomes(0)
    n_gold = {t: sum(own[t] for own in by_fold) for t in by_type}
    found = choose_types(by_type, n_gold, Goal(precision=2.0), True, 1, {"ART": 1.0})
    assert "ART" not in found.thresholds
    with pytest.warns(UserWarning, match="LW083") as said:
        warn_of(found, "ner", 1)
    texts = [str(own.message) for own in said]
    assert "recall of at least 1 for: ART" in texts[0] and "precision of at least 2 for: NAT" in texts[1]


@pytest.mark.parametrize("goal", [Goal(), Goal(precision=1.0), Goal(recall=0.0)])
def test_a_wanted_recall_is_that_of_the_pipeline_as_it_is_written(
    goal, model, weak_folds, corpus, tmp_path
):
    recalls = {"ART": 0.9, "NAT": 0.8}
    wish = OffsetWish(recalls=recalls)
    report = choose(model, weak_folds, corpus, tmp_path / "out", offsets=wish, goal=goal)
    (own,) = report["ner"].offsets
    assert own.family == "recall" and own.used
    assert report["ner"].goal == f"{goal}, recall of at least 0.9 of ART, recall of at least 0.8 of NAT"
    nlp, before = spacy.load(tmp_path / "out"), spacy.load(model)
    cfg = nlp.get_pipe("ner").cfg
    assert (
        cfg["decision_offsets"] == own.offsets and before.get_pipe("ner").cfg["decision_offsets"] is None
    )
    assert nlp.get_pipe_config("ner")["decision_offsets"] == own.offsets
    assert set(own.offsets) <= {"ART", "NAT"} and own.offsets
    right, total = dict.fromkeys(recalls, 0), dict.fromkeys(recalls, 0)
    for fold in weak_folds:  # the settings as they are written, on documents that were not seen
        other = spacy.load(fold.model)
        names = ("decision_offsets", "thresholds", CALIBRATION)
        other.get_pipe("ner").cfg.update({name: cfg[name] for name in names})
        for doc in DocBin().from_disk(fold.data).get_docs(other.vocab):
            found = {(e.start, e.end, e.label_) for e in other(blank_of(other, doc)).ents}
            for ent in (ent for ent in doc.ents if ent.label_ in recalls):
                total[ent.label_] += 1
                right[ent.label_] += (ent.start, ent.end, ent.label_) in found
    assert all(right[label] >= wanted * total[label] for label, wanted in recalls.items())


@pytest.mark.parametrize(
    ("goal", "after", "withheld"),
    [(Goal(), 0.4, True), (Goal(), 0.5, False), (Goal(), 0.6, False), (Goal(beta=2.0), 0.4, False)],
)
def test_thresholds_that_lose_on_held_out_folds_are_not_used(
    goal, after, withheld, model, weak_folds, corpus, tmp_path, monkeypatch
):
    expected = Expected(folds=3, before=0.5, after=after)
    monkeypatch.setattr(folds_module, "_expected", lambda *_: expected)
    nlp = spacy.load(model)
    nlp.get_pipe("ner").cfg["thresholds"] = {"ART": 0.2}  # what was there is not kept either
    nlp.to_disk(tmp_path / "before")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        report = choose(tmp_path / "before", weak_folds, corpus, tmp_path / "out", goal=goal)["ner"]
    cfg = spacy.load(tmp_path / "out").get_pipe("ner").cfg
    assert report.withheld == withheld == any("LW089" in str(own.message) for own in said)
    assert bool(cfg["thresholds"]) != withheld and report.expected == expected
    assert {t for t, own in report.types.items() if own.threshold} == set(cfg["thresholds"] or ())
    if withheld:
        assert all(own.after == own.before for own in report.types.values())


def test_without_thresholds_scores_are_calibrated_all_the_same():
    by_type, by_fold = outcomes(0)
    n_gold = {t: sum(own[t] for own in by_fold) for t in by_type}
    found = choose_types(by_type, n_gold, Goal(), True, 1)
    assert set(found.thresholds) == {"ART", "NAT"}
    for kept in ((), ("NAT",)):
        own = without_thresholds(found, kept)
        assert own.curves == found.curves and set(own.thresholds) == set(kept)
        assert own.types["ART"].threshold is None and own.types["ART"].after == found.types["ART"].before
        assert (own.types["NAT"] == found.types["NAT"]) == bool(kept)


def test_of_thresholds_that_lose_those_for_a_wanted_recall_stay(
    model, weak_folds, corpus, tmp_path, monkeypatch, capsys
):
    expected = Expected(folds=3, before=0.5, after=0.4)
    monkeypatch.setattr(folds_module, "_expected", lambda *_: expected)

    def both(*given, **settings):
        """A threshold for each of two types, whatever the scores."""
        found = choose_types(*given, **settings)
        types = {t: own.model_copy(update={"threshold": 0.3}) for t, own in found.types.items()}
        return found._replace(types=types, thresholds={"ART": 0.3, "NAT": 0.3})

    monkeypatch.setattr(folds_module, "choose_types", both)
    wish = OffsetWish(recalls={"ART": 0.5})
    own = choose(model, weak_folds, corpus, tmp_path / "out", offsets=wish)["ner"]
    assert own.withheld and own.types["ART"].threshold == 0.3 and own.types["NAT"].threshold is None
    _print_expected(own)
    assert "not used, but for ART" in capsys.readouterr().out
    assert spacy.load(tmp_path / "out").get_pipe("ner").cfg["thresholds"] == pytest.approx({"ART": 0.3})


def test_recalls_that_are_not_reached_together_are_refused(model, folds, corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(offset_choice, "find_recall", lambda *_: Unreached({0: 0.5, 1: 1.0}, True))
    wish = OffsetWish(recalls={"ART": 0.9, "NAT": 0.9})
    with pytest.raises(ValueError, match=r"L590.*reach [A-Z]+ 50\.0 %, [A-Z]+ 100\.0 %"):
        choose(model, folds, corpus, tmp_path / "out", offsets=wish)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("gains", [True, False])
def test_offsets_are_used_only_where_nested_folds_gain(
    gains, model, folds, corpus, tmp_path, monkeypatch
):
    forge(monkeypatch, gains)
    before = choose(model, folds, corpus, tmp_path / "before")["ner"]
    assert before.offsets == () and before.offsets_expected is None
    report = choose(model, folds, corpus, tmp_path / "out", offsets=OffsetWish())
    tried = report["ner"].offsets
    assert [own.family for own in tried] == ["prior", "types"]
    assert [own.used for own in tried] == [False, gains]
    expected = report["ner"].offsets_expected
    assert (expected.after > expected.before) == gains
    offsets = spacy.load(tmp_path / "out").get_pipe("ner").cfg["decision_offsets"]
    assert offsets == (dict.fromkeys(tried[1].offsets, 0.5) if gains else None)


def forge(monkeypatch, gains, without=0.5):
    """Let the family "types" be best, and gain or lose on nested folds."""
    find = offset_choice.find_offsets

    def best(own, families, aim):
        found = find(own, "types", aim)
        nested, n = found.before.copy(), len(found.offsets)
        nested[:, 0] = np.minimum(nested[:, 2], nested[:, 1]) if gains else nested[:, 0] // 2
        rows = np.broadcast_to(np.reshape(without, (-1, 1)), found.without.shape)
        return found._replace(offsets=np.full(n, 0.5), without=rows, nested=nested)

    def each(own, family, aim):
        found = find(own, family, aim)
        return found._replace(offsets=np.full(len(found.offsets), 0.5))

    monkeypatch.setattr(offset_choice, "find_best", best)
    monkeypatch.setattr(offset_choice, "find_offsets", each)


def test_thresholds_are_expected_under_offsets_without_the_fold_too(
    model, folds, corpus, tmp_path, monkeypatch
):
    forge(monkeypatch, True, [0.5, 8.0, -8.0])
    given = []

    def spied(views, *rest):
        given.extend(views)
        return _expected(views, *rest)

    monkeypatch.setattr(folds_module, "_expected", spied)
    report = choose(model, folds, corpus, tmp_path / "out", offsets=OffsetWish())
    written, more, less = ({t: len(own.right) for t, own in view.items()} for view in given)
    assert written == {t: own.candidates for t, own in report["ner"].types.items()}
    assert sum(more.values()) > sum(written.values()) > sum(less.values())


@pytest.mark.parametrize("gains", [True, False])
def test_offsets_of_an_earlier_run_give_way(gains, model, folds, corpus, tmp_path, monkeypatch):
    mine = tmp_path / "model"
    shutil.copytree(model, mine)
    nlp = spacy.load(mine)
    for own in (nlp.get_pipe("ner").cfg, nlp.get_pipe_config("ner")):
        own["decision_offsets"] = {"ART": 3.0}
    nlp.to_disk(mine)
    forge(monkeypatch, gains)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        choose(mine, folds, corpus, None, offsets=OffsetWish())
    assert any("LW116" in str(w.message) and "ART +3.00" in str(w.message) for w in said) == (not gains)
    after = spacy.load(mine)
    offsets = dict.fromkeys(TYPES, 0.5) if gains else None
    assert after.get_pipe("ner").cfg["decision_offsets"] == offsets
    assert after.get_pipe_config("ner")["decision_offsets"] == offsets


def test_offsets_stay_where_none_are_asked_for(model, folds, corpus, tmp_path):
    """And thresholds are chosen under them, whatever the folds' models came with."""
    mine = tmp_path / "model"
    shutil.copytree(model, mine)
    nlp = spacy.load(mine)
    nlp.get_pipe("ner").cfg["decision_offsets"] = {"ART": 8.0}
    nlp.to_disk(mine)
    plain = choose(model, folds, corpus, tmp_path / "plain")["ner"].types["ART"]
    found = choose(mine, folds, corpus, tmp_path / "out")["ner"].types["ART"]
    assert found.candidates > plain.candidates
    assert spacy.load(tmp_path / "out").get_pipe("ner").cfg["decision_offsets"] == {"ART": 8.0}


def test_the_command_trains_each_fold_once_and_resumes(model, corpus, tmp_path):
    mine = tmp_path / "model"
    shutil.copytree(model, mine)
    command = ["thresholds", mine, corpus, "--out-of-fold", "2", "--offsets", "auto", "--min-mentions"]
    command += ["2", "--folds-output", tmp_path / "folds", "-o", tmp_path / "out", "--json"]
    first = RUN.invoke(app, [*map(str, command)])
    assert first.exit_code == 0, first.output
    trials = sorted((tmp_path / "folds" / "trials").iterdir())
    assert len(trials) == 2
    stamps = [path.stat().st_mtime_ns for path in trials]
    again = RUN.invoke(app, [*map(str, command)])
    assert again.exit_code == 0 and json.loads(again.stdout) == json.loads(first.stdout)
    assert stamps == [path.stat().st_mtime_ns for path in trials]
    found = json.loads(first.stdout)["ner"]
    assert [own["family"] for own in found["offsets"]] == ["prior", "types"]
    shown = RUN.invoke(app, [*map(str, command[:-1])])
    assert "to expect" in shown.output and "2 folds of train" in shown.output
    assert "the better family of these, chosen nested, too" in shown.output


@pytest.mark.parametrize(
    ("options", "code", "named"),
    [
        (["--out-of-fold", "3", "--part", "dev"], "L538", "--part"),
        (["--out-of-fold", "3", "--gate-recall", "0.9"], "L538", "a goal of the gate"),
        (["--offsets", "auto"], "L538", "decision offsets"),
        (["--offset-tail"], "L538", "--offset-tail"),
        (["--offset-recall", "ART=0.9"], "L538", "decision offsets"),
        (["--out-of-fold", "3", "--offset-recall", "ART=0.9", "--offsets", "auto"], "L538", "--offsets"),
        (["--out-of-fold", "3", "--offset-tail"], "L538", "--offset-tail"),
        (["--retry-failed"], "L538", "--retry-failed"),
        (["--workers", "2"], "L538", "--workers"),
        (["--folds-output", "elsewhere"], "L538", "--folds-output"),
        (["--out-of-fold", "3", "--offset-recall", "ART=1.5"], "L539", "ART=1.5"),
        (["--out-of-fold", "3", "--offset-recall", "ART"], "L539", "'ART'"),
        (["--out-of-fold", "3", "--offset-recall", "ART=nan"], "L539", "ART=nan"),
        (["--out-of-fold", "3", "--offset-recall", "=0.5"], "L539", "=0.5"),
        (
            ["--out-of-fold", "3", "--offset-recall", "ART=0.5", "--offset-recall", "ART=0.9"],
            "L516",
            "names ART again",
        ),
        (["--out-of-fold", "3", "--offset-recall", "SHIP=0.5"], "L313", "SHIP"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, code, named, model, corpus, tmp_path):
    out, place = tmp_path / "out", tmp_path / "folds"
    given = ["--folds-output", place] if "--out-of-fold" in options else []
    told = refused(["thresholds", model, corpus, "-o", out, *given, *options], code)
    assert f"{named} cannot be used" in told.stderr if code == "L538" else named in told.stderr
    assert not out.exists() and not place.exists()


def test_rare_types_are_needed_to_choose_for_them(model, corpus, tmp_path):
    bare = tmp_path / "bare"
    shutil.copytree(corpus, bare)
    write_types(bare, CorpusTypes(TYPES, [], "en", "words"))
    command = ["thresholds", model, bare, "--out-of-fold", "3", "--offsets", "auto", "--offset-tail"]
    told = refused([*command, "--folds-output", tmp_path / "folds", "-o", tmp_path / "out"], "L591")
    assert "bare" in told.stderr and not (tmp_path / "folds").exists()


def test_offsets_of_a_transition_ner_are_refused(corpus, tmp_path):
    nlp = blank()
    nlp.add_pipe("longtail_ner", name="ner", config=small_ner(scores_key="entity_scores"))
    train(nlp, 1)
    nlp.to_disk(tmp_path / "model")
    command = ["thresholds", tmp_path / "model", corpus, "--out-of-fold", "3", "--offsets", "auto"]
    told = refused([*command, "--folds-output", tmp_path / "f", "-o", tmp_path / "out"], "L311")
    assert "thresholds" in told.output
    assert not (tmp_path / "f").exists()
