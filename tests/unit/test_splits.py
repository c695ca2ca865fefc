"""Splits: the algorithm against enumeration and random splits, the command on small corpora."""

import itertools

import numpy as np
import pytest
import spacy
from hypothesis import example, given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc

from spacy_longtail.corpus import stratification
from spacy_longtail.corpus.converted import ConvertedCorpus
from spacy_longtail.corpus.folder import CorpusTypes, load_docs, read_types, write_corpus
from spacy_longtail.corpus.splits import document_folds, read_shares, split_corpus
from spacy_longtail.corpus.stratification import Search, connected_groups, stratify, totals
from tests.util import document, new_file, parse, refused, run_app, save_docs


@st.composite
def problems(draw, most_groups=40):
    n_types, n_parts = draw(st.integers(0, 4)), draw(st.integers(2, 4))
    n_groups = draw(st.integers(n_parts, most_groups))
    row = st.lists(st.sampled_from([0, 0, 0, 1, 2, 5]), min_size=n_types, max_size=n_types)
    mentions = draw(st.lists(row, min_size=n_groups, max_size=n_groups))
    sizes = draw(st.lists(st.integers(1, 9), min_size=n_groups, max_size=n_groups))
    raw = draw(st.lists(st.integers(1, 20), min_size=n_parts, max_size=n_parts))
    shares = [r / sum(raw) for r in raw]
    return np.array(mentions, dtype=int).reshape(n_groups, n_types), np.array(sizes), shares


@given(problems(), st.integers(0, 2), st.integers(0, 1000))
def test_every_group_has_one_part_and_sizes_are_near(problem, least, seed):
    mentions, sizes, shares = problem
    part = stratify(mentions, sizes, shares, least, seed)
    got = np.bincount(part, weights=sizes, minlength=len(shares))
    assert len(got) == len(shares) and (got > 0).all()
    reserved = max(1, mentions.shape[1] * least)  # groups, at most
    assert (got <= np.array(shares) * sizes.sum() + reserved * sizes.max() + 1e-6).all()
    assert np.array_equal(part, stratify(mentions, sizes, shares, least, seed))


def possible(mentions, n_parts, least):
    """Whether any assignment gives every part one group and the least mentions of every type."""
    amounts = np.hstack([mentions, np.ones((len(mentions), 1), dtype=int)])
    floors = np.array([least] * mentions.shape[1] + [1])
    return any(
        (totals(amounts, np.array(parts), n_parts) >= floors).all()
        for parts in itertools.product(range(n_parts), repeat=len(mentions))
    )


# a search has to go back where the best fit leads nowhere
DEAD_END = (
    np.array([[0, 1, 1], [0, 0, 0], [2, 0, 0], [10, 0, 1], [0, 1, 0]]),
    np.array([1, 5, 1, 1, 1]),
    [0.02, 0.98],
)
# a search went round in circles here
NO_WAY_BACK = (
    np.array([[0, 2, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0], [2, 0, 2, 0], [2, 0, 0, 5], [0, 5, 5, 0]]),
    np.array([4, 7, 1, 7, 2, 2]),
    [3 / 19, 16 / 19],
)


@given(problems(most_groups=7), st.integers(1, 3), st.integers(0, 100))
@example(DEAD_END, 1, 0)
@example(DEAD_END, 1, 3)
@example(NO_WAY_BACK, 1, 1434)
@settings(max_examples=150)
def test_minimums_are_met_if_any_split_meets_them(problem, least, seed):
    mentions, sizes, shares = problem
    if len(shares) ** len(sizes) > 3000:
        shares = [0.5, 0.5]
    have = totals(mentions, stratify(mentions, sizes, shares, least, seed), len(shares))
    assert (have >= least).all() == possible(mentions, len(shares), least)


