"""Files of other tools that `convert` once read wrongly, or refused with a wrong message."""

import itertools
import json
from pathlib import Path

import pytest
import spacy
from spacy.tokens import DocBin, Span

from spacy_longtail.corpus import folder
from spacy_longtail.corpus.folder import convert_corpus, read_conversion, read_types, stream_docs
from spacy_longtail.corpus.formats.context import Events
from spacy_longtail.corpus.formats.options import Columns
from spacy_longtail.corpus.formats.sources import FORMATS
from spacy_longtail.unlabelled.pool import PoolOptions, read_pool
from tests.util import refused, run_app

ROOT = Path(__file__).parents[2]
NLP = spacy.blank("en")
FERRY = "The ferry Heron left Oban at nine."
SHIP, PLACE = [10, 15, "SHIP"], [21, 25, "PLACE"]


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf8", newline="")
    return path


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


def converted(source, **options):
    """Convert a source of one part. Return text and entities of each document, and the events."""
    target = source.parent / f"{source.name}-converted"
    convert_corpus(source, target, **options)
    docs = stream_docs(target / "all.spacy", NLP.vocab)
    found = [(doc.text, [(ent.text, ent.label_) for ent in doc.ents]) for doc in docs]
    return found, read_conversion(target).parts["all"].events


# ---------------------------------------------------------------- columns and tables


def test_a_csv_with_an_index_column_is_not_cut_at_each_token(tmp_path):
    path = write(tmp_path / "a.csv", ",word,tag\n0,Anna,B-PER\n1,sings,O\n2,loudly,O\n")
    docs, _ = converted(path, columns=Columns("word", "tag"))
    assert docs == [("Anna sings loudly ", [("Anna", "PER")])]


def test_a_csv_with_two_columns_of_one_name_is_refused(tmp_path):
    path = write(tmp_path / "a.csv", "Sentence #,Word,Word,Tag\nSentence: 1,Anna,x,B-PER\n")
    with pytest.raises(ValueError, match=r"L401.*a\.csv:1: there are 2 columns of the name Word"):
        converted(path)


def test_two_columns_of_one_name_are_fine_if_neither_is_read(tmp_path):
    path = write(tmp_path / "a.csv", "word,x,x,tag\nAnna,1,2,B-PER\n")
    docs, _ = converted(path, columns=Columns("word", "tag"))
    assert docs == [("Anna ", [("Anna", "PER")])]


def test_conllu_plus_with_two_columns_form_is_refused(tmp_path):
    text = "# global.columns = ID FORM FORM MISC\n1\tAnna\tx\tNE=B-PER\n"
    with pytest.raises(ValueError, match=r"L401.*:2: there are two columns FORM"):
        converted(write(tmp_path / "a.conllup", text))


def test_conllu_plus_without_misc_is_told_that_it_has_none(tmp_path):
    text = "# global.columns = ID FORM LEMMA X:TAGS\n1\tAnna\tAnna\tB-PER\n"
    path = write(tmp_path / "a.conllup", text)
    with pytest.raises(ValueError, match=r"L401.*no column MISC with the tags.*--columns tag="):
        converted(path)
    assert converted(path, columns=Columns(tag="x:tags"))[0] == [("Anna ", [("Anna", "PER")])]


def test_conllu_plus_with_a_column_of_entities_needs_no_option(tmp_path):
    text = "# global.columns = ID FORM PARSEME:NE\n1\tAnna\tB-PER\n"
    assert converted(write(tmp_path / "a.conllup", text))[0] == [("Anna ", [("Anna", "PER")])]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("1\tThe\tO\n1\tHeron\tB-SHIP\n\n2\tStorm\tO\n2\tcame\tO\n", "the same throughout"),
        ("notes/a 0 The O\nnotes/a 1 Heron B-SHIP\n", "the same throughout"),
        ("1\tHeron\tB-SHIP\tO\n2\tleft\tO\tO\n3\tOban\tB-PLACE\tO\n", "a running number"),
    ],
)
def test_a_first_column_that_holds_no_tokens_is_refused(text, what, tmp_path):
    path = write(tmp_path / "a.conll", text)
    with pytest.raises(ValueError, match=rf"L401.*a\.conll:1: .*{what}.*--token-column and --tag-col"):
        converted(path)


def test_a_first_column_that_is_named_is_taken_as_it_is(tmp_path):
    path = write(tmp_path / "a.conll", "1\tThe\tO\n2\tHeron\tB-SHIP\n")
    assert converted(path, token_column=0)[0] == [("1 2 ", [("2", "SHIP")])]
    assert converted(path, token_column=1)[0] == [("The Heron ", [("Heron", "SHIP")])]


@pytest.mark.parametrize(
    "text", ["ha UH O\nha UH O\nAnn NNP B-PER\n", "1 x O\n2 x O\n\nAnn x B-PER\n4 x O\n"]
)
def test_numbers_and_repeated_tokens_among_others_are_tokens(text, tmp_path):
    assert "Ann" in str(converted(write(tmp_path / "a.conll", text))[0])


