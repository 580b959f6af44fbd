// Sharing: the stakes in the address of the page and in downloads, and totals for a number of cases.

const REPORTED_VOLUME = DATA.volume;
if (!DATA.volume) DATA.period ||= "year"; // of a volume that the reader may enter
let addressTimer = null;
const firstReading = () => (CAN_DECIDE_ANEW ? "anew" : "kept");

// Many programs encode square brackets in a link or end the link there; round ones survive.
const brackets = { "(": "[", ")": "]", "[": "(", "]": ")" };
const withBracketsSwapped = (text) => text.replace(/[()[\]]/g, (sign) => brackets[sign]);

/** What else the reader chose: the second reading as 1, the place of the explored scores, and the cuts. */
const choices = () => [Number(reading !== firstReading()), pickedTable, movedCuts];
const NO_CHOICE = JSON.stringify([0, null, null]);
const hasChoices = () => JSON.stringify(choices()) !== NO_CHOICE;

/** The stakes as the fragment of an address: JSON with round brackets; NaN becomes null. */
function stakesFragment() {
  const parts = [state.costs, state.prior, DATA.volume, ...(hasChoices() ? choices() : [])];
  return `#stakes=${withBracketsSwapped(JSON.stringify(parts))}`;
}

/** Whether a parsed value has the shape of another, with finite numbers in the same places. */
function hasShapeOf(value, shape) {
  if (!Array.isArray(shape)) return Number.isNaN(shape) ? value === null : Number.isFinite(value);
  return Array.isArray(value) && value.length === shape.length && value.every((part, i) => hasShapeOf(part, shape[i]));
}

/** The stakes in an address, or null if it has none that fit this page. */
function stakesOf(address) {
  try {
    const match = /#stakes=([\d(),.eE+-]*(?:null[\d(),.eE+-]*)*)$/.exec(decodeURIComponent(address));
    const [costs, prior, volume, ...chosen] = JSON.parse(withBracketsSwapped(match[1]));
    const isPrior = hasShapeOf(prior, REPORTED.prior) && prior.every((share) => share >= 0) && Math.abs(sum(prior) - 1) < 1e-9;
    if (!hasShapeOf(costs, REPORTED.costs) || !isPrior || !(volume === null || volume > 0)) return null;
    const nullToNaN = (value) => (value === null ? NaN : Array.isArray(value) ? value.map(nullToNaN) : value);
    return { costs: nullToNaN(costs), prior, volume, chosen };
  } catch {
    return null; // links are cut or edited on their way
  }
}

/** Write the stakes into the address soon after the last change, so that a reload keeps them. */
function rememberStakes() {
  clearTimeout(addressTimer);
  addressTimer = setTimeout(writeAddress, 250);
}

/** Write changed stakes into the address, or remove them from it. */
function writeAddress() {
  const differs = result.changed || DATA.volume !== REPORTED_VOLUME || hasChoices();
  if (!differs && !location.hash.startsWith("#stakes=")) return;
  history.replaceState(null, "", differs ? stakesFragment() : location.href.split("#")[0]);
}

/** Set the stakes from the address; false if it has none. */
function readAddress() {
  const stakes = stakesOf(location.hash);
  if (!stakes) return false;
  DATA.volume = stakes.volume;
  setChoices(stakes.chosen);
  if (byId("controls")) setStakes({ costs: stakes.costs, prior: stakes.prior }); // the stakes of other pages stay
  return true;
}

/** Take over the reading, the explored scores and the cuts of an address, if they fit this page. */
function setChoices([second = 0, table = null, cuts = null]) {
  pickedTable = EXPLORABLE[table] ? table : null;
  const isCut = (cut) => cut === null || Number.isFinite(cut);
  movedCuts = Array.isArray(cuts) && cuts.every(isCut) ? cuts.map((cut) => cut ?? -Infinity) : null;
  if (byId("explorer-pick")) byId("explorer-pick").value = pickedTable ?? "";
  for (const input of document.querySelectorAll("[name=reading]")) {
    input.checked = input.value === (second && firstReading() === "anew" ? "kept" : firstReading());
    if (input.checked) reading = input.value;
  }
}

