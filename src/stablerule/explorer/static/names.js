// Completes names as they are typed. Every name is set as text: nothing of it becomes markup.
"use strict";
(() => {
  const WAIT = 60;
  let number = 0;

  function complete(input) {
    const list = document.createElement("ul");
    list.id = `options-${++number}`;
    list.className = "options";
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "Names");
    list.hidden = true;
    input.parentElement.append(list);
    for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-expanded", "false"], ["aria-controls", list.id]]) input.setAttribute(name, value);
    let hits = [], chosen = -1, timer = 0, asking = null;

    function close() {
      list.hidden = true;
      chosen = -1;
      input.setAttribute("aria-expanded", "false");
      input.removeAttribute("aria-activedescendant");
    }
    function mark(place) {
      chosen = place;
      [...list.querySelectorAll("[role=option]")].forEach((option, i) => {
        option.setAttribute("aria-selected", String(i === place));
        if (i === place) {
          input.setAttribute("aria-activedescendant", option.id);
          option.scrollIntoView({ block: "nearest" });
        }
      });
      if (place < 0) input.removeAttribute("aria-activedescendant");
    }
    function take(hit) {
      close();
      if ("go" in input.dataset) {
        const place = hit.kind === "entity" ? ["/entity", "name"] : ["/rules", "head_relation"];
        location.assign(`${place[0]}?${new URLSearchParams({ [place[1]]: hit.name })}`);
        return;
      }
      input.value = hit.name;
      input.dispatchEvent(new Event("change", { bubbles: true }));
    }
    function show() {
      list.replaceChildren();
      if (hits.length && hits[0].how === "similar") {
        const hint = document.createElement("li");
        hint.className = "hint";
        hint.setAttribute("role", "presentation");
        hint.textContent = "Closest names";
        list.append(hint);
      }
      hits.forEach((hit, i) => {
        const option = document.createElement("li");
        option.id = `${list.id}-${i}`;
        option.setAttribute("role", "option");
        option.setAttribute("aria-selected", "false");
        const name = document.createElement("bdi"), facts = document.createElement("span");
        name.textContent = hit.name.length > 90 ? `${hit.name.slice(0, 90)} …` : hit.name;
        name.className = hit.kind === "relation" ? "relation" : "name";
        facts.textContent = hit.facts.toLocaleString("en");
        facts.className = "quiet number small";
        option.append(name, facts);
        option.addEventListener("mousedown", (event) => { event.preventDefault(); take(hit); });
        list.append(option);
      });
      list.hidden = !hits.length;
      input.setAttribute("aria-expanded", String(Boolean(hits.length)));
      chosen = -1;
    }
    async function ask() {
      if (asking) asking.abort();
      asking = new AbortController();
      const text = input.value.slice(0, 200);
      if (!text.trim()) { hits = []; show(); return; }
      const query = new URLSearchParams({ text, most: 10 });
      if (input.dataset.complete !== "any") query.set("kind", input.dataset.complete);
      try {
        const answer = await fetch(`/api/v1/search?${query}`, { signal: asking.signal });
        hits = answer.ok ? await answer.json() : [];
        if (document.activeElement === input) show();
      } catch (error) {
        if (error.name !== "AbortError") close();
      }
    }
    input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, WAIT); });
    input.addEventListener("blur", close);
    input.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !list.hidden) { event.preventDefault(); close(); }
      else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        if (list.hidden) { ask(); return; }
        const step = event.key === "ArrowDown" ? 1 : -1;
        mark((chosen + step + hits.length) % hits.length);
      } else if (event.key === "Enter" && !list.hidden && (chosen >= 0 || ("go" in input.dataset && hits.length && hits[0].how === "exact"))) {
        event.preventDefault();
        take(hits[Math.max(chosen, 0)]);
      }
    });
  }

  function prepare() {
    for (const input of document.querySelectorAll("input[data-complete]:not([role])")) complete(input);
  }
  prepare();
  document.addEventListener("htmx:after:swap", prepare);
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      document.getElementById("search")?.focus();
    }
  });
})();