def test_a_last_column_without_tags_is_refused_if_another_has_them(tmp_path):
    path = write(tmp_path / "a.conll", "The\tO\t-\tanna\nHeron\tB-SHIP\t-\tbert\n")
    with pytest.raises(ValueError, match=r"L401.*'anna', has no tags.*--tag-column 1"):
        converted(path)


def test_names_of_columns_in_the_first_line_are_refused(tmp_path):
    path = write(tmp_path / "a.tsv", "Word\tTag\nAnna\tPER\nsings\tO\n")
    with pytest.raises(ValueError, match=r"L401.*a\.tsv:1: .*names of columns.*--format csv"):
        converted(path)


@pytest.mark.parametrize("scheme", ["auto", "iob1", "iob2"])
@pytest.mark.parametrize(
    "tag", ["B-SHIP|B-BIRD", "B-PLACE|O", "B-a,B-b,B-c", "B-a; B-b", "O B-a", "I-a+I-b"]
)
def test_several_tags_in_a_cell_are_refused_in_every_scheme(scheme, tag, tmp_path):
    path = write(tmp_path / "a.conll", f"The\tO\nHeron\t{tag}\n\nA\tO\nTern\tB-SHIP\n")
    with pytest.raises(
        ValueError, match=r"a\.conll:2: found several tags in one cell.*one tag"
    ) as error:
        converted(path, scheme=scheme)
    assert "--scheme" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "Nora\tPERS\nQuist\tPERS\nsaw\tO\nOban\tLOC\n"),
        (
            "a.jsonl",
            lines(
                {"tokens": ["Nora", "Quist", "saw", "Oban"], "ner_tags": ["PERS", "PERS", "O", "LOC"]}
            ),
        ),
        ("a.csv", "Sentence #,Word,Tag\n1,Nora,PERS\n1,Quist,PERS\n1,saw,OTHER\n1,Oban,LOC\n"),
    ],
)
def test_tags_without_a_prefix_are_read_as_io_with_a_notice(name, text, tmp_path):
    docs, events = converted(write(tmp_path / name, text))
    assert docs == [("Nora Quist saw Oban ", [("Nora Quist", "PERS"), ("Oban", "LOC")])]
    assert events["unprefixed"] == {"PERS": 2, "LOC": 1}


def test_other_is_a_type_where_the_file_has_o(tmp_path):
    path = write(tmp_path / "a.tsv", "Nora\tPERS\nsaw\tO\nthings\tOTHER\n")
    assert converted(path)[0] == [("Nora saw things ", [("Nora", "PERS"), ("things", "OTHER")])]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Nora\tB-PERS\nsaw\tO\nOban\tLOC\n", r":3: tag 'LOC' has no prefix.*'B-PERS' at .*a\.tsv:1"),
        ("Nora\tPERS\nsaw\tO\nOban\tB-LOC\n", r":3: tag 'B-LOC' has a prefix.*'PERS' at .*a\.tsv:1"),
        ("Nora\tNNP\nsleeps\tVBZ\n", r":1: no token has the tag O, found NNP, VBZ"),
        ("Nora\t-\nsleeps\tO\n", r":1: unknown tag '-'"),
    ],
)
def test_tags_that_are_of_no_one_scheme_are_refused(text, message, tmp_path):
    with pytest.raises(ValueError, match=rf"L401.*{message}"):
        converted(write(tmp_path / "a.tsv", text))


@pytest.mark.parametrize(
    "text",
    [
        "# id 11-22\tdomain=train\nthe _ _ O\nheron _ _ B-SHIP\n\n# id 11-23\tdomain=train\noban _ _ O\n",
        "# sent_id = 1\nthe\tO\nheron\tB-SHIP\n\n# sent_id = 2\noban\tO\n",
    ],
)
def test_comments_are_skipped_in_files_that_begin_with_one(text, tmp_path):
    docs, events = converted(write(tmp_path / "a.conll", text))
    assert docs == [("the heron ", [("heron", "SHIP")]), ("oban ", [])]
    assert events == {"comments": {"lines": 2}}


def test_a_token_that_begins_with_a_number_sign_is_no_comment(tmp_path):
    path = write(tmp_path / "a.conll", "#heron\tO\nleft\tO\n#oban\tB-PLACE\n")
    docs, events = converted(path)
    assert docs == [("#heron left #oban ", [("#oban", "PLACE")])] and events == {}


def test_a_hashtag_is_no_comment_in_a_file_with_comments(tmp_path):
    path = write(tmp_path / "a.conll", "# id 1 2\nsaw\tO\n#nora\tPERS\n#\tO\n")
    docs, events = converted(path)
    assert docs == [("saw #nora # ", [("#nora", "PERS")])] and events["comments"] == {"lines": 1}


