"""Plans of trials: what they stand for, what is refused, and the configs that they make."""

import copy
from pathlib import Path

import pytest
from spacy.util import load_config, load_model_from_config

from spacy_longtail.heads.outputs import output_of
from spacy_longtail.layers.described import is_described
from spacy_longtail.studies.configs.compose import compose, known_choices, read_base
from spacy_longtail.studies.trials.plan import list_presets, read_plan
from spacy_longtail.studies.trials.plan_file import GivenFieldError
from spacy_longtail.studies.trials.trial import Draw
from tests.util import config_file, new_file, tiny_bert

ROOT = Path(__file__).parents[2]


@pytest.fixture
def plan(tmp_path):
    def read(text, **given):
        return read_plan(str(new_file(tmp_path / "plan.yml", text)), given)

    return read


def names(found):
    return [method.name for method in found.methods]


def test_grids_are_products_seed_by_seed(plan):
    found = plan(
        "grids:\n"
        "  - {head: [softmax, crf], reader: [plain, sC]}\n"
        "  - {head: softmax, loss: focal}\n"
        "  - {loss: focal}\n"
        "  - {}\n"
    )
    assert names(found) == ["softmax", "softmax-sC", "crf", "crf-sC", "softmax-focal"]
    usual = {"gate": "none", "encoder": "cnn", "outputs": "linear", "gazetteer": "none"}
    chosen = {"head": "softmax", "reader": "sC", "loss": "cross_entropy"}
    assert found.methods[1].choices == {**usual, **chosen}
    assert (found.steps, found.seeds, found.draws, found.baseline) == (1000, [0, 1, 2], [], "softmax")
    found = plan("corpora: [x/a, b]\nseeds: [5, 3, 5]\nsteps: 100\ngrids: [{head: [softmax, crf]}]")
    assert [trial.title for trial in found.trials()] == [
        f"{corpus}, {method}, seed {seed}"
        for seed in (5, 3)
        for corpus in ("a", "b")
        for method in ("softmax", "crf")
    ]
    for seed in (5, 3):
        config = next(
            t.make_config() for t in found.trials() if (t.method.name, t.seed) == ("crf", seed)
        )
        assert config["system"]["seed"] == seed and config["training"]["max_steps"] == 100
        assert config.interpolate()["training"]["seed"] == seed


def test_own_choices_and_methods(plan, tmp_path):
    base = load_config(config_file("focal"), interpolate=False)
    base["training"]["eval_frequency"] = 100
    base.to_disk(tmp_path / "own.cfg")
    found = plan(
        "choices:\n"
        "  loss:\n"
        "    mild: {components.ner.loss: {'@losses': longtail.Focal.v1, gamma: 0.5}}\n"
        "    focal: {components.ner.loss: {'@losses': longtail.Focal.v1, gamma: 5.0}}\n"
        "grids: [{loss: [cross_entropy, mild, focal]}]\n"
        "methods:\n"
        "  wide: {components.tok2vec.model.width: 128}\n"
        "  '7': {config: own.cfg, components.ner.loss.gamma: 1.0}\n"  # beside the plan
        "baseline: wide\n"
        "settings: {training.dropout: 0.5}\n",
        settings={"training.dropout": 0.4, "training.optimizer.learn_rate": 0.01},
    )
    assert names(found) == ["softmax", "softmax-mild", "softmax-focal", "wide", "7"]
    assert found.baseline == "wide" and found.methods[3].choices == {}
    configs = {method.name: method.config for method in found.methods}
    focal = ("softmax-mild", "softmax-focal", "7")
    assert [configs[name]["components"]["ner"]["loss"]["gamma"] for name in focal] == [0.5, 5.0, 1.0]
    assert configs["wide"]["components"]["tok2vec"]["model"]["width"] == 128
    for config in configs.values():
        assert config["training"]["dropout"] == 0.4  # the command line wins
        assert config["training"]["optimizer"]["learn_rate"] == 0.01
    assert known_choices()["loss"]["focal"]["components.ner.loss"]["gamma"] == 2.0


