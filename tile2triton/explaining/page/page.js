"use strict";
// Lines that name a statement in `data-s` belong together.
for (const section of document.querySelectorAll("section.kernel")) {
  const byStatement = new Map();
  for (const line of section.querySelectorAll("[data-s]")) {
    for (const statement of line.dataset.s.split(" ")) {
      if (!byStatement.has(statement)) byStatement.set(statement, []);
      byStatement.get(statement).push(line);
    }
  }
  const panes = [...section.querySelectorAll(".pane")];
  const status = section.querySelector(".related");
  let marked = [];
  let kept = null;

  const clear = () => {
    for (const line of marked) line.classList.remove("lit", "here");
    marked = [];
    status.textContent = "\u00a0";
  };

  const related = (line) =>
    new Set(line.dataset.s.split(" ").flatMap((statement) => byStatement.get(statement)));

  const mark = (line) => {
    clear();
    marked = [...related(line)];
    for (const other of marked) other.classList.add("lit");
    line.classList.add("here");
    status.textContent = panes
      .map((pane) => [pane, marked.filter((other) => pane.contains(other))])
      .filter(([, lines]) => lines.length)
      .map(([pane, lines]) => {
        const numbers = lines.slice(0, 4).map((other) => other.dataset.n).join(", ");
        const more = lines.length > 4 ? ` and ${lines.length - 4} more` : "";
        return `${pane.querySelector("h4").textContent}: ${numbers}${more}`;
      })
      .join(" · ");
  };

  const showOthers = (line) => {
    for (const pane of panes) {
      if (pane.contains(line)) continue;
      const other = marked.find((one) => pane.contains(one));
      const text = pane.querySelector(".text");
      if (!other || !text) continue;
      // What was never in view has an estimated place: the second time it is exact.
      for (let turn = 0; turn < 2; turn++) {
        const off = other.getBoundingClientRect().top - text.getBoundingClientRect().top;
        text.scrollTop += off - text.clientHeight / 3;
      }
    }
  };

  const keep = (line) => {
    kept = line;
    mark(line);
    showOthers(line);
  };

  const lineOf = (event) =>
    event.target instanceof Element ? event.target.closest("[data-s]") : null;

  section.addEventListener("mouseover", (event) => {
    const line = lineOf(event);
    if (line && !kept) mark(line);
  });
  section.addEventListener("mouseout", (event) => {
    if (lineOf(event) && !kept) clear();
  });
  section.addEventListener("click", (event) => {
    const line = lineOf(event);
    if (line && !window.getSelection().toString()) keep(line);
  });
  section.addEventListener("keydown", (event) => {
    const text = event.target instanceof Element ? event.target.closest(".text") : null;
    if (!text || event.ctrlKey || event.altKey || event.metaKey) return;
    const current = lineOf(event);
    if (event.key === "Escape") {
      kept = null;
      clear();
    } else if (event.key === "Enter" && current) {
      keep(current);
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const lines = [...text.querySelectorAll("[data-s]")];
      const step = event.key === "ArrowDown" ? 1 : -1;
      const next = lines[current ? lines.indexOf(current) + step : 0];
      if (!next) return;
      next.tabIndex = -1;
      next.focus();
      kept = null;
      mark(next);
    }
  });
  for (const help of section.querySelectorAll(".help")) help.hidden = false;
}
