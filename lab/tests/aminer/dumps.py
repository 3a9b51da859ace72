"""Made-up papers, written as the versions of AMiner's dump write them."""

from __future__ import annotations

import json
from typing import Any, NamedTuple


class Paper(NamedTuple):
    id: str
    authors: tuple[tuple[str, str], ...] = ()  # name, affiliation
    venue: str = ""
    year: int | None = None
    references: tuple[str, ...] = ()


PAPERS = (
    Paper("1", (("Ann Lee", "Kyoto University, Kyoto, Japan"), ("Bo Chen", "Peking University, China")), "KDD", 2001),
    Paper("2", (("Ann Lee", "Kyoto, JAPAN"), ("Cy Poe", "")), "KDD", 2002, ("1", "99")),
    Paper("3", (("Bo Chen", "Beijing, P.R. China"), ("Dee Fox", "MIT, Cambridge, MA")), "VLDB", 2003, ("1", "2")),
    Paper("4", (), "", None, ("3",)),
)


def old_text(papers: tuple[Paper, ...]) -> str:
    """The first versions: a count, commas, no affiliations."""
    blocks = [
        "\n".join(
            [
                f"#*Title of {paper.id}",
                f"#@{','.join(name for name, _ in paper.authors)}",
                f"#t{paper.year or ''}",
                f"#c{paper.venue}",
                f"#index{paper.id}",
                *(f"#%{cited}" for cited in paper.references),
                "#!An abstract",
                "that goes on in a second line.",
            ]
        )
        for paper in papers
    ]
    return f"{len(papers)}\n" + "\n\n".join(blocks) + "\n"


def middle_text(papers: tuple[Paper, ...]) -> str:
    """Versions 5 to 7: longer marks, and numbers that nobody needs."""
    return "\n\n".join(
        "\n".join(
            [
                f"#*Title of {paper.id}",
                f"#@{','.join(name for name, _ in paper.authors)}",
                f"#year{paper.year or -1}",
                f"#conf{paper.venue}",
                "#citation12",
                f"#index{paper.id}",
                f"#arnetid{paper.id}7",
                *(f"#%{cited}" for cited in paper.references),
                "#!",
            ]
        )
        for paper in papers
    )


def late_text(papers: tuple[Paper, ...]) -> str:
    """Versions 8 and 9: the id first, semicolons, affiliations with a dash for unknown ones."""
    return "".join(
        "\n".join(
            [
                f"#index {paper.id}",
                f"#* Title of {paper.id}",
                f"#@ {';'.join(name for name, _ in paper.authors)}",
                f"#o {';'.join(home or '-' for _, home in paper.authors)}",
                f"#t {paper.year or ''}",
                f"#c {paper.venue}",
                *(f"#% {cited}" for cited in paper.references),
                "",
                "",
            ]
        )
        for paper in papers
    )


def plain_object(paper: Paper) -> dict[str, Any]:
    """Version 10."""
    found = {"id": paper.id, "title": "T", "n_citation": 3, "authors": [name for name, _ in paper.authors]}
    return found | {"venue": paper.venue, "references": list(paper.references), "year": paper.year}


def full_object(paper: Paper) -> dict[str, Any]:
    """Version 11, here without ids of authors."""
    authors = [{"name": name, "org": home} if home else {"name": name} for name, home in paper.authors]
    return plain_object(paper) | {"authors": authors, "venue": {"raw": paper.venue}}


def json_lines(papers: tuple[Paper, ...]) -> str:
    return "".join(json.dumps(plain_object(paper)) + "\n" for paper in papers)


def full_lines(papers: tuple[Paper, ...]) -> str:
    return "".join(json.dumps(full_object(paper), ensure_ascii=False) + "\n" for paper in papers)


def leading_commas(papers: tuple[Paper, ...]) -> str:
    """Version 12: an array with an object a line, commas in front."""
    return "[\n" + "\n,".join(json.dumps(full_object(paper)) for paper in papers) + "\n]\n"


def trailing_commas(papers: tuple[Paper, ...]) -> str:
    return "[" + ",\n".join(json.dumps(full_object(paper)) for paper in papers) + "]"


def one_line(papers: tuple[Paper, ...]) -> str:
    return json.dumps([full_object(paper) for paper in papers])


def mongo(papers: tuple[Paper, ...]) -> str:
    """Version 13: records over many lines, other names of ids, numbers that are no JSON."""
    texts = []
    for paper in papers:
        found = full_object(paper)
        found["_id"] = found.pop("id")
        found["note"] = 'braces { in } [ strings ", NumberInt(1)'
        text = json.dumps(found, indent=4)
        texts.append(text.replace(f'"year": {paper.year}', f'"year" : NumberInt({paper.year})'))
    return "[" + ",\r\n".join(text.replace("\n", "\r\n") for text in texts) + "\r\n]\r\n"


def no_indent(papers: tuple[Paper, ...]) -> str:
    return json.dumps([full_object(paper) for paper in papers], indent=0)


WITHOUT_HOMES = {"old": old_text, "middle": middle_text, "json lines": json_lines}
WITH_HOMES = {
    "late": late_text,
    "full lines": full_lines,
    "leading commas": leading_commas,
    "trailing commas": trailing_commas,
    "one line": one_line,
    "mongo": mongo,
    "no indent": no_indent,
}