PAPERS = ["paper-auc", "paper-gate", "paper-imbalance", "paper-mom", "paper-resampling"]
PRESETS = [*PAPERS, "quick", "quick-transformers"]


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_plans(name):
    found = read_plan(name)
    assert list_presets() == PRESETS and found.baseline in names(found)
    assert bool(found.corpora) == (name in PAPERS)
    assert all(m.config["training"]["max_steps"] == found.steps for m in found.methods)
    short = read_plan(name, {"steps": 300, "corpora": ["x"]})
    assert (short.steps, short.patience, short.corpora) == (300, 0, [Path("x")])
    if name == "paper-auc":
        assert [draw.n_sentences for draw in found.draws] == [20, 50, 100, 200, 500]
        assert len(list(found.trials())) == 5 * 3 * 5


def test_quick_presets_compare_the_recommended_encoders_with_stock_spacy():
    cnn, transformers = read_plan("quick"), read_plan("quick-transformers")
    assert names(cnn) == ["ner", "crf", "softmax", "pretrained_cnn"]
    assert names(transformers) == ["ner", "pretrained_cnn", "en_longtail_trf_small", "en_longtail_trf"]
    assert cnn.baseline == transformers.baseline == "ner"
    for method in transformers.methods[2:]:
        assert method.config["paths"]["pretrained"] == method.name
        assert method.config["training"]["optimizer"]["learn_rate"]["total_steps"] == 400


# --- draws


def test_sizes_are_drawn_for_every_reader(plan):
    found = plan(
        "corpora: [a]\nsizes: [50, 20]\npartitions: 2\ngrids: [{head: softmax, reader: [plain, sCR]}]"
    )
    assert found.draws == [Draw(20), Draw(50)] and found.seeds == [0, 1]
    trials = list(found.trials())
    assert len(trials) == 8 and trials[0].title == "a, softmax, 20 sentences, seed 0"
    plain, resampled = trials[6].make_config(), trials[7].make_config()
    drawn = plain["corpora"]["train"]
    assert drawn["@readers"] == "longtail.LowResourceCorpus.v1"
    assert (drawn["n_sentences"], drawn["partition"], drawn["seed"]) == (50, 1, 0)
    assert drawn["corpus"]["@readers"] == "spacy.Corpus.v1" and "entity_share" not in drawn
    assert plain["corpora"]["plain"] == drawn == resampled["corpora"]["plain"]
    assert resampled["corpora"]["train"]["@readers"] == "longtail.ResampledCorpus.v1"
    whole = resampled.interpolate()
    assert whole["corpora"]["train"]["corpus"] == whole["corpora"]["plain"]  # the counts too
    assert whole["initialize"]["components"]["ner"]["counts_corpus"] == whole["corpora"]["plain"]
    assert whole["corpora"]["dev"]["@readers"] == "spacy.Corpus.v1"
    load_model_from_config(whole, auto_fill=True)


def test_shares_are_drawn(plan):
    found = plan("corpora: [a]\nshares: [0.2, 0.05]\nn_sentences: 30\ngrids: [{}]")
    assert found.draws == [Draw(30, 0.05), Draw(30, 0.2)] and found.seeds == [0, 1, 2, 3, 4]
    trial = next(found.trials())
    assert trial.title == "a, softmax, 30 sentences with 5 % entity tokens, seed 0"
    drawn = trial.make_config()["corpora"]["train"]
    assert drawn["@readers"] == "longtail.ImbalancedCorpus.v1" and drawn["entity_share"] == 0.05
    assert plan("shares: [1]\ngrids: [{}]").draws == [Draw(100, 1)]


SPACY = "'@readers': spacy.Corpus.v1, path: '${paths.train}'"


@pytest.mark.parametrize(
    "method",
    [
        "corpora.train.augmenter: {'@augmenters': spacy.lower_case.v1, level: 0.1}",
        f"corpora.train: {{'@readers': longtail.UndersampledCorpus.v1, corpus: {{{SPACY}}}, ratio: 3.0}}",
        "corpora.train: {'@readers': longtail.UndersampledCorpus.v1, corpus: '${corpora.dev}', ratio: 3.0}",
    ],
)
def test_training_data_that_does_not_read_corpora_plain_cannot_be_sampled(method, plan):
    found = plan("corpora: [a]\nsizes: [20]\nmethods: {odd: {" + method + "}}")
    with pytest.raises(ValueError, match=r"L470.*'odd'"):
        next(found.trials()).make_config()


# --- errors

GRID = "grids: [{head: softmax}]\n"


