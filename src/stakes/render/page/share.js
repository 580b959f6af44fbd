// Sharing: the stakes in the address of the page, in downloads, and for a number of cases a year.

const REPORTED_VOLUME = DATA.volume;
if (!DATA.volume) DATA.period ||= "year"; // for the volume that a reader may state
let remembering = null;

const brackets = { "(": "[", ")": "]", "[": "(", "]": ")" };
const swapped = (text) => text.replace(/[()[\]]/g, (sign) => brackets[sign]);

/** The stakes as the fragment of an address: lists in round brackets, gaps as null. */
const fragment = () => `#stakes=${swapped(JSON.stringify([state.costs, state.prior, DATA.volume]))}`;

/** Whether a value from an address has the shape of another, with numbers where that has numbers. */
function isAlike(value, model) {
  if (!Array.isArray(model)) return Number.isNaN(model) ? value === null : Number.isFinite(value);
  return Array.isArray(value) && value.length === model.length && value.every((one, i) => isAlike(one, model[i]));
}

/** The stakes in the address, or null where there are none that fit this page. */
function stakesOf(address) {
  try {
    const found = /#stakes=([\d(),.eE+-]*(?:null[\d(),.eE+-]*)*)$/.exec(decodeURIComponent(address));
    const [costs, prior, volume] = JSON.parse(swapped(found[1]));
    const whole = isAlike(prior, REPORTED.prior) && prior.every((share) => share >= 0) && Math.abs(sum(prior) - 1) < 1e-9;
    if (!isAlike(costs, REPORTED.costs) || !whole || !(volume === null || volume > 0)) return null;
    const gaps = (value) => (value === null ? NaN : Array.isArray(value) ? value.map(gaps) : value);
    return { costs: gaps(costs), prior, volume };
  } catch {
    return null;
  }
}

/** Keep the stakes in the address, a moment after the last change: a reload and a link keep them. */
function rememberStakes() {
  clearTimeout(remembering);
  remembering = setTimeout(writeAddress, 250);
}

function writeAddress() {
  const moved = result.changed || DATA.volume !== REPORTED_VOLUME;
  if (!moved && !location.hash.startsWith("#stakes=")) return;
  history.replaceState(null, "", moved ? fragment() : location.href.split("#")[0]);
}

/** Take the stakes from the address; false where it has none. */
function readAddress() {
  const found = stakesOf(location.hash);
  if (!found) return false;
  DATA.volume = found.volume;
  setStakes({ costs: found.costs, prior: found.prior });
  return true;
}

async function copyLink() {
  writeAddress();
  const button = place("copy");
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Copied";
  } catch {
    const box = html("textarea", {}, location.href); // where the browser keeps the clipboard to itself
    document.body.append(box);
    box.select();
    button.textContent = document.execCommand("copy") ? "Copied" : "Copy it from the address bar";
    box.remove();
  }
  setTimeout(() => (button.textContent = "Copy link"), 2000);
}

/** The stakes in one line, for files that leave the page. */
function stakesLine() {
  const named = classes.map((label, k) => `${label}: ${decisions.map((name, d) => `${name} ${costToml(state.costs[k][d], k, d)}`).join(", ")}`);
  const shares = classes.map((label, k) => `${label} ${state.prior[k]}`).join(", ");
  const changed = result.changed ? "stakes changed on the page" : "stakes of the report";
  const volume = DATA.volume ? `; ${DATA.volume} cases${DATA.period ? ` per ${DATA.period}` : ""}` : "";
  return `${document.querySelector("h1").textContent}; ${changed}; costs${unit ? ` in ${unit}` : ""}: ${named.join("; ")}; prior: ${shares}${volume}; stakes ${DATA.version}`;
}

/** Rows of a download with the stakes behind each, so that no row is without them. */
const withStakes = (rows) => rows.map((row, i) => [...row, i ? stakesLine() : "stakes"]);

/** What all cases of a year cost and save, where their number is known. */
function showTotal() {
  const box = place("volume");
  if (document.activeElement !== box) box.value = DATA.volume ? boxText(DATA.volume) : "";
  if (!DATA.volume || !result.looking) return;
  const interval = savingOf(result).map((end) => DATA.volume * end);
  const [saving] = interval;
  const note = `of ${withUnit(totalText(DATA.volume * result.unaided.cost))} for ${result.unaided.name}`;
  const text = Number.isFinite(interval[1]) ? measured(interval)[0] : totalText(saving);
  place("facts").append(factOf({ name: `saved ${periodHead()[0]}`, value: saving, text, note }));
}

/** Links within the page move the view; the address keeps the stakes. */
function moveWithin(event) {
  const link = event.target.closest('a[href^="#"]');
  if (!link) return;
  event.preventDefault();
  const target = place(link.getAttribute("href").slice(1));
  target.scrollIntoView();
  target.setAttribute("tabindex", -1);
  target.focus({ preventScroll: true });
}

function buildSharing(change) {
  place("copy").addEventListener("click", copyLink);
  place("volume").addEventListener("input", () => {
    const value = place("volume").valueAsNumber;
    DATA.volume = value > 0 ? value : null;
    change({});
  });
  document.addEventListener("click", moveWithin);
  addEventListener("hashchange", () => readAddress() && showAll());
}