def test_the_search_for_an_impossible_minimum_ends(monkeypatch):
    """Each type is in ten of twenty documents, and ten parts are to have one of them each."""
    rng = np.random.default_rng(0)
    mentions = np.zeros((520, 30), dtype=int)
    for column in mentions.T:
        column[rng.choice(20, 10, replace=False)] = 1
    needs, candidates = [], Search.candidates
    monkeypatch.setattr(stratification, "MAX_STEPS_BACK", 400)
    monkeypatch.setattr(Search, "candidates", lambda *a: needs.append(a) or candidates(*a))
    stratify(mentions, np.ones(520, dtype=int), [1 / 10] * 10, 1)
    assert 400 < len(needs) < 3000


@given(problems(), st.integers(1, 2))
def test_an_impossible_type_does_not_affect_the_minimums_of_others(problem, least):
    mentions, sizes, shares = problem
    alone = np.zeros((len(sizes), 1), dtype=int)
    alone[0] = 100  # in one group, so in one part
    part = stratify(np.hstack([mentions, alone]), sizes, shares, least)
    n_holders = (mentions > 0).sum(axis=0)
    plenty = n_holders >= least * len(shares) * max(mentions.shape[1], 1) + 1  # one group for each need
    assert (totals(mentions, part, len(shares))[:, plenty] >= least).all()


def test_conflicting_minimums_are_missed_for_as_few_types_as_possible():
    # each pair of the first three types shares a group: two parts cannot both have all three
    rows = [[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 1, 0], *[[0, 0, 0, 1]] * 3]
    for seed in range(5):
        part = stratify(np.array(rows), np.ones(6, dtype=int), [0.99, 0.01], 1, seed)
        in_both = (totals(np.array(rows), part, 2) >= 1).all(axis=0)
        assert in_both.tolist().count(True) == 3 and in_both[3]


@pytest.mark.parametrize(
    ("mentions", "sizes"),
    [
        (
            [[2, 0], [0, 100], [0, 100], [2, 0], [0, 0], [0, 0], [0, 0], [0, 100], [0, 0]],
            [10, 1, 1, 10, 10, 10, 10, 1, 10],
        ),
        ([[0, 0, 0, 50], [0, 0, 10, 0], [0, 50, 0, 1], *[[0] * 4] * 5], [40, 40, 40, 1, 1, 1, 1, 1]),
    ],
)
def test_no_part_outgrows_its_share_by_more_than_a_group(mentions, sizes):
    for shares, seed in itertools.product(([0.6, 0.2, 0.2], [0.2, 0.2, 0.6]), range(10)):
        got = np.bincount(stratify(np.array(mentions), np.array(sizes), shares, 0, seed), weights=sizes)
        assert (got <= np.array(shares) * sum(sizes) + max(sizes)).all()


def skewed(seed=0, n_groups=600):
    """Groups of many types at once: a few frequent ones, a long tail, half of them without any."""
    rng = np.random.default_rng(seed)
    rates = np.array([0.8, 0.5, 0.4, 0.1, 0.03, 0.02])
    mentions = rng.poisson(rates, (n_groups, 6)) * rng.integers(0, 2, (n_groups, 1))
    return mentions, rng.integers(1, 20, n_groups)


@pytest.mark.parametrize("shares", [[0.8, 0.1, 0.1], [0.2] * 5])
def test_types_are_spread_far_better_than_by_chance(shares):
    for seed in range(5):
        mentions, sizes = skewed(seed)
        part = stratify(mentions, sizes, shares, seed=seed)
        wanted = np.outer(shares, mentions.sum(axis=0))
        deviation = np.abs(totals(mentions, part, len(shares)) - wanted)
        # one mention is left to rounding
        assert (np.maximum(deviation - 1, 0) / wanted).max() < 0.1
        got = np.bincount(part, weights=sizes) / sizes.sum()
        assert np.abs(got / shares - 1).max() < 0.02
        bare = mentions.sum(axis=1) == 0
        got = np.bincount(part[bare], weights=sizes[bare]) / sizes[bare].sum()
        assert np.abs(got / shares - 1).max() < 0.15