def test_a_mark_of_a_document_does_not_hide_a_comment(tmp_path):
    path = write(tmp_path / "a.conll", "# one\n-DOCSTART- -X- O\n\nthe\tO\nheron\tB-SHIP\n")
    assert converted(path, documents=True)[0] == [("the heron ", [("heron", "SHIP")])]


def test_comments_can_be_switched_on_and_off(tmp_path):
    path = write(tmp_path / "a.conll", "the\tO\n#heron\tB-SHIP\nof\tB-X\n")
    assert converted(path, comments=True)[0] == [("the of ", [("of", "X")])]
    path = write(tmp_path / "b.conll", "# a b\nthe\tO\nheron\tB-SHIP\n")
    with pytest.raises(ValueError, match=r"L401.*b\.conll:2"):
        converted(path, comments=False)


def test_spacy_2_sentences_on_a_line_are_read(tmp_path):
    path = write(tmp_path / "a.iob", "Heron|NNP|B-SHIP left|VBD|O\nNo|DT|O boat|NN|O\n")
    assert converted(path)[0] == [("Heron left ", [("Heron", "SHIP")]), ("No boat ", [])]


# ---------------------------------------------------------------- CoNLL-U


def conllu(*words, text=""):
    """Sentence of (ID, form, MISC)."""
    rows = [f"{i}\t{form}\t_\t_\t_\t_\t_\t_\t_\t{misc}\n" for i, form, misc in words]
    return (f"# text = {text}\n" if text else "") + "".join(rows) + "\n"


def test_space_after_no_joins_words(tmp_path):
    text = conllu((1, "Heron", "NE=B-SHIP|SpaceAfter=No"), (2, "'s", "_"), (3, "off", "SpaceAfter=No"))
    assert converted(write(tmp_path / "a.conllu", text))[0] == [("Heron's off", [("Heron", "SHIP")])]


def test_the_text_of_a_sentence_tells_its_spaces(tmp_path):
    text = conllu((1, "Heron", "NE=B-SHIP"), (2, "'s", "_"), (3, "off", "_"), text="Heron's off")
    assert converted(write(tmp_path / "a.conllu", text))[0] == [("Heron's off", [("Heron", "SHIP")])]


def test_words_of_a_multiword_token_that_spell_it_stay_apart(tmp_path):
    text = conllu(("1-2", "Heron's", "_"), (1, "Heron", "NE=B-SHIP"), (2, "'s", "_"), (3, "off", "_"))
    path = write(tmp_path / "a.conllu", text)
    assert converted(path)[0] == [("Heron's off ", [("Heron", "SHIP")])]


def test_a_multiword_token_that_its_words_do_not_spell_is_one_token(tmp_path):
    text = conllu(
        ("1-2", "du", "_"),
        (1, "de", "_"),
        (2, "le", "NE=B-GEO"),
        (3, "Mans", "NE=I-GEO"),
        text="du Mans",
    )
    docs, events = converted(write(tmp_path / "a.conllu", text))
    assert docs == [("du Mans", [("du Mans", "GEO")])]
    assert events == {"contracted": {"B-GEO": 1}}


def test_sentences_of_a_document_are_separated(tmp_path):
    one = conllu((1, "Oban", "NE=B-GEO"), (2, ".", "SpaceAfter=No"), text="Oban.")
    path = write(tmp_path / "a.conllu", f"# newdoc\n{one}{conllu((1, 'Go', '_'), text='Go')}")
    assert converted(path, documents=True)[0] == [("Oban. Go", [("Oban", "GEO")])]


def test_a_sentence_of_a_document_may_say_nothing_of_spaces(tmp_path):
    one = conllu((1, "Oban", "NE=B-GEO|SpaceAfter=No"), (2, ".", "_"))
    path = write(tmp_path / "a.conllu", f"# newdoc\n{one}{conllu((1, 'Go', '_'), (2, 'on', '_'))}")
    assert converted(path, documents=True)[0] == [("Oban. Go on ", [("Oban", "GEO")])]


def test_a_tag_behind_a_blank_in_misc_is_read(tmp_path):
    text = conllu((1, "Nora", "name=B-PER"), (2, "Quist", "SpaceAfter=No name=I-PER"))
    assert converted(write(tmp_path / "a.conllu", text))[0] == [("Nora Quist", [("Nora Quist", "PER")])]


def test_a_value_in_misc_may_have_blanks(tmp_path):
    text = conllu((1, "Ida", "Gloss=to go|NE=B-named storm|X=1"))
    assert converted(write(tmp_path / "a.conllu", text))[0] == [("Ida ", [("Ida", "named storm")])]


# ---------------------------------------------------------------- texts given several times


def test_a_file_of_another_member_without_annotation_is_merged(tmp_path):
    records = [{"text": FERRY, "label": [SHIP, PLACE]}, {"text": "No boat.", "label": []}]
    write(tmp_path / "in" / "admin.jsonl", lines(*records))
    write(tmp_path / "in" / "second.jsonl", lines(*({**record, "label": []} for record in records)))
    docs, events = converted(tmp_path / "in")
    assert docs[0] == (FERRY, [("Heron", "SHIP"), ("Oban", "PLACE")])
    assert [text for text, _ in docs] == [FERRY, "No boat.", "No boat."]
    assert events == {"merged": {"texts": 1}}


