"""Corpora in other languages take the whole path, and any encoder may start their pipelines."""

import json
import re
import shutil

import pytest
import spacy
from thinc.api import Config

from spacy_longtail.encoders import in_language
from spacy_longtail.studies.advice.pretrained_candidates import find_pretrained
from spacy_longtail.training.pretrained import share_of_letters
from spacy_longtail.training.train import train_model
from tests.project.pretraining import run_pretrain
from tests.util import config_file, corpus_of, run_app, run_spacy, tiny_cnn

ONE_STEP = {"training.max_steps": 1}

GERMAN = [
    "Am Montag fuhr [Anna Groß|PERSON] mit der [Fähre Möwe|SHIP] nach [Cuxhaven|PORT].",
    "Die [Fähre Möwe|SHIP] lag drei Tage im Hafen von [Cuxhaven|PORT].",
    "Niemand kannte [Jörg Weiß|PERSON], den Lotsen der [Seeschwalbe|SHIP].",
    "In [Büsum|PORT] regnete es den ganzen Tag.",
]
JAPANESE = [
    "月曜日に[山田花子|PERSON]は[かもめ丸|SHIP]で[横浜港|PORT]へ行った。",
    "[かもめ丸|SHIP]は三日間[横浜港|PORT]にいた。",
    "[佐藤健|PERSON]を知る人はいなかった。",
    "[神戸港|PORT]では一日中雨が降った。",
]
HEBREW = [
    "ביום שני הפליגה [דנה כהן|PERSON] על [השחף|SHIP] אל [חיפה|PORT] .",
    "[השחף|SHIP] עגנה שלושה ימים בנמל [חיפה|PORT] .",
    "איש לא הכיר את [יוסי לוי|PERSON] מן [הסנונית|SHIP] .",
    "בנמל [אשדוד|PORT] ירד גשם כל היום .",
]
CORPORA = {"de": GERMAN, "ja": JAPANESE, "he": HEBREW}
DESCRIPTIONS = {"PERSON": "person", "SHIP": "ship", "PORT": "sea port"}


def write_export(path, lang, times=12):
    """Write annotated sentences as JSON lines with character spans, no two of them alike."""
    with path.open("w", encoding="utf8") as file:
        for i in range(times):
            for sentence in CORPORA[lang]:
                text, spans = "", []
                for before, name, label in re.findall(r"([^\[]*)(?:\[([^|]+)\|(\w+)\])?", sentence):
                    text += before
                    if name:
                        spans.append({"start": len(text), "end": len(text) + len(name), "label": label})
                        text += name
                file.write(json.dumps({"text": f"{text} {i} .", "spans": spans}) + "\n")
    (path.parent / "corpus.json").write_text(json.dumps({"descriptions": DESCRIPTIONS}))


def split_corpus_in(lang, folder):
    """Return a converted and split corpus."""
    tokens = ["--tokens", "characters"] if lang == "ja" else []
    write_export(folder / "export.jsonl", lang)
    run_app("convert", folder / "export.jsonl", folder / "all", "--lang", lang, *tokens)
    run_app("split", folder / "all", folder / "corpus")
    return folder / "corpus"


@pytest.fixture(scope="module")
def german(tmp_path_factory):
    return split_corpus_in("de", tmp_path_factory.mktemp("german"))


@pytest.mark.slow
@pytest.mark.parametrize("lang", CORPORA)
def test_a_corpus_of_any_language_becomes_a_package(tmp_path, lang):
    corpus, best = split_corpus_in(lang, tmp_path), tmp_path / "out" / "model-best"
    budget = ("--training.max_steps", 40, "--training.eval_frequency", 20)
    run_app("train", "configs/pretrained_cnn.cfg", corpus, tmp_path / "out", *budget)
    run_app("evaluate", best, corpus, "-o", tmp_path / "test.json")
    run_spacy("package", best, tmp_path, "--name", "ships", "--build", "none")

    nlp = spacy.load(tmp_path / f"{lang}_ships-0.0.0" / f"{lang}_ships" / f"{lang}_ships-0.0.0")
    reference = json.loads((tmp_path / "test.json").read_text(encoding="utf8"))
    assert nlp.lang == lang
    assert reference["scores"]["ents_f"] > 0.8
    first = reference["documents"][0]
    found = [(ent.start_char, ent.end_char, ent.label_) for ent in nlp(first["text"]).ents]
    assert found == [tuple(row[:3]) for row in first["predicted"]]