REFUSED = {
    "mapping": [""],
    "YAML": ["a: [", "\0", "steps: 3\nsteps: 4"],
    "grids": ["steps: 10", "grids: {head: softmax}", "grids: [softmax]", "grids: [{head: []}]"],
    "step": [GRID + "step: 10"],
    "steps": [f"{GRID}steps: {value}" for value in ("{}", "ten", "1.5", "true", "null", "0")],
    "seeds": [f"{GRID}seeds: {value}" for value in ("-1", "[]", "[-1]", "[true]", "[4294967296]")],
    "corpora": [f"{GRID}corpora: {value}" for value in ("a", "[3]")],
    "same name": [GRID + "corpora: [x/a, y/a]"],
    "settings": [f"{GRID}settings: {value}" for value in ("3", "null", "{3: 4}")],
    "training.max_steps under settings would be ignored: use steps": [
        GRID + "settings: {training.max_steps: 7}"
    ],
    "under settings would be ignored: use corpora": [GRID + "settings: {longtail.tail: [ART]}"],
    "system.seed under methods.b .*use seeds": [
        "methods: {a: {}, b: {system.seed: 3}}",
        "methods: {a: {}, b: {system: {seed: 3, gpu_allocator: null}}}",
    ],
    "paths.train under methods.b .*use corpora": ["methods: {b: {paths.train: x.spacy}}"],
    "longtail.tail under methods.b .*use corpora": ["methods: {b: {longtail.tail: [PER]}}"],
    "max_steps under choices.head.h .*use steps": [
        GRID + "choices: {head: {h: {training.max_steps: 7}}}"
    ],
    "methods": [f"methods: {value}" for value in ("[a]", "{a: 3}", "{a: null}")],
    "file's name": [f"methods: {{{name}: {{}}}}" for name in ("a/b", "''", "nul")],
    "'softmax' names two methods": [GRID + "methods: {softmax: {training.dropout: 0.1}}"],
    "choices": [f"{GRID}choices: {value}" for value in ("{head: 3}", "{head: {mine: 3}}")],
    "size": [f"{GRID}sizes: {value}" for value in ("20", "[]", "[20, 20]", "[0]", "[2.5]")],
    "shares": [f"{GRID}shares: {value}" for value in ("[]", "[.nan]", "[5]", "[true]")],
    "remove seeds": [GRID + "sizes: [20]\nseeds: 3"],
    "sizes and shares": [GRID + "sizes: [20]\nshares: [0.1]"],
    "partitions need": [GRID + "partitions: 3"],
    "n_sentences needs": [GRID + "sizes: [20]\nn_sentences: 3"],
    "its baseline 'crf' is none of its methods: softmax": [GRID + "baseline: crf"],
    "unknown axis, 'haed'": ["grids: [{haed: crf}]", GRID + "choices: {haed: {}}"],
    "unknown head, 'crv'. Known: softmax": ["grids: [{head: crv}]"],
    "max_steps is 7 for 'a' and 1000": ["methods: {a: {training.max_steps: 7}, b: {}}"],
    "eval_frequency is 7 for 'a'": [GRID + "methods: {a: {training.eval_frequency: 7}}"],
    "patience is 0 for 'a' and 300": ["patience: 300\nmethods: {a: {training.patience: 0}, b: {}}"],
    "nlp.tokenizer.x under methods.b .*use corpora": ["methods: {b: {nlp.tokenizer.x: 1}}"],
    "patience is 7 .* and 0": [GRID + "methods: {a: {training.patience: 7}}"],
    "at least two evaluations, 200 steps": [GRID + "patience: 199"],
    "max_epochs is 7 for 'softmax', but .* end by their steps": [
        GRID + "settings: {training.max_epochs: 7}"
    ],
    "eval_frequency": [f"{GRID}settings: {{training.eval_frequency: {n}}}" for n in (0, "x", 1001)],
}


@pytest.mark.parametrize(("named", "text"), [(named, x) for named, own in REFUSED.items() for x in own])
def test_plans_that_are_refused(named, text, plan):
    with pytest.raises(ValueError, match=rf"^\[L470\].*plan\.yml.*{named}"):
        plan(text)


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ({"steps": 0}, "steps", 0),
        ({"settings": {"system.seed": 3}}, "settings", "system.seed"),
        ({"n_sentences": 5}, "n_sentences", 5),
        ({"baseline": "focal"}, "baseline", "focal"),
        ({"grids": [{"haed": "crf"}]}, "grids", [{"haed": "crf"}]),
        ({"grids": [], "methods": {}}, "grids", []),
    ],
)
def test_an_error_names_the_field_that_was_given_and_no_preset(given, field, value):
    with pytest.raises(GivenFieldError, match=rf"^\[L470\] {field} ") as found:
        read_plan("quick", given)

    assert (found.value.field, found.value.given) == (field, value)
    assert "quick.yml" not in str(found.value)


