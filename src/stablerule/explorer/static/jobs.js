// How far a job is, as the server says so. What it found is fetched when it is over.
"use strict";
(() => {
  function watch(place) {
    place.dataset.watched = "";
    const source = new EventSource(place.dataset.job);
    const tell = (event) => {
      const job = JSON.parse(event.data);
      const share = job.total ? Math.min(job.done / job.total, 1) : 0;
      const bar = place.querySelector("progress"), number = place.querySelector("[data-job-share]"), said = place.querySelector("[data-job-said]");
      if (bar) bar.value = share;
      if (number) number.textContent = `${Math.round(100 * share)}%`;
      if (said) said.textContent = `${job.state === "waiting" ? "Waiting for its turn" : "Working"}${job.said ? `: ${job.said.slice(0, 80)}` : ""}`;
    };
    source.addEventListener("progress", tell);
    source.addEventListener("end", () => { source.close(); location.reload(); });
    addEventListener("pagehide", () => source.close());
  }
  function prepare() {
    for (const place of document.querySelectorAll("[data-job]:not([data-watched])")) watch(place);
  }
  prepare();
  document.addEventListener("htmx:after:swap", prepare);
})();
