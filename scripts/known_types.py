"""Write encoders/known_types.json: the types that the shipped encoders learnt from, in words.

    python scripts/known_types.py DONORS DONORS/open_types assets/open_types

`stats --encoder` compares the types of a corpus with them. DONORS holds the donor corpora, each
with types.json, which gives the words of each tag. The other folders have free-text types: files
of `ID TAB mention => fine type; coarse type | ...`, or of sentences with
[mention|fine type; coarse type].
"""

import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Annotated

import srsly
import typer

import spacy_longtail.encoders

OUTPUT = Path(spacy_longtail.encoders.__file__).parent / "known_types.json"
FEWEST = 2  # mentions of a free-text type
TYPE = re.compile(r"(?:=>|\|) *([^;|\]=>]+?) *;")


def main(
    donors: Annotated[Path, typer.Argument(exists=True, help="Folder of the donor corpora.")],
    free_text: Annotated[list[Path], typer.Argument(exists=True, help="Folders of free-text types.")],
) -> None:
    """Write the types of the donors and of the free-text corpora."""
    declared: dict[str, set[str]] = defaultdict(set)
    for path in sorted(donors.glob("*/types.json")):
        types = srsly.read_json(path)
        for words in types.get("descriptions", types).values():
            declared[" ".join(words.split()).casefold()].add(path.parent.name)
    texts = [path.read_text(encoding="utf8") for place in free_text for path in place.glob("*.txt")]
    fine = Counter(match.casefold() for text in texts for match in TYPE.findall(text))
    content = {
        "donors": {words: sorted(names) for words, names in sorted(declared.items())},
        "free_text": sorted(words for words, n in fine.items() if n >= FEWEST and words not in declared),
    }
    srsly.write_json(OUTPUT, content, indent=0)
    typer.echo(
        f"{len(content['donors']):,} types of donors, {len(content['free_text']):,} free-text types"
    )


if __name__ == "__main__":
    typer.run(main)