@given(st.lists(st.tuples(*[st.sampled_from([None, "a", "b", "c"])] * 2), min_size=1, max_size=12))
def test_connected_groups_are_the_connected_units(keys):
    groups = connected_groups([a for a, _ in keys], [b for _, b in keys])
    joined = np.eye(len(keys), dtype=bool)
    for i, j in itertools.product(range(len(keys)), repeat=2):
        joined[i, j] |= any(x is not None and x == y for x, y in zip(keys[i], keys[j], strict=True))
    for _ in keys:
        joined = (joined @ joined) > 0
    assert np.array_equal(groups[:, None] == groups, joined)
    assert sorted(set(groups.tolist())) == list(range(groups.max() + 1))


@pytest.mark.parametrize(
    "text", ["train", "train=x", "train=0.5,train=0.5", "../x=0.5,b=0.5", "", "a=nan,b=1", "a=0.5;b=0.5"]
)
def test_shares_are_parsed(text):
    with pytest.raises(ValueError, match="L440"):
        read_shares(text)
    assert read_shares("train=.5, dev = 0.25,te-st=0.25") == {"train": 0.5, "dev": 0.25, "te-st": 0.25}


# The command

PARTS = ("train", "dev", "test")
TEXTS = ["[Ann|PER] left .", "It rained on [Oslo|GEO] .", "Nobody spoke .", "The [Fram|ART] sank ."]
EN = spacy.blank("en")


def article(i):
    """Two or three sentences each, one without annotation; every fifth has the rare type."""
    texts = [*TEXTS[: 2 + i % 2], *TEXTS[3 : 4 if i % 5 == 0 else 3]]
    doc = document(EN, *(f"{text} {i}" for text in texts))
    doc.user_data.update(title=f"t{i // 2}", number=i)
    doc.set_ents(list(doc.ents), missing=[doc[len(doc) - 1 :]], default="unmodified")
    return doc


@pytest.fixture
def source(tmp_path):
    types = CorpusTypes(["GEO", "PER", "ART"], ["PER"], "nb")
    write_corpus(tmp_path / "c", {"all": map(article, range(40))}, types)
    return tmp_path / "c"


def read(path):
    return load_docs(path, EN)


def numbers(folder):
    """Of the documents, by part."""
    return {p: [d.user_data["number"] for d in read(folder / f"{p}.spacy")] for p in PARTS}


