// Text: elements, tables, tooltips and downloads. Data enters the document as text nodes only, so
// that no label can become markup.

let turnedNames = null; // a pattern of the names that are written from right to left

/** Text in which no label turns what stands beside it: without directional marks, and with such names isolated. */
function isolated(text) {
  if (typeof text !== "string") return text;
  const plainText = text.replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "");
  return turnedNames ? plainText.replace(turnedNames, "\u2068$&\u2069") : plainText;
}

/** Set attributes and append children; null and undefined ones are left out. */
function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined && value !== false) node.setAttribute(name, isolated(value));
  }
  node.append(...children.flat(2).filter((child) => child !== null && child !== undefined).map(isolated));
  return node;
}

const SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);

/** An HTML or SVG element; strings among its children become text nodes. */
const html = (tag, attributes, ...children) =>
  fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

// Names -------------------------------------------------------------------------------------------

/** A long name shortened in the middle: related names often differ at their ends only. */
function shortened(text, length) {
  const letters = [...text]; // an emoji is one, not two halves
  if (letters.length <= length) return text;
  const tail = Math.ceil((length - 1) / 2);
  return [...letters.slice(0, length - 1 - tail), "…", ...letters.slice(letters.length - tail)].join("");
}

// Tooltips ----------------------------------------------------------------------------------------

const tip = html("div", { class: "tip", role: "status" });

/** Show a tooltip near (x, y); lines are [name, value, CSS class of the swatch]. */
function showTip(title, lines, x, y) {
  const rows = lines.map(([name, value, swatch]) =>
    html(
      "div",
      { class: "tip-row" },
      html("i", { class: `swatch ${swatch || "none"}` }),
      html("span", {}, name),
      html("b", {}, value),
    ),
  );
  tip.replaceChildren(...(title ? [html("div", { class: "tip-title" }, title)] : []), ...rows);
  tip.classList.add("on");
  const width = tip.offsetWidth;
  const left = x + 16 + width > innerWidth ? Math.max(8, x - width - 16) : x + 16;
  tip.style.left = `${left}px`;
  tip.style.top = `${Math.max(8, Math.min(y + 14, innerHeight - tip.offsetHeight - 8))}px`;
}

const hideTip = () => tip.classList.remove("on");

/** Give a node a tooltip, shown while the pointer is over it or the keyboard focus on it. */
function withTip(node, title, lines) {
  const show = (event) => showTip(title, lines, event.clientX, event.clientY);
  // An SVG element that listens for focus would become a tab stop without a name.
  if (node.tagName === "svg" || !(node instanceof SVGElement)) {
    node.addEventListener("focus", () => {
      const box = node.getBoundingClientRect();
      showTip(title, lines, box.left, box.bottom - 8);
    });
    node.addEventListener("blur", hideTip);
  }
  node.classList.add("has-tip");
  node.addEventListener("pointermove", show);
  node.addEventListener("pointerdown", show);
  node.addEventListener("pointerleave", hideTip);
  return node;
}

// Tables ------------------------------------------------------------------------------------------

const LONGEST_CELL = 60; // characters of a cell; the full text is in its title
/** A heading that may take several lines is wide enough for two of them. */
const headLook = ({ length }) => (length > 24 ? "longer" : length > 12 ? "long" : null);
const ARROW_STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/** One tab stop for a whole table: the arrow keys move from number to number. */
function withArrowKeys(table) {
  const focusableRows = () =>
    [...table.querySelectorAll("tr")].map((row) => [...row.querySelectorAll(".has-tip")]).filter((row) => row.length);
  focusableRows().flat().forEach((node, i) => node.setAttribute("tabindex", i ? -1 : 0));
  table.addEventListener("keydown", (event) => {
    const shown = focusableRows().filter(([first]) => first.checkVisibility());
    const y = shown.findIndex((row) => row.includes(event.target));
    const step = ARROW_STEPS[event.key];
    if (!step || y < 0) return;
    event.preventDefault();
    const row = shown[clamped(y + step[0], [0, shown.length - 1])];
    const next = row[clamped(shown[y].indexOf(event.target) + step[1], [0, row.length - 1])];
    event.target.setAttribute("tabindex", -1);
    next.setAttribute("tabindex", 0);
    next.focus();
  });
  return table;
}

/**
 * A table. Rows are {look, cells}, where `look` is a CSS class; a cell is text, a node, or
 * {text, title, lines, look}, with `lines` for a tooltip. Groups {title, rows} follow the rows.
 */