def test_an_empty_list_declares_types_that_the_corpus_fills_in(plan):
    found = plan("methods: {a: {longtail.frequent: []}}\nchoices: {gate: {g: {longtail.frequent: []}}}")
    assert found.methods[0].config["longtail"]["frequent"] == []


@pytest.mark.parametrize(
    ("text", "code", "found"),
    [
        (GRID + "settings: {trainig.dropout: 0.1}", "L471", "'trainig.dropout'"),
        (GRID + "settings: {dropout: 0.1}", "L471", "'dropout'.*its name needs a section"),
        ("methods: {a: {training.dropout.x: 1}}", "L471", r"\[training.dropout\]"),
        (
            "grids: [{head: mine}]\nchoices: {head: {mine: {optional: 3}}}",
            "L471",
            "'optional' takes a mapping",
        ),
        ("methods: {a: {config: missing.cfg}}", "L402", "missing.cfg"),
        (GRID + "config: missing.cfg", "L402", "missing.cfg"),
        (GRID + "config: plan.yml", "L470", "plan.yml"),  # no config
    ],
)
def test_settings_that_are_refused(text, code, found, plan):
    with pytest.raises(ValueError, match=rf"^\[{code}\].*{found}"):
        plan(text)
    with pytest.raises(ValueError, match=r"L402.*paper-auc.*quick"):
        read_plan("quik")


def test_a_corpus_that_is_the_working_folder_has_a_name(tmp_path, monkeypatch):
    (tmp_path / "mine" / "below").mkdir(parents=True)
    grids = [{"head": "softmax"}]
    for place, given in (("mine", "."), ("mine/below", "..")):
        monkeypatch.chdir(tmp_path / place)
        (found,) = read_plan("quick", {"corpora": [given], "grids": grids}).corpora
        assert found.name == "mine" and found.is_dir()
    with pytest.raises(ValueError, match="same name"):
        read_plan("quick", {"corpora": ["..", "other/mine"], "grids": grids})


def test_an_encoder_has_batches_of_its_own(plan):
    found = plan("grids: [{encoder: [cnn, bilstm, transformer]}]")
    batchers = [m.config["training"]["batcher"]["@batchers"] for m in found.methods]
    assert batchers == ["spacy.batch_by_words.v1"] * 2 + ["spacy.batch_by_padded.v1"]
    with pytest.raises(ValueError, match=r"L470.*max_steps.*'big' and 1000"):
        plan(f"{GRID}methods: {{big: {{config: bert_crf, training.max_steps: 9000}}}}")


@pytest.mark.parametrize("patience", [None, "${longtail.frequent}"])
def test_a_config_without_a_patience_in_numbers_trains_all_steps_or_is_refused(patience, plan, tmp_path):
    config = load_config(config_file("baseline"), interpolate=False)
    del config["training"]["patience"]
    config["training"]["eval_frequency"] = 100
    if patience:
        config["training"]["patience"] = patience
    config.to_disk(tmp_path / "own.cfg")
    text = "methods: {own: {config: own.cfg}}"

    if patience:
        with pytest.raises(ValueError, match=r"L470.*training.patience is \$"):
            plan(text)
    else:
        assert plan(text).methods[0].config["training"]["patience"] == 0


def test_methods_of_grids_on_a_config_without_a_patience_train_all_steps(plan, tmp_path):
    config = load_config(config_file("baseline"), interpolate=False)
    del config["training"]["patience"]
    config.to_disk(tmp_path / "own.cfg")

    found = plan("config: own.cfg\ngrids: [{head: crf}]")

    assert found.methods[0].config["training"]["patience"] == 0


# --- configs


def settled(config):
    """What a config means: complete, and with its variables filled in."""
    whole = load_model_from_config(config.interpolate(), auto_fill=True).config.interpolate()
    whole["training"].pop("logger")
    return whole