/** Copy the address with the stakes to the clipboard. */
async function copyLink() {
  writeAddress();
  const button = byId("copy");
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Copied";
  } catch {
    // pages opened from disk may not write to the clipboard, but may copy a selection
    const box = html("textarea", {}, location.href);
    document.body.append(box);
    box.select();
    button.textContent = document.execCommand("copy") ? "Copied" : "Copy it from the address bar";
    box.remove();
  }
  setTimeout(() => (button.textContent = "Copy link"), 2000);
}

const AS_REPORTED = ["quality", "slices", ...(BINNED_CLASSES ? ["reliability"] : [])]; // that table, of all models
/** Whether a download is as it was reported, whatever the sliders say; so are all tables of plain text. */
const isAsReported = (name) => AS_REPORTED.includes(name) || !(name in saved || byId(name));

/** The stakes under which a download was made, in parts. */
function stakesParts(name) {
  const asReported = isAsReported(name);
  const { costs, prior } = asReported ? REPORTED : state;
  const volume = asReported ? REPORTED_VOLUME : DATA.volume;
  const ofClass = (label, k) => `${label}: ${decisions.map((decision, d) => `${decision} ${costToml(costs[k][d], k, d)}`).join(", ")}`;
  return [
    document.querySelector("h1").textContent,
    result.changed && !asReported ? "stakes changed on the page" : "stakes of the report",
    `costs${unit ? ` in ${unit}` : ""}: ${classes.map(ofClass).join("; ")}`,
    `prior: ${classes.map((label, k) => `${label} ${prior[k]}`).join(", ")}`,
    ...(DATA.limits.length ? [`limits: ${DATA.limits.map(({ text }) => text).join("; ")}`] : []),
    ...(volume ? [`${volume} cases${DATA.period ? ` per ${DATA.period}` : ""}`] : []),
    `stakes ${DATA.version}`,
  ];
}

const stakesLine = (name) => stakesParts(name).join("; ");

/** Rows of a download with the stakes as the last column, so that every row carries them. */
const withStakes = (name, rows) => rows.map((row, i) => [...row, i ? stakesLine(name) : "stakes"]);

/** Total saving over all cases of a period, if their number is known. */
function showTotal() {
  const box = byId("volume");
  if (document.activeElement !== box) box.value = DATA.volume ? fieldText(DATA.volume) : "";
  if (!DATA.volume || !result.namesModel || !result.unaided.name) return;
  const interval = savingOf(result).map((value) => DATA.volume * value);
  const [saving] = interval;
  const hasBounds = Number.isFinite(interval[1]);
  const text = hasBounds ? measured(interval)[0] : totalText(saving);
  const note = noteOf(interval);
  byId("facts").append(factNode({ name: inUnit(`saved ${periodHead()[0]}`), value: saving, text, note }));
}

/** Follow a link within the page without replacing the stakes in the address. */
function followInnerLink(event) {
  const link = event.target.closest('a[href^="#"]');
  if (!link) return;
  event.preventDefault();
  const target = byId(link.getAttribute("href").slice(1));
  target.scrollIntoView();
  target.setAttribute("tabindex", -1);
  target.focus({ preventScroll: true });
}

/** Connect the copy button, the number of cases and links within the page. */
function buildSharing(change) {
  byId("copy").addEventListener("click", copyLink);
  byId("volume").addEventListener("input", () => {
    const value = byId("volume").valueAsNumber;
    DATA.volume = value > 0 ? value : null;
    change({});
  });
  byId("readings")?.addEventListener("change", rememberStakes);
  document.addEventListener("click", followInnerLink);
  addEventListener("hashchange", () => readAddress() && showAll());
}