def files(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def content(docs):
    """What a split keeps of documents, in the order of their numbers."""
    attrs = ["ORTH", "SPACY", "ENT_IOB", "ENT_TYPE", "SENT_START"]
    return sorted((doc.user_data["number"], doc.to_array(attrs).tolist()) for doc in docs)


def test_documents_come_whole_and_in_order(source, tmp_path):
    split = split_corpus(source, tmp_path / "t")
    assert files(tmp_path / "t") == ["dev.spacy", "test.spacy", "train.spacy", "types.json"]
    parts = numbers(tmp_path / "t")
    assert all(part == sorted(part) for part in parts.values())
    assert [len(part) for part in parts.values()] == [32, 4, 4]
    after = [doc for p in PARTS for doc in read(tmp_path / "t" / f"{p}.spacy")]
    assert content(after) == content(read(source / "all.spacy"))
    assert read_types(tmp_path / "t") == read_types(source)
    assert split.parts["train"].n_docs == 32
    assert [part.mentions["ART"] for part in split.parts.values()] == [6, 1, 1]


def test_each_fold_is_test_once_and_dev_once(source, tmp_path):
    split = split_corpus(source, tmp_path / "t", folds=4)
    assert list(split.parts) == ["fold-0", "fold-1", "fold-2", "fold-3"]
    folds = [numbers(tmp_path / "t" / name) for name in split.parts]
    assert sorted(n for fold in folds for n in fold["test"]) == list(range(40))
    for i, fold in enumerate(folds):
        assert fold["dev"] == folds[(i + 1) % 4]["test"]
        assert fold["train"] == sorted(set(range(40)) - set(fold["dev"]) - set(fold["test"]))
        assert read_types(tmp_path / "t" / f"fold-{i}") == read_types(source)


def test_groups_and_duplicates_stay_together(source, tmp_path):
    split_corpus(source, tmp_path / "t", group_by="title")
    for part in numbers(tmp_path / "t").values():
        assert {n ^ 1 for n in part} == set(part)  # pairs share a title
    texts = [f"The Fram  SANK {i}" for i in range(10)] + [f"the [Fram|ART] sank {i}" for i in range(10)]
    twins = save_docs(tmp_path / "twins.spacy", [parse(EN, text) for text in texts])

    run_app("split", twins, tmp_path / "together")
    last = [{d[-1].text for d in read(tmp_path / "together" / f"{p}.spacy")} for p in PARTS]
    assert not set.union(*(a & b for a, b in itertools.combinations(last, 2)))


def written(path, *documents):
    """Documents of sentences. Each has a number in its user_data."""
    docs = [document(EN, *texts) for texts in documents]
    for i, doc in enumerate(docs):
        doc.user_data["number"] = i
    return save_docs(path, docs)


def partners_share_a_part(folder, distance):
    """Whether each of forty documents is in the part of the one that far behind it, in a circle."""
    parts = numbers(folder)
    assert [len(part) for part in parts.values()] == [32, 4, 4]
    return all({(n + distance) % 40 for n in part} == set(part) for part in parts.values())


def test_documents_that_share_a_sentence_stay_in_one_part(tmp_path):
    """Each of twenty sentences begins one document and ends another."""
    documents = [[f"[Ann|PER] saw ship {i} .", f"[Bo|PER] left at {i} ."] for i in range(20)]
    documents += [[f"It left at {20 + i} .", f"[Ann|PER] saw ship {i} ."] for i in range(20)]
    split_corpus(written(tmp_path / "a.spacy", *documents), tmp_path / "t")
    assert partners_share_a_part(tmp_path / "t", 20)
    leakage = ConvertedCorpus(tmp_path / "t").statistics.leakage
    assert [leakage[part].sentences for part in ("dev", "test")] == [0, 0]


def test_documents_stay_together_over_a_chain_of_shared_sentences(tmp_path):
    documents = [[f"Ship {i} sank .", f"Ship {i + 1} sank ."] for i in range(3)]
    documents += [[f"Nobody saw {i} ."] for i in range(17)]
    split_corpus(written(tmp_path / "a.spacy", *documents), tmp_path / "t")
    (train, *_) = [set(part) for part in numbers(tmp_path / "t").values() if 0 in part]
    assert {0, 1, 2} <= train


def test_a_sentence_in_most_documents_does_not_join_them_and_is_named(tmp_path):
    documents = [[f"Ship {i} sank .", "All rights are reserved ."] for i in range(20)]
    path = written(tmp_path / "a.spacy", *documents)
    with pytest.warns(UserWarning, match=r"1 sentence stands.*'All rights are reserved .' is in 20 doc"):
        split_corpus(path, tmp_path / "t")
    assert [len(part) for part in numbers(tmp_path / "t").values()] == [16, 2, 2]


def test_fewer_groups_than_parts_are_never_made(tmp_path):
    documents = [["It sank .", "A ."], ["It sank .", "B ."], ["C ."]]
    with pytest.warns(UserWarning, match="LW040.*It sank"):
        split_corpus(written(tmp_path / "a.spacy", *documents), tmp_path / "t")
    assert [len(part) for part in numbers(tmp_path / "t").values()] == [1, 1, 1]


def test_near_duplicates_stay_together_where_it_is_asked_for(tmp_path):
    names = ["Ann", "Bo", "Cy", "Dee"]
    documents = [
        [f"[{names[i // 10]}|PER] bought {i} shares of the {'abcdefghij'[i % 10]} firm in May ."]
        for i in range(40)
    ]
    path = written(tmp_path / "a.spacy", *documents)
    run_app("split", path, tmp_path / "t", "--near")
    assert partners_share_a_part(tmp_path / "t", 10)


@pytest.mark.filterwarnings("ignore:.LW040")
def test_folds_of_trainings_keep_the_groups_of_the_split(source, tmp_path):
    """`audit` and `recommend` make folds of their own of a corpus that was split."""
    split_corpus(source, tmp_path / "t", group_by="title")
    group_by = read_types(tmp_path / "t").group_by
    assert group_by == "title"
    docs = read(tmp_path / "t" / "train.spacy")
    folds = document_folds(docs, 4, group_by=group_by)
    fold_of = {doc.user_data["number"]: fold for doc, fold in zip(docs, folds.tolist(), strict=True)}
    assert all(fold_of[n] == fold_of[n ^ 1] for n in fold_of)
    split_corpus(tmp_path / "t", tmp_path / "u", part="train", shares={"train": 0.5, "test": 0.5})
    halves = (read(tmp_path / "u" / f"{part}.spacy") for part in ("train", "test"))
    for half in ({doc.user_data["number"] for doc in docs} for docs in halves):
        assert {n ^ 1 for n in half} == half


def test_folds_keep_documents_together_that_share_a_sentence(tmp_path):
    documents = [[f"[Ann|PER] saw ship {i % 10} .", f"It left at {i} ."] for i in range(20)]
    folds = document_folds(read(written(tmp_path / "a.spacy", *documents)), 5)
    assert np.array_equal(folds[:10], folds[10:])
    assert sorted(np.bincount(folds)) == [4, 4, 4, 4, 4]


@pytest.mark.filterwarnings("ignore:.LW040")
def test_sentences_are_units_and_entities_stay_whole(tmp_path):
    docs = list(map(article, range(10)))
    crossing = Doc(
        EN.vocab,
        words=["Storm", "Ida", "came", ".", "It", "left", "."],
        sent_starts=[True, True, False, False, True, False, False],
        ents=["B-NAT", "I-NAT", "O", "O", "O", "O", "O"],
        user_data={"number": 99},
    )
    split = split_corpus(
        save_docs(tmp_path / "a.spacy", [*docs, crossing]), tmp_path / "t", unit="sentence"
    )
    units = [doc for p in PARTS for doc in read(tmp_path / "t" / f"{p}.spacy")]
    whole = [s.text.strip() for doc in docs for s in doc.sents] + ["Storm Ida came .", "It left ."]
    assert sorted(doc.text.strip() for doc in units) == sorted(whole)
    assert sum(part.n_sentences for part in split.parts.values()) == len(units) + 1  # two in one unit
    assert [d.ents[0].text for d in units if d.text.startswith("Storm")] == ["Storm Ida"]
    assert {doc.user_data["number"] for doc in units} == {*range(10), 99}
    assert sum(t.ent_iob == 0 for doc in units for t in doc) == 10


def test_parts_that_are_not_made_are_carried_over(source, tmp_path):
    """One in a file, one in a folder of files."""
    docs = list(map(article, range(40)))
    place = tmp_path / "p"
    write_corpus(place, {"train": docs[:20]}, CorpusTypes(["PER", "GEO", "ART"], ["ART"]))
    for i, name in ((2, "test/2"), (3, "test/3")):
        save_docs(place / f"{name}.spacy", docs[10 * i : 10 * i + 10])
    split_corpus(place, tmp_path / "t", shares={"train": 0.9, "dev": 0.1})
    kept = ["test/2.spacy", "test/3.spacy"]
    assert files(tmp_path / "t") == ["dev.spacy", *kept, "train.spacy", "types.json"]
    assert all((tmp_path / "t" / k).read_bytes() == (place / k).read_bytes() for k in kept)
    with pytest.warns(UserWarning, match="LW040.*test"):
        split_corpus(place, tmp_path / "u")
    assert sorted(n for part in numbers(tmp_path / "u").values() for n in part) == list(range(20))
    (place / "train.spacy").rename(place / "test" / "train.spacy")
    (place / "test").rename(place / "train")  # three files of one part
    split_corpus(place, tmp_path / "v")
    assert sum(map(len, numbers(tmp_path / "v").values())) == 40


def test_types_of_files_without_types_json_are_counted(source, tmp_path):
    bare = tmp_path / "bare"
    path = save_docs(bare / "x.spacy", read(source / "all.spacy"))
    for name, origin, options in (("t", bare, {}), ("u", path, {}), ("v", bare, {"folds": 3})):
        split_corpus(origin, tmp_path / name, **options)
        types = read_types(tmp_path / name / ("fold-2" if options else ""))
        assert types == CorpusTypes(["GEO", "PER", "ART"], ["ART"])


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--parts", "train=0.8,dev=0.1"], "L440"),
        (["--parts", "train=1.2,dev=-0.2"], "L440"),
        (["--part", "dev"], "L440"),
        (["--folds", "41"], "L440"),
        (["--group-by", "title", "--folds", "21"], "L440"),
        (["--folds", "2"], "L440"),
        (["--folds", "5", "--parts", "a=0.5,b=0.5"], "L420"),
        (["--group-by", "author"], "number, title"),
        (["--strict", "--min-mentions", "3"], "L440"),
        (["--min-mentions", "-1"], "L852"),
    ],
)
def test_impossible_splits_are_refused_before_anything_is_written(options, code, source, tmp_path):
    refused(["split", source, tmp_path / "t", *options], code, tmp_path / "t")