def test_passes_for_one_type_each_are_merged(tmp_path):
    records = [
        {"text": FERRY, "spans": [dict(zip(("start", "end", "label"), s))]} for s in (PLACE, SHIP)
    ]
    docs, events = converted(write(tmp_path / "a.jsonl", lines(*records)))
    assert docs == [(FERRY, [("Heron", "SHIP"), ("Oban", "PLACE")])]
    assert events == {"merged": {"texts": 1}}


CONTRADICTING = {
    "two types of a span": ([SHIP], [[10, 15, "BIRD"]]),
    "one type with other spans": ([SHIP], [[4, 15, "SHIP"]]),
    "one type, found by one": ([SHIP], [SHIP, PLACE]),
}


@pytest.mark.parametrize("case", CONTRADICTING)
def test_contradicting_annotation_of_a_text_is_refused(case, tmp_path):
    records = [{"text": FERRY, "label": spans} for spans in CONTRADICTING[case]]
    path = write(tmp_path / "a.jsonl", lines(*records))
    with pytest.raises(
        ValueError, match=r"L830.*1 of 1 texts.*contradicting.*a\.jsonl:1 'Heron' SHIP"
    ) as error:
        converted(path)
    assert "--duplicates first" in str(error.value) and "--duplicates keep" in str(error.value)


@pytest.mark.parametrize(
    ("choice", "labels", "events"),
    [
        ("first", [["SHIP"]], {"further copies": {"texts": 1}}),
        ("keep", [["SHIP"], ["BIRD"]], {}),
    ],
)
def test_contradicting_annotation_is_read_as_asked(choice, labels, events, tmp_path):
    records = [{"text": FERRY, "label": [[10, 15, label]]} for label in ("SHIP", "BIRD")]
    path = write(tmp_path / "a.jsonl", lines(*records))
    docs, found = converted(path, duplicates=choice)
    assert [[label for _, label in ents] for _, ents in docs] == labels and found == events


def test_any_different_annotation_can_be_refused(tmp_path):
    path = write(
        tmp_path / "a.jsonl", lines({"text": FERRY, "label": [SHIP]}, {"text": FERRY, "label": []})
    )
    with pytest.raises(ValueError, match=r"L830.*different annotation"):
        converted(path, duplicates="refuse")


def test_few_contradictions_are_kept_and_counted(tmp_path):
    others = [{"text": f"{FERRY} {i}", "label": [SHIP]} for i in range(30)]
    records = [{"text": FERRY, "label": [[10, 15, label]]} for label in ("SHIP", "BIRD")]
    docs, events = converted(write(tmp_path / "a.jsonl", lines(*others, *records)))
    assert len(docs) == 32 and events == {"contradicting": {"texts": 2}}


def test_copies_with_equal_annotation_are_kept(tmp_path):
    path = write(tmp_path / "a.jsonl", lines(*[{"text": FERRY, "label": [SHIP]}] * 3))
    docs, events = converted(path)
    assert docs == [(FERRY, [("Heron", "SHIP")])] * 3 and events == {}


def test_sentences_of_given_tokens_recur(tmp_path):
    path = write(tmp_path / "a.conll", "May\tB-PER\nleft\tO\n\nMay\tO\nleft\tO\n")
    assert converted(path)[0] == [("May left ", [("May", "PER")]), ("May left ", [])]


def task(*annotations, key="annotations"):
    """Task of Label Studio. annotations: Type of the one region, and further keys."""
    listed = []
    for label, more in annotations:
        value = {"start": 10, "end": 15, "text": "Heron", "labels": [label]}
        listed.append({"result": [{"type": "labels", "value": value}], **more})
    return {"data": {"text": FERRY}, key: listed}


def test_the_ground_truth_of_a_task_is_taken(tmp_path):
    record = task(("SHIP", {"ground_truth": False}), ("BIRD", {"ground_truth": True}))
    docs, events = converted(write(tmp_path / "a.json", json.dumps([record])))
    assert docs == [(FERRY, [("Heron", "BIRD")])] and events == {"further": {"annotations": 1}}


def test_two_annotators_of_a_task_who_contradict_each_other_are_refused(tmp_path):
    with pytest.raises(ValueError, match="L830"):
        converted(write(tmp_path / "a.json", json.dumps([task(("SHIP", {}), ("BIRD", {}))])))


def test_completions_of_older_label_studio_are_read(tmp_path):
    path = write(tmp_path / "a.json", json.dumps([task(("SHIP", {}), key="completions")]))
    assert converted(path)[0] == [(FERRY, [("Heron", "SHIP")])]


# ---------------------------------------------------------------- JSON


