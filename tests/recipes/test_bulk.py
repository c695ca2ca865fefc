"""Bulk recipes without an engine: checked input, output that is there whole or not at all."""

import json

import pytest
import spacy
import typer
from spacy.tokens import DocBin

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

from . import plugin  # noqa: E402, F401  registers the pipelines' components
from .util import RECIPES, documents, entities, pipeline  # noqa: E402


@pytest.fixture
def bulk(monkeypatch):
    monkeypatch.syspath_prepend(RECIPES)
    import bulk

    return bulk


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    spacy.blank("en").to_disk(folder)
    return str(folder)


def jsonl(folder, *files):
    folder.mkdir()
    for i, rows in enumerate(files):
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (folder / f"{i}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf8")
    return folder


GOOD = {"id": "a", "text": "Oslo"}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([[]], "no .jsonl or .parquet file"),
        ([[GOOD, {"text": "no id"}]], "1 documents of .*0.jsonl have no `id`, .* number 2"),
        ([[GOOD], [{"id": "b", "text": None}]], "1.jsonl have no `text`, .* number 1"),
        ([[GOOD, '{"id": "b", ']], "no strings"),
        ([[GOOD], [{"id": "b", "text": ""}, GOOD]], "1 ids .* more than one document, such as 'a'"),
        ([[GOOD, {"id": "b", "text": "x" * 1_000_001}]], "longer than the 1000000 .* such as 'b'"),
    ],
)
def test_bad_documents(bulk, model, tmp_path, files, message):
    with pytest.raises(typer.BadParameter, match=message):
        bulk.prepare(model, jsonl(tmp_path / "in", *files), tmp_path / "out")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"id": [1], "text": ["x"]}, "no strings .*int64"),
        ({"id": ["a"], "body": ["x"]}, "no strings .*'id': 'string'"),
        ({"id": pa.array([], pa.string()), "text": pa.array([], pa.string())}, "no documents"),
    ],
)
def test_bad_parquet(bulk, model, tmp_path, columns, message):
    pq.write_table(pa.table(columns), tmp_path / "in.parquet")
    with pytest.raises(typer.BadParameter, match=message):
        bulk.prepare(model, tmp_path / "in.parquet", tmp_path / "out")


def test_what_else_is_checked_first(bulk, model, tmp_path):
    source = jsonl(tmp_path / "in", [GOOD])
    with pytest.raises(typer.BadParameter, match="nowhere cannot be loaded"):
        bulk.prepare("nowhere", source, tmp_path / "out")
    broken = tmp_path / "broken"
    spacy.load(model).to_disk(broken)
    config = broken / "config.cfg"
    config.write_text(config.read_text().replace("pipeline = []", 'pipeline = ["lost"]'))
    with pytest.raises(typer.BadParameter, match="broken cannot be loaded"):
        bulk.prepare(str(broken), source, tmp_path / "out")
    with pytest.raises(typer.BadParameter, match="exists already"):
        bulk.prepare(model, source, source)
    pq.write_table(pa.table({"id": ["b"], "text": ["x"]}), source / "b.parquet")
    with pytest.raises(typer.BadParameter, match="Keep one kind"):
        bulk.prepare(model, source, tmp_path / "out")


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_parquet_is_read(bulk, model, tmp_path, kind):
    columns = {name: pa.array(["2020-01-01", "b"], kind) for name in ("id", "text")}
    pq.write_table(pa.table({**columns, "year": [1, 2]}), tmp_path / "in.parquet")
    work = bulk.prepare(model, tmp_path / "in.parquet", tmp_path / "out")
    assert work.ids.to_pylist() == ["2020-01-01", "b"]
    assert work.files == [str(tmp_path / "in.parquet")]


def test_documents_come_back_whole(bulk):
    """Words of one call are forgotten after it, and documents hold theirs."""
    nlp, rows = pipeline(), documents(60)
    known = len(nlp.vocab.strings)
    columns = bulk.predict(nlp, [r["id"] for r in rows], [r["text"] for r in rows], docs=True)
    assert len(nlp.vocab.strings) == known
    vocab = spacy.blank("en").vocab
    docs = [next(DocBin().from_bytes(found).get_docs(vocab)) for found in columns["doc"]]
    assert [doc.text for doc in docs] == [row["text"] for row in rows]
    assert [entities(doc) for doc in docs] == columns["entities"]
    assert any(columns["entities"])


@pytest.mark.parametrize("key", ["entity_scores", "others"])
def test_spans_without_scores_leave_the_score_empty(bulk, key):
    """Another component may write spans of the same key without scores."""
    nlp = pipeline()
    nlp.remove_pipe("test_scores")
    ruler = nlp.add_pipe("span_ruler", config={"spans_key": key})
    ruler.add_patterns([{"label": "NAT", "pattern": "Storm Ida"}])
    columns = bulk.predict(nlp, ["a", "b"], ["", "Storm Ida"], docs=False)
    found = [{"start": 0, "end": 9, "label": "NAT", "score": None}]
    assert columns == {"id": ["a", "b"], "entities": [[], found]}


def write(folder, name, ids):
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table({"id": pa.array(ids, pa.string())}), folder / f"{name}.parquet")


def test_output_is_there_when_it_is_complete(bulk, tmp_path):
    with bulk.all_or_nothing(tmp_path / "out", pa.chunked_array([["a", "b"], ["c"]])) as part:
        write(part, 0, ["c"])
        write(part, 1, ["b", "a"])
        assert not (tmp_path / "out").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["0.parquet", "1.parquet"]


def tear(part):
    write(part, 0, ["a", "b"])
    file = part / "0.parquet"
    file.write_bytes(file.read_bytes()[:-20])


def fail(part):
    write(part, 0, ["a", "b"])
    raise RuntimeError("the engine gave up")


@pytest.mark.parametrize(
    ("fill", "message"),
    [
        (lambda part: write(part, 0, ["a"]), "1 have no row, 0 rows repeat another and 0"),
        (lambda part: write(part, 0, ["a", "b", "x"]), "0 have no row, 0 rows repeat another and 1"),
        (lambda part: [write(part, i, ["a"]) for i in range(2)], "1 have no row, 1 rows repeat"),
        (lambda part: None, "cannot be read"),
        (tear, "cannot be read"),
        (fail, "the engine gave up"),
    ],
)
def test_output_that_is_not_whole_goes(bulk, tmp_path, fill, message):
    def run():
        with bulk.all_or_nothing(tmp_path / "out", pa.chunked_array([["a", "b"]])) as part:
            fill(part)

    with pytest.raises(RuntimeError, match=message):
        run()
    assert not list(tmp_path.iterdir())