def test_sources_that_cannot_be_split_and_targets_within_them_are_refused(source, tmp_path):
    one, broken = (
        save_docs(tmp_path / "one.spacy", [article(0)]),
        new_file(tmp_path / "a.spacy", "nothing"),
    )
    for arguments, code in (
        ([one, tmp_path / "t"], "L440"),
        ([one, tmp_path / "t", "--part", "train"], "L420"),
        ([tmp_path / "none", tmp_path / "t"], "L402"),
        ([broken, tmp_path / "t"], "L404"),
        ([source, source], "L436"),
        ([source, source / "all.spacy"], "L436"),
        ([tmp_path, tmp_path / "inside"], "L436"),
    ):
        refused(["split", *arguments], code)
    assert not (tmp_path / "t").exists() and not (tmp_path / "inside").exists()


def test_files_of_another_split_are_not_left_beside(source, tmp_path):
    target = tmp_path / "t"
    split_corpus(source, target, folds=5)
    before = {name: (target / name).read_bytes() for name in files(target)}
    for arguments in (["--folds", "4"], []):
        refused(["split", source, target, *arguments], "L437")
    assert {name: (target / name).read_bytes() for name in files(target)} == before
    split_corpus(source, target, folds=5, seed=1)  # the same files again
    assert files(target) == sorted(before)


def test_rare_types_and_documents_without_a_key_are_named(source, tmp_path):
    with pytest.warns(UserWarning, match=r"LW040.*3 mentions.*: ART \(train \d, dev \d, test \d\)"):
        split = split_corpus(source, tmp_path / "t", min_mentions=3)
    assert all(part.mentions[t] >= 3 for part in split.parts.values() for t in ("PER", "GEO"))
    docs = save_docs(tmp_path / "x.spacy", [*map(article, range(40)), parse(EN, "Nobody .")])
    with pytest.warns(UserWarning, match=r"LW040.*1 of 41"):
        split_corpus(docs, tmp_path / "u", group_by="title")