def test_spaces_after_tokens_are_kept(tmp_path):
    record = {"tokens": ["Heron", "'s", "off"], "ner_tags": ["B-SHIP", "O", "O"]}
    path = write(tmp_path / "a.jsonl", lines({**record, "space_after": [False, True, False]}))
    assert converted(path)[0] == [("Heron's off", [("Heron", "SHIP")])]


def test_the_text_beside_tokens_tells_their_spaces(tmp_path):
    record = {"text": "Heron's off", "tokens": ["Heron", "'s", "off"], "ner_tags": ["B-SHIP", "O", "O"]}
    assert converted(write(tmp_path / "a.jsonl", lines(record)))[0] == [
        ("Heron's off", [("Heron", "SHIP")])
    ]


def test_records_of_token_spans_keep_spaces(tmp_path):
    record = {"text": "Heron's off", "tokenized_text": ["Heron", "'s", "off"], "ner": [[0, 0, "SHIP"]]}
    assert converted(write(tmp_path / "a.jsonl", lines(record)))[0] == [
        ("Heron's off", [("Heron", "SHIP")])
    ]


def test_indented_objects_are_read(tmp_path):
    one = json.dumps({"text": FERRY, "label": [SHIP]}, indent=2)
    two = json.dumps({"text": "No boat.", "label": []}, indent=2)
    docs, _ = converted(write(tmp_path / "a.json", f"\n{one}\n{two}\n"))
    assert docs == [(FERRY, [("Heron", "SHIP")]), ("No boat.", [])]


def test_an_indented_file_of_ner_annotator_is_read(tmp_path):
    pairs = [[FERRY, {"entities": [SHIP]}], None, ["No boat.", {"entities": []}]]
    path = write(tmp_path / "a.json", json.dumps({"classes": ["SHIP"], "annotations": pairs}, indent=4))
    docs, events = converted(path)
    assert docs == [(FERRY, [("Heron", "SHIP")]), ("No boat.", [])]
    assert events == {"unlabelled": {"records": 1}}


def test_the_line_of_a_broken_indented_object_is_named(tmp_path):
    path = write(tmp_path / "a.json", '{\n "text": "a",\n "label": [}\n')
    with pytest.raises(ValueError, match=r"L401.*a\.json:3: "):
        converted(path)


@pytest.mark.parametrize(
    "span",
    [
        {"start_char": 10, "end_char": 15, "label": "SHIP"},
        {"begin": 10, "end": 15, "type": "SHIP"},
        {"offset": 10, "length": 5, "label": "SHIP"},
    ],
)
def test_spans_may_have_other_keys(span, tmp_path):
    path = write(tmp_path / "a.jsonl", lines({"text": FERRY, "spans": [span]}))
    assert converted(path)[0] == [(FERRY, [("Heron", "SHIP")])]


def test_what_spacy_writes_of_a_doc_as_json_is_read(tmp_path):
    doc = NLP("Heron left. Oban slept.")
    doc.set_ents([Span(doc, 0, 1, "SHIP"), Span(doc, 3, 4, "PLACE")])
    for token in doc:
        token.is_sent_start = token.i in (0, 3)
    path = write(tmp_path / "a.jsonl", lines(doc.to_json()))
    assert converted(path)[0] == [(doc.text, [("Heron", "SHIP"), ("Oban", "PLACE")])]
    (again,) = stream_docs(tmp_path / "a.jsonl-converted" / "all.spacy", NLP.vocab)
    assert [sentence.text for sentence in again.sents] == ["Heron left.", "Oban slept."]


def test_spacy_2_training_files_are_read(tmp_path):
    tokens = [
        {"orth": "Heron", "ner": "U-SHIP"},
        {"orth": "left", "ner": "O"},
        {"orth": "it", "ner": "-"},
    ]
    paragraph = {
        "raw": "Heron left it.",
        "sentences": [{"tokens": [*tokens, {"orth": ".", "ner": "O"}]}],
    }
    path = write(tmp_path / "a.json", json.dumps([{"id": 0, "paragraphs": [paragraph]}]))
    assert converted(path)[0] == [("Heron left it.", [("Heron", "SHIP")])]
    (doc,) = stream_docs(tmp_path / "a.json-converted" / "all.spacy", NLP.vocab)
    assert [token.ent_iob_ for token in doc] == ["B", "O", "", "O"]


# ---------------------------------------------------------------- formats of other tools


def test_light_tag_is_read(tmp_path):
    right = {"start": 10, "end": 15, "tag": "SHIP", "value": "Heron", "correct": True}
    wrong = {"start": 21, "end": 25, "tag": "PLACE", "value": "Oban", "correct": False}
    example = {"content": FERRY, "metadata": {"source": "log"}, "annotations": [right, wrong]}
    docs, events = converted(
        write(tmp_path / "a.json", json.dumps({"examples": [example], "relations": []}))
    )
    assert docs == [(FERRY, [("Heron", "SHIP")])] and events == {"rejected": {"PLACE": 1}}


