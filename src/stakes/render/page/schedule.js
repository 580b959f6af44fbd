// Schedule: in which order the parts of the page are updated, and long work in pieces.

// Parts in view are updated first -----------------------------------------------------------------

let waiting = []; // parts that are still to be updated after a change
let pause = null; // timer of the next update
const QUIET = 80; // milliseconds without a change before parts out of view are updated

/** Whether a part of the page is in view or just outside it. */
function isInView(id) {
  const node = byId(id);
  const box = node.getBoundingClientRect();
  return node.checkVisibility() && box.bottom > -100 && box.top < innerHeight + 100;
}

const ALWAYS_SHOWN = 4; // parts that are always updated at once: inputs, verdict, facts, and whether flips are known

/**
 * Update what is in view now, and the rest one part at a time once the stakes no longer change. All
 * positions are read before anything is written, so that the browser lays the page out once.
 */
function showSoon(parts) {
  const now = new Set(parts.filter(([id], i) => i < ALWAYS_SHOWN || isInView(id)));
  keepHeights();
  now.forEach(([, show]) => show());
  waiting = parts.filter((part) => !now.has(part));
  clearTimeout(pause);
  pause = setTimeout(showNext, QUIET);
}

/** Update the next waiting part, and schedule the one after it. */
function showNext() {
  waiting.shift()?.[1]();
  if (waiting.length) pause = setTimeout(showNext);
}

/** Update immediately whatever is still waiting. */
function finishShowing() {
  waiting.splice(0).forEach(([, show]) => show());
}

// Work in pieces, so that the page stays responsive -----------------------------------------------

let currentRun = 0;
let finished = Promise.resolve();
let finishPieces = () => {}; // does the remaining work synchronously

const PRINT_DEADLINE = 4000; // milliseconds that printing waits for the search

/** Run a piece of work, a function or one step of a generator; true once it is complete. */
function runPiece(piece) {
  if (typeof piece !== "function") return piece.next().done;
  piece();
  return true;
}

/** Run work piece by piece; a new run, started when the stakes change, replaces it. */
function runInPieces(pieces, done) {
  currentRun += 1;
  const thisRun = currentRun;
  finished = new Promise((resolve) => {
    finishPieces = () => {
      const start = performance.now();
      while (thisRun === currentRun && pieces.length && performance.now() - start < PRINT_DEADLINE)
        if (runPiece(pieces[0])) pieces.shift();
    };
    const next = () => {
      if (thisRun !== currentRun) return resolve(false);
      const start = performance.now();
      while (pieces.length && performance.now() - start < 8) if (runPiece(pieces[0])) pieces.shift();
      if (pieces.length) return setTimeout(next);
      done();
      return resolve(true);
    };
    setTimeout(next, QUIET);
  });
}
