// Makes the frame of a report as high as the report, so that the page scrolls and not the frame.
"use strict";
for (const frame of document.querySelectorAll("iframe[data-fit]")) {
  const fit = () => {
    const page = frame.contentDocument?.documentElement;
    if (page) frame.style.height = `${page.scrollHeight + 4}px`;
  };
  frame.addEventListener("load", () => { fit(); new ResizeObserver(fit).observe(frame.contentDocument.body); });
  if (frame.contentDocument?.readyState === "complete") fit();
}
