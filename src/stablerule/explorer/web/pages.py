"""The pages that only read: Home, Search, Entity, Rules, Rule, Ask, and the reasons of an answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, RedirectResponse

from stablerule.explorer.views.answers import ask, describe_silence, explain_answer, explain_why_not
from stablerule.explorer.views.entity import show_entity
from stablerule.explorer.views.home import find_findings, show_graph, show_model
from stablerule.explorer.views.likely import find_likely_facts
from stablerule.explorer.views.rule import show_rule
from stablerule.explorer.views.rules import SortName, list_rules
from stablerule.explorer.web.api import LONGEST_NAME, Name, Off, Page, Relation, Wishes
from stablerule.graph import invert_relation_name
from stablerule.rules.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response

    from stablerule.explorer.explored import Explored
    from stablerule.explorer.web.limits import Workers
    from stablerule.explorer.web.rendering import Renderer

API = "/api/v1"
Text = Annotated[str, Query(max_length=LONGEST_NAME)]
COLUMNS = (("gain", "Gain"), ("confidence", "Confidence"), ("pca_confidence", "PCA"), ("support", "Support"))
DRAWING = ("vendor/cytoscape.min.js", "drawing.js")
EXAMPLES = 4
MOST_SHOWN = 100


@dataclass(frozen=True)
class AskForm:
    """The values in the form of the page Ask."""

    head: str = ""
    relation: str = ""
    inverse: bool = False
    new: bool = False
    k: int = 10
    off: tuple[str, ...] = ()

    @property
    def asked(self) -> dict[str, Any]:
        """The same as an address has it."""
        return {**vars(self), "off": list(self.off)}


def make_read_pages(explored: Explored, workers: Workers, renderer: Renderer) -> APIRouter:
    """Return the pages that ask the model and change nothing."""
    router = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)
    links = renderer.links

    async def show(template: str, make: Callable[[], dict[str, Any]], **values: Any) -> HTMLResponse:
        return HTMLResponse(await workers.run(lambda: renderer.render(f"{template}.html.jinja", **values, **make())))

    @router.get("/")
    async def home() -> Response:
        def make() -> dict[str, Any]:
            return {"graph": show_graph(explored), "model": show_model(explored)}

        return await show("home", make, here="/", json_url=f"{API}/graph")

    @router.get("/findings")
    async def findings() -> Response:
        def make() -> dict[str, Any]:
            return {"findings": explored.remember("findings", lambda: find_findings(explored))}

        return await show("findings", make, json_url=f"{API}/findings")

    @router.get("/search")
    async def search(text: Text = "") -> Response:
        hits = await workers.run(explored.index.find, text, 50)
        if hits and hits[0].how == "exact" and (len(hits) == 1 or hits[1].how != "exact"):
            one = hits[0]
            place = links.entity(one.name) if one.kind == "entity" else links.to("/rules", head_relation=one.name)
            return RedirectResponse(place, 303)
        return await show("search", lambda: {"hits": hits}, text=text, json_url=links.to(f"{API}/search", text=text))

    @router.get("/entity")
    async def entity(name: Name, relation: Text | None = None, page: Page = 1) -> Response:
        def make() -> dict[str, Any]:
            shown = show_entity(explored, name, relation=relation, page=page)
            return {"entity": shown, "whole": shown.name}

        json_url = links.to(f"{API}/entity", name=name, relation=relation, page=page if page > 1 else None)
        return await show("entity", make, relation=relation, json_url=json_url, scripts=DRAWING)

    @router.get("/likely")
    async def likely(name: Name) -> Response:
        def make() -> dict[str, Any]:
            return {"likely": find_likely_facts(explored, name)}

        return await show("likely", make, json_url=links.to(f"{API}/likely", name=name))

    @router.get("/rules")
    async def rules(
        wanted: Wishes, inverse: bool = False, sort: SortName | None = None, descending: bool = True, page: Page = 1
    ) -> Response:
        some = replace(wanted, inverse=inverse)

        def make() -> dict[str, Any]:
            return {"rules": list_rules(explored, some, sort=sort, descending=descending, page=page)}

        more = {"sort": sort, "descending": None if descending else "false", "page": page if page > 1 else None}
        json_url = links.to(f"{API}/rules", **some.given, **more, inverse=str(inverse).lower())
        asked = {**some.given, "inverse": True} if inverse else some.given
        values = {"asked": asked, "columns": COLUMNS, "formats": list(FORMATS)}
        return await show("rules", make, here="/rules", json_url=json_url, **values)

    @router.get("/rule")
    async def rule(
        rule: Annotated[str, Query(min_length=1, max_length=3 * LONGEST_NAME)],
        seed: Annotated[int, Query(ge=0, le=2**31)] = 0,
    ) -> Response:
        def make() -> dict[str, Any]:
            return {"page": show_rule(explored, rule, seed=seed)}

        json_url = links.to(f"{API}/rule", rule=rule, seed=seed or None)
        return await show("rule", make, here="/rules", json_url=json_url)

    @router.get("/ask")
    async def ask_page(
        head: Text = "",
        relation: Text = "",
        inverse: bool = False,
        new: bool = False,
        k: Annotated[int, Query(ge=1, le=MOST_SHOWN)] = 10,
        off: Off = [],  # noqa: B006
    ) -> Response:
        form = AskForm(head, relation, inverse, new, k, tuple(off))
        asked = invert_relation_name(relation) if inverse and relation else relation

        def make() -> dict[str, Any]:
            if not head or not relation:
                return {"answers": None, "examples": _choose_examples(explored)}
            answers = ask(explored, head, asked, k=k, new=new, off=off)
            silence = "" if answers.answers else describe_silence(explored, answers.head, asked)
            return {"answers": answers, "silence": silence}

        given = {"head": head, "relation": asked, "k": k, "new": new, "off": off}
        json_url = links.to(f"{API}/answer", **given) if head and relation else None
        return await show("ask", make, here="/ask", form=form, json_url=json_url, scripts=DRAWING)

    @router.get("/explain")
    async def explain(head: Name, relation: Relation, tail: Name, off: Off = []) -> Response:  # noqa: B006
        def make() -> dict[str, Any]:
            why = explain_answer(explored, head, relation, tail, off=off)
            return {"why": why, "doubt": explain_why_not(explored, head, relation, tail)}

        json_url = links.to(f"{API}/explain", head=head, relation=relation, tail=tail, off=off)
        return await show("explain", make, here="/ask", off=off, json_url=json_url, scripts=DRAWING)

    return router


def _choose_examples(explored: Explored) -> list[tuple[str, str]]:
    """Choose queries that have an answer: the first facts of the largest relations."""
    graph, words = explored.graph, explored.graph.vocabulary
    counts = [len(graph.facts(relation)[0]) for relation in range(graph.n_relations)]
    largest = sorted(range(graph.n_relations), key=lambda relation: -counts[relation])[:EXAMPLES]
    return [
        (words.entity_name(int(graph.facts(one)[0][0])), words.relation_name(one)) for one in largest if counts[one]
    ]