function tableOf(head, rows, groups = []) {
  const heads = head.map((label) => label?.text ?? (label instanceof Node ? label.textContent : label));
  const cell = (tag, scope) => (content, column) => {
    const hasOptions = content !== null && typeof content === "object" && !(content instanceof Node);
    const { text, title = "", lines = null, look = null } = hasOptions ? content : { text: content ?? "" };
    const isLong = typeof text === "string" && text.length > LONGEST_CELL;
    const isRowName = typeof text === "string" && scope === "row"; // the style sheet may truncate it
    const longHead = scope === "col" ? headLook(heads[column]) : null;
    const node = html(
      tag,
      {
        class: [look, longHead].filter(Boolean).join(" ") || null,
        scope,
        title: isLong || isRowName ? text : null,
        "data-head": scope ? null : heads[column + 1] || null, // on a phone, cells are stacked and show it
      },
      isLong ? shortened(text, LONGEST_CELL) : text,
    );
    return lines ? withTip(node, title, lines) : node;
  };
  const line = ({ look = null, cells }) =>
    html("tr", { class: look }, cell("th", "row")(cells[0]), cells.slice(1).map(cell("td", null)));
  const group = ({ title, rows: groupRows }) =>
    html(
      "tbody",
      { class: "apart" },
      html("tr", {}, html("th", { scope: "rowgroup", colspan: head.length }, title)),
      groupRows.map(line),
    );
  return withArrowKeys(
    html(
      "table",
      {},
      headOf(head.map((label, column) => (label === "" ? html("td", {}) : cell("th", "col")(label, column)))),
      html("tbody", {}, rows.map(line)),
      groups.filter((section) => section.rows.length).map(group),
    ),
  );
}

const headOf = (cells) => html("thead", {}, html("tr", {}, cells));

/** A cell with a rounded number, whose tooltip has all digits. */
const numberCell = (value, look = null, text = short(value), formatExact = exact) => ({
  text,
  title: formatExact(value),
  lines: [],
  look,
});
/** A cell that is aligned as text, not as a number. */
const textCell = (text) => ({ text, look: "words" });
const UNKNOWN_CELL = { text: "–", look: "unknown" };
/** Whether something is clear, in a word; empty if that is not known. */
const yesOrNo = (clear) => ({ true: "yes", false: "no" })[clear] ?? "";
/** A name behind the colour of its line in the charts. */
const nameWithSwatch = (name, look, ...notes) =>
  html(
    "span",
    { class: "name", title: name },
    html("i", { class: `swatch ${look}` }),
    html("span", {}, shortened(name, LONGEST_CELL)),
    notes,
  );

// Downloads ---------------------------------------------------------------------------------------

/** Offer a text as a file. */
function download(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  html("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** A cell of a CSV file, with all digits; text that a spreadsheet would run as a formula is quoted. */
function csvCell(cell) {
  if (typeof cell === "number") return { NaN: "nan", Infinity: "inf", "-Infinity": "-inf" }[cell] ?? String(cell);
  const text = cell === null || cell === undefined ? "" : String(cell);
  const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

/** Offer rows as a CSV file. */
function downloadCsv(name, rows) {
  const lines = rows.map((row) => row.map(csvCell).join(","));
  download(`${name}.csv`, `${lines.join("\r\n")}\r\n`, "text/csv");
}

const STYLES = [
  ...["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity"],
  ...["font-size", "font-weight", "font-family", "paint-order", "opacity"],
];

const FOOTNOTE = { size: 9, line: 12 }; // pixels

/** Write a text below a drawing, in as many lines as it needs. */
function writeBelow(picture, text) {
  const [, , width, height] = picture.getAttribute("viewBox").split(" ").map(Number);
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = `${lines[lines.length - 1]} ${word}`.trim();
    if (widthOf(longer, FOOTNOTE) <= width - 8) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  const style = getComputedStyle(document.body);
  const look = { "font-size": FOOTNOTE.size, "font-family": style.fontFamily, fill: style.color, opacity: 0.8 };
  lines.forEach((line, i) => picture.append(svg("text", { x: 4, y: height + (i + 1) * FOOTNOTE.line, ...look }, line)));
  const full = height + lines.length * FOOTNOTE.line + 6;
  fill(picture, { width, height: full, viewBox: `0 0 ${width} ${full}` }, []);
}

/** Download a drawing with its computed styles inline: elsewhere it has no style sheet. */
function downloadSvg(name, picture) {
  const copy = picture.cloneNode(true);
  const copiedNodes = [copy, ...copy.querySelectorAll("*")];
  [picture, ...picture.querySelectorAll("*")].forEach((node, i) => {
    const style = getComputedStyle(node);
    STYLES.forEach((property) =>
      copiedNodes[i].setAttribute(property, style.getPropertyValue(property)),
    );
  });
  copy.querySelectorAll(".hair").forEach((node) => node.remove());
  const background = getComputedStyle(document.documentElement).getPropertyValue("--card").trim();
  writeBelow(copy, stakesLine(name));
  copy.prepend(svg("desc", {}, stakesLine(name)), svg("rect", { width: "100%", height: "100%", fill: background }));
  download(`${name}.svg`, new XMLSerializer().serializeToString(copy), "image/svg+xml");
}