def test_rasa_json_is_read(tmp_path):
    example = {
        "text": FERRY,
        "intent": "x",
        "entities": [{"start": 10, "end": 15, "value": "Heron", "entity": "SHIP"}],
    }
    path = write(tmp_path / "a.json", json.dumps({"rasa_nlu_data": {"common_examples": [example]}}))
    assert converted(path)[0] == [(FERRY, [("Heron", "SHIP")])]


def test_the_value_of_rasa_may_be_a_synonym(tmp_path):
    entity = {"start": 10, "end": 15, "value": "MV Heron", "entity": "SHIP"}
    path = write(tmp_path / "a.jsonl", lines({"text": FERRY, "entities": [entity]}))
    assert converted(path)[0] == [(FERRY, [("Heron", "SHIP")])]


def test_tags_of_single_tokens_are_no_spans(tmp_path):
    token = {"start": 10, "end": 15, "word": "Heron", "entity": "B-SHIP"}
    path = write(tmp_path / "a.jsonl", lines({"text": FERRY, "entities": [token]}))
    with pytest.raises(ValueError, match=r"L401.*'B-SHIP' of a single token.*aggregation_strategy"):
        converted(path)


def test_dygie_is_read(tmp_path):
    record = {
        "doc_key": "a",
        "sentences": [["Heron", "left", "."], ["Oban", "slept"]],
        "ner": [[[0, 0, "SHIP"]], [[3, 3, "PLACE"]]],
    }
    docs, _ = converted(write(tmp_path / "a.jsonl", lines(record)))
    assert docs == [("Heron left . Oban slept ", [("Heron", "SHIP"), ("Oban", "PLACE")])]


BIOC_XML = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE collection SYSTEM "BioC.dtd">
<collection><source>x</source><document><id>7</id>
<passage><offset>0</offset><text>No boat.</text></passage>
<passage><offset>9</offset><text>The Heron left Oban.</text>
<annotation id="T1"><infon key="type">SHIP</infon><location offset="13" length="5"/><text>Heron</text></annotation>
<annotation id="T2"><infon key="type">X</infon><location offset="9" length="3"/>
<location offset="19" length="4"/><text>The left</text></annotation>
</passage></document></collection>
"""


def test_bioc_xml_is_read_by_passage(tmp_path):
    docs, events = converted(write(tmp_path / "a.xml", BIOC_XML), allow=True)
    assert docs == [("No boat.", []), ("The Heron left Oban.", [("Heron", "SHIP")])]
    assert events == {"discontinuous": {"X": 1}}
    found = stream_docs(tmp_path / "a.xml-converted" / "all.spacy", NLP.vocab)
    assert [doc.user_data["document"] for doc in found] == ["7", "7"]


def test_bioc_json_is_read_by_passage(tmp_path):
    annotation = {
        "infons": {"type": "SHIP"},
        "text": "Heron",
        "locations": [{"offset": 13, "length": 5}],
    }
    passage = {"offset": 9, "text": "The Heron left.", "annotations": [annotation]}
    path = write(
        tmp_path / "a.json", json.dumps({"documents": [{"id": "7", "passages": [passage]}]}, indent=1)
    )
    assert converted(path)[0] == [("The Heron left.", [("Heron", "SHIP")])]


@pytest.mark.parametrize(
    "text", ["<collection><document>", BIOC_XML.replace('offset="13"', 'offset="x"')]
)
def test_broken_bioc_is_refused(text, tmp_path):
    with pytest.raises(ValueError, match=r"L401.*a\.xml"):
        converted(write(tmp_path / "a.xml", text))


def test_xml_neither_grows_nor_reads_other_files(tmp_path):
    names = "abcdefghijkl"
    grows = "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in itertools.pairwise(names))
    for i, entities in enumerate(
        (f'<!ENTITY a "{"x" * 10}">{grows}', '<!ENTITY l SYSTEM "/etc/hosts">')
    ):
        text = BIOC_XML.replace('"BioC.dtd">', f'"BioC.dtd" [{entities}]>').replace("No boat.", "&l;")
        with pytest.raises(ValueError, match=rf"L401.*{i}\.xml:.*this is no XML"):
            converted(write(tmp_path / f"{i}.xml", text))


def test_broken_bioc_json_is_refused(tmp_path):
    path = write(tmp_path / "a.json", lines({"passages": [{"offset": "x", "text": "Oban"}]}))
    with pytest.raises(ValueError, match=r"L401.*a\.json:1: the document has another form"):
        converted(path)


def test_pubtator_is_read(tmp_path):
    text = "1|t|The Heron left Oban.\n1|a|No boat.\n1\t4\t9\tHeron\tSHIP\tD1\n1\tCID\tD1\tD2\n\n2|t|Oban.\n2\t0\t4\tOban\tPLACE\t-\n"
    docs, events = converted(write(tmp_path / "a.pubtator.txt", text))
    assert docs == [
        ("The Heron left Oban. No boat.", [("Heron", "SHIP")]),
        ("Oban.", [("Oban", "PLACE")]),
    ]
    assert events == {"ignored": {"relations": 1}}


def test_opennlp_is_read(tmp_path):
    text = "The <START:ship> Heron II <END> left <START:place> Oban <END> .\nNo boat .\n"
    docs, _ = converted(write(tmp_path / "a.txt", text))
    assert docs == [
        ("The Heron II left Oban . ", [("Heron II", "ship"), ("Oban", "place")]),
        ("No boat . ", []),
    ]


@pytest.mark.parametrize(
    "text", ["<START:a> x", "<START:a> <START:b> x <END>", "<START:a> <END>", "x <END> <START:a>"]
)
def test_broken_opennlp_is_refused(text, tmp_path):
    path = write(tmp_path / "a.txt", f"<START:a> x <END>\n{text}\n")
    with pytest.raises(ValueError, match=r"L401.*a\.txt:2: .*<START:type>"):
        converted(path)


XMI = """<?xml version="1.0" encoding="UTF-8"?>
<xmi:XMI xmlns:xmi="http://www.omg.org/XMI" xmlns:cas="http:///uima/cas.ecore"
 xmlns:seg="http:///de/tudarmstadt/ukp/dkpro/core/api/segmentation/type.ecore"
 xmlns:ner="http:///de/tudarmstadt/ukp/dkpro/core/api/ner/type.ecore">