def test_composing_leaves_the_base_and_the_choices_alone():
    base = read_base(None)
    before = copy.deepcopy(dict(base))
    block = {"@losses": "longtail.Focal.v1", "gamma": 1.0}
    found = compose(base, {"loss": {"components.ner.loss": block}}, {"components.ner.loss.gamma": 3.0})
    assert found["components"]["ner"]["loss"]["gamma"] == 3.0
    assert dict(base) == before and block["gamma"] == 1.0
    with pytest.raises(ValueError, match=r"L471.*'a\.b\.c'.*\[a\.b\]"):
        compose(base, {}, {"a.b.c": 1})


SAME = {
    "token_softmax": {},
    "token_crf": {"head": "crf"},
    "baseline": {"head": "ner"},
    "undersampled": {"head": "ner", "reader": "BUS"},
    "augmented": {"head": "ner", "reader": "augmented"},
    "gated_token": {"gate": "gated"},
    "bilstm_softmax": {"encoder": "bilstm"},
}


def composed(choices, settings=None):
    known = known_choices()
    blocks = {axis: known[axis][name] for axis, name in choices.items()}
    config = compose(read_base(None), blocks, settings or {})
    if "frequent" in config["longtail"]:  # filled in for a corpus, as labels and tail are
        config["longtail"]["frequent"] = ["PER", "ORG", "GEO", "GPE", "TIM"]
    return config


@pytest.mark.parametrize("name", SAME)
def test_choices_make_the_configs_of_the_project(name):
    if name == "bilstm_softmax":
        pytest.importorskip("torch")
    own, other = composed(SAME[name]), load_config(config_file(name), interpolate=False)
    assert own["paths"].pop("pretrained") is None and own["longtail"].pop("descriptions") == {}
    assert settled(own) == settled(other)


@pytest.fixture
def paths_of(request):
    def read(encoder):
        """Settings that an encoder needs. The test is skipped where its extra is missing."""
        if encoder == "bilstm":
            pytest.importorskip("torch", reason="needs the extra 'torch'")
        if encoder == "transformer":
            pytest.importorskip("spacy_transformers", reason="needs the extra 'transformers'")
            return {"paths.transformer": str(request.getfixturevalue("bert"))}
        return {"paths.pretrained": "en_longtail_cnn"} if encoder == "pretrained" else {}

    return read


TWO_TASK = ("CE-2T", "AUC-2T", "COMAUC-2T")
CHOICES = [(axis, name) for axis, found in known_choices().items() for name in found]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("bert"))


@pytest.mark.parametrize(("axis", "name"), CHOICES)
def test_every_choice_builds_a_pipeline(axis, name, paths_of):
    choices = {axis: name, **({"head": "two_task"} if name in TWO_TASK else {})}
    nlp = load_model_from_config(composed(choices, paths_of(name)).interpolate(), auto_fill=True)
    assert "ner" in nlp.pipe_names


@pytest.mark.parametrize(
    ("gate", "encoder"), [("double", "cnn"), ("gated", "transformer"), ("gated", "pretrained")]
)
def test_described_outputs_are_those_of_the_secondary_too(gate, encoder, paths_of):
    settings = paths_of(encoder)
    config = composed({"gate": gate, "encoder": encoder, "outputs": "described"}, settings).interpolate()
    primary, secondary = config["components"]["ner"]["model"], config["components"]["weak_ner"]["model"]
    assert secondary["@architectures"] == primary["@architectures"] == "longtail.DescribedTypes.v1"
    if encoder != "cnn":  # what a head has learnt is of its encoder
        assert secondary["tok2vec"] == primary["tok2vec"]
    given = config["initialize"]["components"]
    assert given["weak_ner"] == given["ner"] and "pretrained" in given["ner"]
    nlp = load_model_from_config(config, auto_fill=True)
    for name in ("ner", "weak_ner"):
        assert is_described(output_of(nlp.get_pipe(name).model))
    plain = composed({"gate": gate, "encoder": encoder}, settings).interpolate()
    assert plain["components"]["weak_ner"]["model"]["@architectures"] == "longtail.TokenClassifier.v1"
    assert "pretrained" not in plain["initialize"]["components"]["weak_ner"]


@pytest.mark.parametrize("gate", ["none", "gated"])
def test_a_gazetteer_stands_behind_all_components(plan, gate):
    found = plan(f"grids: [{{head: crf, gate: {gate}, gazetteer: gazetteer}}]")
    pipeline = found.methods[0].config["nlp"]["pipeline"]
    assert names(found) == ["crf-gazetteer" if gate == "none" else "crf-gated-gazetteer"]
    assert pipeline[-1] == "gazetteer" and "ner" in pipeline
