// Paper: what a printed page draws and leaves out unlike the screen.

let onPaper = false; // whether the page is being printed
const SHEET = 690; // pixels of the width of a narrow sheet
const PRINTED = { width: 840, gap: 34, height: 175 }; // charts are drawn larger and shrink to the sheet, and so does their text
const LEGIBLE = 0.7; // a table that would have to shrink more is not printed: its text would be below five points

/** Width on paper of what an element holds. */
const widthOnPaper = (host) => (host.closest(".charts") ? (PRINTED.width - PRINTED.gap) / 2 : PRINTED.width);

/** Draw everything for paper while the page is printed, and for the screen again afterwards. */
function listenToPrinting(draw) {
  addEventListener("beforeprint", () => {
    setPaper(true);
    draw();
    finishPieces();
    fitPaper();
  });
  addEventListener("afterprint", () => {
    setPaper(false);
    document.querySelectorAll(".too-wide").forEach((note) => note.remove());
    draw();
  });
}

function setPaper(printing) {
  onPaper = printing;
  document.documentElement.classList.toggle("paper", printing); // the font size of paper: what is measured now is what is printed
}

/** Shrink wide tables to the width of paper, so that no column is cut off; leave out what nobody could read. */
function fitPaper() {
  for (const table of document.querySelectorAll(".scroll > table")) {
    table.style.minWidth = 0; // its natural width
    const zoom = Math.min(1, SHEET / table.scrollWidth);
    table.style.minWidth = "";
    table.style.setProperty("--shrink", zoom.toFixed(3));
    table.parentNode.classList.toggle("off-paper", zoom < LEGIBLE);
    if (zoom < LEGIBLE) table.parentNode.after(html("p", { class: "hint on-paper too-wide" }, tooWide(table)));
  }
}

const tooWide = (table) =>
  `${table.rows[0].cells.length} columns are more than a sheet can hold: this table is on the page${table.closest("section")?.querySelector("[data-csv]") ? " and in its CSV" : ""}.`;