<seg:Sentence begin="0" end="14"/><seg:Sentence begin="15" end="20"/>
<ner:NamedEntity begin="3" end="8" value="SHIP"/><ner:NamedEntity begin="15" end="19" value="PLACE"/>
<cas:Sofa sofaString="&#128674; Heron left. Oban."/></xmi:XMI>
"""


def test_uima_cas_xmi_is_read_with_its_sentences(tmp_path):
    docs, _ = converted(write(tmp_path / "a.xmi", XMI))
    assert docs == [("\U0001f6a2 Heron left. Oban.", [("Heron", "SHIP"), ("Oban", "PLACE")])]
    (doc,) = stream_docs(tmp_path / "a.xmi-converted" / "all.spacy", NLP.vocab)
    assert [sentence.text for sentence in doc.sents] == ["\U0001f6a2 Heron left.", "Oban."]


@pytest.mark.parametrize(
    "text", [XMI.replace("sofaString", "x"), XMI.replace('end="19"', 'end="99"'), "no xml"]
)
def test_broken_xmi_is_refused(text, tmp_path):
    with pytest.raises(ValueError, match=r"L401.*a\.xmi"):
        converted(write(tmp_path / "a.xmi", text))


@pytest.mark.parametrize(
    ("name", "text", "advice"),
    [
        ("a.parquet", "PAR1", "Parquet.*read_parquet"),
        ("a.zip", "PK", "ZIP.*Unpack"),
        ("a.xlsx", "PK", "Excel.*CSV"),
        ("a.tsv", "#FORMAT=WebAnno TSV 3.3\n\n", "WebAnno.*XMI"),
        ("nlu.yml", 'version: "3.1"\nnlu:\n- intent: x\n', "rasa data convert nlu -f json"),
        ("a.xml", "<?xml version='1.0'?>\n<GateDocument>\n", "GATE.*gatenlp"),
        ("a.json", '{\n "annotatable": {"parts": ["s1v1"]},\n "entities": []}', "tagtog.*no text"),
    ],
)
def test_formats_that_are_not_read_are_named_with_what_converts_them(name, text, advice, tmp_path):
    with pytest.raises(ValueError, match=rf"L831.*{name}.*{advice}"):
        converted(write(tmp_path / name, text))


def test_the_docs_list_every_format():
    page = (ROOT / "docs" / "corpora.md").read_text(encoding="utf8")
    assert [name for name in FORMATS if f"| `{name}` |" not in page] == []


def test_a_foreign_file_beside_the_corpus_is_not_in_the_way(tmp_path):
    write(tmp_path / "in" / "nlu.yml", "nlu:\n- intent: x\n")
    write(tmp_path / "in" / "a.jsonl", lines({"text": FERRY, "label": [SHIP]}))
    assert converted(tmp_path / "in")[0] == [(FERRY, [("Heron", "SHIP")])]


# ---------------------------------------------------------------- .spacy


def docbin(path, groups):
    """A .spacy file with spans in doc.spans alone. groups (dict): Spans by key."""
    doc = NLP("The Heron left Oban.")
    empty = NLP("No boat came.")
    for key, spans in groups.items():
        doc.spans[key] = [doc.char_span(*span[:2], label=span[2]) for span in spans]
        empty.spans[key] = []
    DocBin(docs=[doc, empty]).to_disk(path)
    return path


def test_a_docbin_with_one_group_of_spans_alone_is_read(tmp_path):
    path = docbin(tmp_path / "a.spacy", {"sc": [(4, 9, "SHIP"), (15, 19, "PLACE")]})
    docs, events = converted(path)
    assert docs == [
        ("The Heron left Oban.", [("Heron", "SHIP"), ("Oban", "PLACE")]),
        ("No boat came.", []),
    ]
    assert events == {"groups": {"SHIP": 1, "PLACE": 1}}


def test_of_several_groups_of_spans_one_must_be_named(tmp_path):
    path = docbin(tmp_path / "a.spacy", {"a": [(4, 9, "SHIP")], "b": [(15, 19, "PLACE")]})
    with pytest.raises(ValueError, match=r"L4.*a, b.*--spans-key"):
        converted(path)
    assert converted(path, spans_key="b")[0][0] == ("The Heron left Oban.", [("Oban", "PLACE")])


def test_a_document_without_the_named_group_of_spans_has_no_entity(tmp_path):
    doc, bare = NLP("The Heron left."), NLP("No boat.")
    doc.spans["sc"] = [Span(doc, 1, 2, "SHIP")]
    DocBin(docs=[doc, bare]).to_disk(tmp_path / "a.spacy")
    docs, events = converted(tmp_path / "a.spacy", spans_key="sc")
    assert docs == [("The Heron left.", [("Heron", "SHIP")]), ("No boat.", [])]
    assert events == {"groups": {"SHIP": 1}}


def test_groups_of_spans_do_not_keep_text_from_being_read_as_a_pool(tmp_path):
    path = docbin(tmp_path / "a.spacy", {"a": [(4, 9, "SHIP")], "b": [(15, 19, "PLACE")]})
    docs = read_pool(path, NLP, PoolOptions(), Events())
    assert [doc.text for doc in docs] == ["The Heron left Oban.", "No boat came."]


# ---------------------------------------------------------------- parts, files and the command


@pytest.mark.parametrize("name", ["valid", "validation"])
def test_other_names_of_dev_are_accepted(name, tmp_path, recwarn):
    for part in ("train", name, "test"):
        write(tmp_path / "in" / f"{part}.txt", "Oban\tB-PLACE\nslept\tO\n")
    convert_corpus(tmp_path / "in", tmp_path / "out")
    assert (tmp_path / "out" / "dev.spacy").is_file() and not recwarn


def test_files_that_are_no_part_are_named(tmp_path):
    for part in ("train", "dev", "test", "testa"):
        write(tmp_path / "in" / f"{part}.txt", "Oban\tB-PLACE\nslept\tO\n")
    with pytest.warns(UserWarning, match=r"LW195.*testa\.txt is not read.*valid, validation"):
        convert_corpus(tmp_path / "in", tmp_path / "out")


def test_corpus_json_that_is_nested_too_deep_is_refused(tmp_path):
    write(tmp_path / "in" / "train.jsonl", lines({"text": FERRY, "label": [SHIP]}))
    write(tmp_path / "in" / "corpus.json", "[" * 100_000)
    refused(["convert", tmp_path / "in", tmp_path / "out"], "L430", tmp_path / "out")


def test_types_json_that_is_nested_too_deep_is_refused(tmp_path):
    write(tmp_path / "types.json", "[" * 100_000)
    with pytest.raises(ValueError, match=r"L430.*types\.json"):
        read_types(tmp_path)


def test_no_type_is_looked_up_in_a_list(tmp_path, monkeypatch):
    """With 200,000 types that took minutes."""

    class Labels(list):
        def __contains__(self, label):
            raise AssertionError("a type was looked up in the list of all types")

    real = folder.rare_types
    monkeypatch.setattr(folder, "rare_types", lambda *args: Labels(real(*args)))
    write(tmp_path / "corpus.json", '{"descriptions": {"SHIP": "a vessel"}}')
    path = write(tmp_path / "a.jsonl", lines({"text": FERRY, "label": [SHIP, PLACE]}))
    convert_corpus(path, tmp_path / "out")
    assert read_types(tmp_path / "out").descriptions == {"SHIP": "a vessel"}


def test_a_document_that_spacy_would_not_process_is_told(tmp_path):
    text = "Oban slept. " * 90_000
    docs, events = converted(
        write(tmp_path / "a.jsonl", lines({"text": text, "label": [[0, 4, "PLACE"]]}))
    )
    assert len(docs) == 1 and events == {"long": {"documents": 1}}


def test_the_command_takes_the_options_of_a_format(tmp_path):
    path = write(tmp_path / "a.conll", "# one\n1\tThe\tO\n2\tHeron\tB-SHIP\n")
    shown = run_app(
        "convert", path, tmp_path / "out", "--token-column", 1, "--comments", "--duplicates", "keep"
    )
    assert "1 lines that begin with #" in " ".join(shown.output.split())
    refused(["convert", path, tmp_path / "other", "--spans-key", "sc"], "L420", tmp_path / "other")
    refused(["convert", path, tmp_path / "other", "--encoding", "idna"], "L001", tmp_path / "other")
