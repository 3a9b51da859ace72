// Draws what is around an entity, and the paths behind an answer. The pages say the same in words.
"use strict";
(() => {
  const MOST = 200, LABELLED = 36;
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const short = (name, most) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);
  const visible = (name) => name.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "�");

  function style() {
    return [
      { selector: "node", style: {
        "background-color": colour("--back"), "border-color": colour("--quiet"), "border-width": 1.5, "label": "data(label)", "color": colour("--ink"),
        "font-size": 12, "font-family": colour("--sans"), "text-valign": "bottom", "text-margin-y": 4, "text-wrap": "wrap", "text-max-width": 110, "width": "data(size)", "height": "data(size)",
        "text-background-color": colour("--panel"), "text-background-opacity": 0.85, "text-background-padding": 1 } },
      { selector: "node.center", style: { "background-color": colour("--accent"), "border-color": colour("--accent"), "font-weight": 600 } },
      { selector: "node.folded", style: { "shape": "round-rectangle", "border-style": "dashed", "width": 34, "height": 20, "font-size": 11, "color": colour("--quiet") } },
      { selector: "node.boxed", style: {
        "shape": "round-rectangle", "width": "data(width)", "height": 30, "text-valign": "center", "text-margin-y": 0, "text-background-opacity": 0, "text-max-width": 150, "text-wrap": "ellipsis" } },
      { selector: "node.boxed.center", style: { "background-color": colour("--back"), "border-width": 2 } },
      { selector: "edge", style: {
        "width": 1.3, "line-color": colour("--quiet"), "target-arrow-color": colour("--quiet"), "target-arrow-shape": "triangle", "arrow-scale": 0.8, "curve-style": "bezier", "opacity": 0.25,
        "font-size": 11, "font-family": colour("--mono"), "color": colour("--quiet"), "text-background-color": colour("--panel"), "text-background-opacity": 0.9, "text-background-padding": 2 } },
      { selector: "edge.labelled, edge.near", style: { "label": "data(label)", "text-rotation": "autorotate" } },
      { selector: "edge.own, edge.near, edge.level", style: { "opacity": 0.8 } },
      { selector: "edge.level", style: { "text-rotation": "none", "label": "data(label)" } },
      { selector: "edge.first", style: { "line-color": colour("--accent"), "target-arrow-color": colour("--accent"), "width": 2.2, "opacity": 1 } },
      { selector: "edge.answer", style: { "line-style": "dashed", "line-color": colour("--accent"), "target-arrow-color": colour("--accent"), "curve-style": "unbundled-bezier", "control-point-distances": "data(bend)", "control-point-weights": 0.5, "label": "data(label)", "color": colour("--accent"), "opacity": 0.9 } },
      { selector: "node.near", style: { "border-color": colour("--accent"), "border-width": 2.5 } },
    ];
  }

  const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
  const size = (facts) => 14 + 5 * Math.log10(1 + facts);

  function around(place) {
    const said = place.parentElement.querySelector("[data-drawing-said]");
    const cy = cytoscape({ container: place, style: style(), minZoom: 0.2, maxZoom: 3, userZoomingEnabled: false });
    const grown = new Set();
    let center = "";

    function add(found, from) {
      let left = 0;
      const fresh = new Map();
      for (const one of found.entities) {
        const id = `e:${one.name}`;
        if (cy.getElementById(id).nonempty()) continue;
        if (cy.nodes().not(".folded").length >= MOST) { left += 1; continue; }
        cy.add({ group: "nodes", data: { id, name: one.name, label: short(visible(one.name), 40), size: size(one.facts), facts: one.facts } });
        fresh.set(id, "");
      }
      for (const one of found.links) {
        const id = `l:${JSON.stringify([one.head, one.relation, one.tail])}`;
        const ends = [cy.getElementById(`e:${one.head}`), cy.getElementById(`e:${one.tail}`)];
        if (cy.getElementById(id).nonempty() || ends.some((end) => end.empty())) continue;
        const own = one.head === found.center || one.tail === found.center;
        cy.add({ group: "edges", classes: own ? "own" : "", data: { id, source: `e:${one.head}`, target: `e:${one.tail}`, label: short(visible(one.relation), 28) } });
        for (const end of [one.head, one.tail]) if (own && fresh.get(`e:${end}`) === "") fresh.set(`e:${end}`, one.relation);
      }
      cy.remove(cy.nodes(".folded").filter((node) => node.data("owner") === found.center));
      for (const one of found.folded) {
        const id = `f:${JSON.stringify([found.center, one.relation])}`;
        cy.add({ group: "nodes", classes: "folded", data: { id, owner: found.center, relation: one.relation, size: 20, label: `${short(visible(one.relation), 24)}\n${one.count.toLocaleString("en")} more` } });
        fresh.set(id, one.relation.replace(/^~/, ""));
        cy.add({ group: "edges", data: { id: `${id}-`, source: `e:${found.center}`, target: id, label: "" } });
      }
      fresh.delete(`e:${found.center}`);
      cy.edges(".own").toggleClass("labelled", cy.edges(".own").length <= LABELLED);
      spread([...fresh.keys()].sort((a, b) => fresh.get(a).localeCompare(fresh.get(b))), from);
      return left;
    }
    // The center in the middle, its neighbours around it by relation; what is grown fans out, away from the center.
    function spread(ids, from) {
      const origin = from ? cy.getElementById(`e:${from}`).position() : { x: 0, y: 0 };
      const outwards = from ? Math.atan2(origin.y, origin.x) : 0;
      ids.forEach((id, i) => {
        const far = i % 2 && ids.length > 10 ? 1.35 : 1;
        if (from) {
          const wide = Math.min(Math.PI * 1.2, 0.35 * ids.length);
          const angle = outwards + (ids.length > 1 ? (i / (ids.length - 1) - 0.5) * wide : 0);
          cy.getElementById(id).position({ x: origin.x + 150 * far * Math.cos(angle), y: origin.y + 150 * far * Math.sin(angle) });
        } else {
          const angle = (2 * Math.PI * i) / ids.length - Math.PI / 2;
          const [wide, high] = place.clientWidth > place.clientHeight ? [225, 122] : [125, 165];
          cy.getElementById(id).position({ x: wide * far * Math.cos(angle), y: high * far * Math.sin(angle) });
        }
      });
      cy.fit(undefined, 24);
    }
    function say(text, name) {
      if (!said) return;
      said.replaceChildren(document.createTextNode(text));
      if (name) {
        const link = document.createElement("a");
        link.href = `/entity?${new URLSearchParams({ name })}`;
        link.textContent = `Open ${short(visible(name), 60)}`;
        said.append(" ", link);
      }
    }
    async function grow(name) {
      if (grown.has(name)) return;
      grown.add(name);
      const room = MOST - cy.nodes().not(".folded").length;
      if (room <= 0) { say(`${MOST} entities are drawn, which is the most.`, name); return; }
      const source = new URL(place.dataset.source, location.href);
      source.searchParams.set("name", name);
      if (grown.size > 1) source.searchParams.set("most", String(Math.min(room, 12)));
      const answer = await fetch(source);
      if (!answer.ok) { say("That could not be drawn."); return; }
      const found = await answer.json();
      const left = add(found, grown.size > 1 ? name : "");
      say(left ? `${left} more have no room.` : "", grown.size > 1 ? name : "");
    }
    async function begin() {
      const answer = await fetch(place.dataset.source);
      if (!answer.ok) { place.textContent = "That could not be drawn."; return; }
      const found = await answer.json();
      center = found.center;
      grown.add(center);
      add(found, "");
      cy.getElementById(`e:${center}`).addClass("center");
      if (found.entities.length < 2) say("No fact links it to another entity.");
    }
    cy.on("tap", "node", (event) => {
      const node = event.target;
      if (node.hasClass("folded")) {
        location.assign(`/entity?${new URLSearchParams({ name: node.data("owner"), relation: node.data("relation") })}`);
        return;
      }
      say("", node.data("name") === center ? "" : node.data("name"));
      grow(node.data("name"));
    });
    cy.on("mouseover", "node", (event) => event.target.closedNeighborhood().addClass("near"));
    cy.on("mouseout", "node", () => cy.elements().removeClass("near"));
    begin();
    return cy;
  }

  // Entities in columns by how far they are from the head; the tail is last.
  function paths(place) {
    const cy = cytoscape({ container: place, style: style(), minZoom: 0.2, maxZoom: 1.4, userZoomingEnabled: false, userPanningEnabled: false, autoungrabify: true });
    (async () => {
      const answer = await fetch(place.dataset.source);
      if (!answer.ok) { place.hidden = true; return; }
      const why = await answer.json();
      const column = new Map([[why.head, 0]]), links = new Map();
      const joins = (path) => [why.head, why.tail].every((end) => path.entities[0] === end || path.entities.at(-1) === end);
      const joining = why.reasons.filter((reason) => reason.groundings.some(joins));
      const told = joining.filter((reason, i) => i === 0 || reason.share >= 0.01);
      (told.length ? told : why.reasons.slice(0, 4)).forEach((reason, i) => reason.groundings.filter((path) => !told.length || joins(path)).forEach((path) => {
        const turned = path.entities[0] === why.tail && path.entities.at(-1) === why.head;
        const entities = turned ? [...path.entities].reverse() : path.entities;
        const start = entities[0] === why.tail ? null : 0;
        entities.forEach((name, step) => {
          if (name === why.tail) return;
          const at = start === null ? 1 : step;
          column.set(name, Math.max(column.get(name) ?? 0, name === why.head ? 0 : Math.max(at, 1)));
        });
        for (const fact of path.facts) {
          const key = JSON.stringify([fact.head, fact.relation, fact.tail]);
          links.set(key, { ...fact, first: (links.get(key)?.first ?? false) || i === 0 });
        }
      }));
      if (!links.size) { place.hidden = true; return; }
      const last = Math.max(...column.values()) + 1;
      column.set(why.tail, last);
      const rows = new Map();
      for (const [name, at] of column) rows.set(at, [...(rows.get(at) ?? []), name]);
      const wide = 240, high = 58;
      for (const [at, names] of rows) names.forEach((name, i) => {
        const label = short(visible(name), 22);
        cy.add({ group: "nodes", classes: `boxed${name === why.head || name === why.tail ? " center" : ""}`, data: { id: `e:${name}`, name, label, width: Math.max(44, 8 * label.length + 18), size: 30 }, position: { x: at * wide, y: (i - (names.length - 1) / 2) * high } });
      });
      for (const [key, link] of links) {
        if (!column.has(link.head)) { column.set(link.head, 1); continue; }
        if (cy.getElementById(`e:${link.head}`).empty() || cy.getElementById(`e:${link.tail}`).empty()) continue;
        cy.add({ group: "edges", classes: `level${link.first ? " first" : ""}`, data: { id: `l:${key}`, source: `e:${link.head}`, target: `e:${link.tail}`, label: short(visible(link.relation), 26) } });
      }
      const most = Math.max(...[...rows.values()].map((names) => names.length));
      place.style.height = `${Math.min(340, most * high + 84)}px`;
      cy.resize();
      const [source, target, bend] = why.relation.startsWith("~") ? [why.tail, why.head, -1] : [why.head, why.tail, 1];
      cy.add({ group: "edges", classes: "answer", data: { id: "answer", source: `e:${source}`, target: `e:${target}`, label: short(visible(why.relation.replace(/^~/, "")), 30), bend: bend * (most * high * 0.75 + 30) } });
      cy.fit(undefined, 18);
    })();
    cy.on("tap", "node", (event) => location.assign(`/entity?${new URLSearchParams({ name: event.target.data("name") })}`));
    return cy;
  }

  const drawn = new Set();
  function prepare() {
    for (const place of document.querySelectorAll("[data-drawing]:not([data-drawn])")) {
      place.dataset.drawn = "";
      drawn.add((place.dataset.drawing === "paths" ? paths : around)(place));
    }
    for (const cy of drawn) if (!cy.container()?.isConnected) { cy.destroy(); drawn.delete(cy); }
  }
  prepare();
  document.addEventListener("htmx:after:swap", prepare);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn.forEach((cy) => cy.style(style())));
  addEventListener("resize", () => drawn.forEach((cy) => { cy.resize(); cy.fit(undefined, 20); }));
})();