def test_the_english_cnn_starts_a_german_pipeline_with_german_tokens(german, tmp_path):
    run_app("train", "configs/pretrained_cnn.cfg", german, tmp_path / "out", "--training.max_steps", 1)
    nlp = spacy.load(tmp_path / "out" / "model-best")
    assert (nlp.lang, nlp.meta["lang"]) == ("de", "de")
    assert [token.text for token in nlp.make_doc("z.B. hier")] == ["z.B.", "hier"]
    assert nlp.vocab["und"].is_stop and not nlp.vocab["and"].is_stop


def test_spacy_train_takes_the_shipped_encoder_for_a_german_corpus(german, tmp_path):
    config = tmp_path / "config.cfg"
    run_app("init-config", "pretrained_cnn", "-o", config, "--corpus", german)
    run_spacy("train", config, "-o", tmp_path / "out", "--training.max_steps", 1)
    assert spacy.load(tmp_path / "out" / "model-best").lang == "de"


def test_a_folder_of_another_language_is_copied_with_the_language_asked_for(tmp_path):
    encoder = tiny_cnn(tmp_path / "encoder")
    assert in_language(str(encoder), "en") == str(encoder)
    copy = in_language(str(encoder), "ja")
    target = spacy.blank("ja", config={"nlp": {"tokenizer": {"@tokenizers": "spacy.Tokenizer.v1"}}})
    source = spacy.load(copy, vocab=target.vocab)
    assert source.lang == "ja" and source.pipe_names == spacy.load(encoder).pipe_names
    assert Config().from_disk(encoder / "config.cfg")["nlp"]["lang"] == "en"


def test_recommend_tries_the_cnn_for_every_alphabet_and_says_so(german):
    said = []
    assert find_pretrained(german, said.append) == ["en_longtail_cnn"]
    assert said == ["en_longtail_cnn is tried, although it was pretrained on another language than 'de'"]


def test_a_config_over_a_published_transformer_names_one_of_the_language(german, tmp_path):
    config = tmp_path / "config.cfg"
    result = run_app("init-config", "bert_crf", "-o", config, "--corpus", german)
    assert "--paths.transformer bert-base-german-cased" in result.output
    assert Config().from_disk(config)["paths"]["transformer"] == "bert-base-german-cased"


def test_donors_of_two_languages_make_a_multilingual_encoder(tmp_path):
    english = corpus_of(tmp_path / "english", train=["The [Fram|SHIP] left [Oslo|PORT] ."] * 3)
    german = corpus_of(tmp_path / "german", train=["Die [Möwe|SHIP] verließ [Kiel|PORT] ."] * 3)
    types = json.loads((german / "types.json").read_text(encoding="utf8"))
    (german / "types.json").write_text(json.dumps({**types, "lang": "de"}), encoding="utf8")
    result = run_pretrain([english, german], tmp_path / "out", tiny_cnn(tmp_path / "cnn"))
    assert result.nlp.lang == "xx"
    shutil.rmtree(tmp_path / "out")
    assert run_pretrain([german], tmp_path / "out", tmp_path / "cnn").nlp.lang == "de"


@pytest.fixture(scope="module")
def hebrew(tmp_path_factory):
    return split_corpus_in("he", tmp_path_factory.mktemp("hebrew"))


def test_an_encoder_that_cannot_read_the_letters_is_not_tried(hebrew):
    said = []
    assert find_pretrained(hebrew, said.append) == []
    (text,) = said  # without the notice that it is tried, although its language is another one
    assert "en_longtail_cnn is not tried: it knows only 3" in text


def test_training_warns_of_letters_that_the_encoder_does_not_know(hebrew, tmp_path):
    with pytest.warns(UserWarning, match=r"LW206.*en_longtail_cnn knows 3\d % of the letters"):
        train_model(config_file("pretrained_cnn"), hebrew, tmp_path / "out", overrides=ONE_STEP)


def test_every_letter_of_german_is_known(german):
    assert share_of_letters("en_longtail_cnn", german) == 1.0
