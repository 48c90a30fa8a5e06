// Tables that sort and filter, commands that copy. Without it everything on the page can still be read.

function make(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// Missing values come last, whichever way a column is sorted.
function compareCells(a, b, numeric, sign) {
  if (a === "" || b === "") return (a === "") - (b === "");
  return sign * (numeric ? Number(a) - Number(b) : a.localeCompare(b, "en", { numeric: true, sensitivity: "base" }));
}

function cellValue(row, place) {
  const cell = row.cells[place];
  return cell.dataset.value ?? cell.textContent;
}

function sortBy(table, heading) {
  const ascending = heading.getAttribute("aria-sort") !== "ascending";
  const place = heading.cellIndex;
  const numeric = heading.dataset.type === "number";
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => compareCells(cellValue(a, place), cellValue(b, place), numeric, ascending ? 1 : -1));
  table.tBodies[0].append(...rows);
  for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
  heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
}

function makeSortable(table) {
  for (const heading of table.tHead.rows[0].cells) {
    const button = make("button", { type: "button" }, ...heading.childNodes);
    button.addEventListener("click", () => sortBy(table, heading));
    heading.append(button);
    heading.setAttribute("aria-sort", "none");
  }
}

function makeFilterable(block, table) {
  const rows = [...table.tBodies[0].rows];
  const count = make("output", {});
  const box = make("input", { type: "search", autocomplete: "off", spellcheck: false });
  const show = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    const all = `${rows.length} ${rows.length === 1 ? "row" : "rows"}`;
    count.value = words.length ? `${shown} of ${all}` : all;
  };
  box.addEventListener("input", show);
  const label = make("label", {}, make("span", {}, "Filter", make("span", { className: "quiet" }, ` ${table.caption.textContent}`)), box);
  block.prepend(make("div", { className: "tools" }, label, count));
  show();
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea", { value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

function makeCopyable(block) {
  const code = block.querySelector("code");
  const button = make("button", { type: "button" }, "Copy", make("span", { className: "quiet" }, " the command"));
  const said = make("span", { className: "quiet", role: "status" });
  button.addEventListener("click", async () => {
    await copyText(code.textContent);
    said.textContent = "copied";
    button.firstChild.data = "Copied";
    setTimeout(() => { button.firstChild.data = "Copy"; said.textContent = ""; }, 2000);
  });
  block.append(button, said);
}

// What is folded on the screen is open on paper.
function unfoldForPrint() {
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const details of opened) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
  });
}

for (const block of document.querySelectorAll(".table")) {
  const table = block.querySelector("table");
  makeSortable(table);
  makeFilterable(block, table);
}
for (const block of document.querySelectorAll(".command")) makeCopyable(block);
unfoldForPrint();
