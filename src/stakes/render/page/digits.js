// Digits: numbers as text, exactly as Python's `_text` writes them, so that the page and the printed
// report agree. Pure functions that do not touch the document.

const PAD = "\u2007"; // a space as wide as a digit, which aligns decimal points
const NOISE = 1e-12; // relative to the scale of a table: below it, a number is rounding error
const SMALLEST = 1e-60;
const LARGEST_PLAIN = 1e15; // larger numbers are written with powers of ten
const SMALLEST_PLAIN = 1e-9; // and smaller ones even in sentences

const withMinusSigns = (text) => text.replaceAll("-", "−");
const grouped = (value, places) =>
  value.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
/** The exponent of a number in scientific notation, rounded to so many decimals there. */
const powerOf = (value, places) => Number(value.toExponential(places).split("e")[1]);

/** A number to four significant digits, or as many as requested. */
function short(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (Number.isNaN(value)) return "undefined";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const rounded = Number(value.toPrecision(digits));
  const size = Math.abs(rounded);
  if (size === 0) return "0";
  if (size >= 1e4 && size < LARGEST_PLAIN) return withMinusSigns(grouped(value, 0));
  if (size >= 1e-4 && size < 1e4) return withMinusSigns(String(rounded));
  return withMinusSigns(rounded.toExponential().replace("+", ""));
}

/** A number for a sentence: as `short`, but as a decimal down to a billionth. */
function plain(value, digits = 4) {
  const rounded = Number(value.toPrecision(digits));
  const size = Math.abs(rounded);
  if (!(size >= SMALLEST_PLAIN && size < 1e-4)) return short(value, digits);
  const [factor, power] = rounded.toExponential().split("e");
  return withMinusSigns(rounded.toFixed(factor.replace(/\D/g, "").length - 1 - Number(power)));
}

/**
 * An amount too small for the decimals of the cost that it stands beside: two significant digits,
 * unless even four digits of the cost would not show it.
 */
function smallAmount(amount, cost) {
  const lastDigit = Number.isFinite(cost) && cost ? Number(`1e${powerOf(cost) - 3}`) : 0;
  return amount > 0 && amount < lastDigit ? `less than ${plain(lastDigit, 1)}` : plain(amount, 2);
}

/** All digits. */
const exact = (value) => (Number.isFinite(value) ? withMinusSigns(String(value)) : short(value));

const RELIABLE = 15; // digits that a float has to show

/** A number rounded to a power of ten; halves, which are those of its reliable digits, away from zero. */
function roundedTo(value, power) {
  const [factor, exponent] = Math.abs(value).toExponential(RELIABLE - 1).split("e");
  const units = Math.round(Number(`${factor}e${Number(exponent) - power}`));
  return Math.sign(value) * Number(`${units}e${power}`);
}

/** A number with this many decimals, zeros included; a negative number of them rounds to tens, hundreds, … */
function fixed(value, wanted) {
  if (!Number.isFinite(value) || Math.abs(value) >= LARGEST_PLAIN) return short(value);
  const places = Math.min(wanted, RELIABLE - 1 - powerOf(value, RELIABLE - 1));
  const [decimals, size] = [Math.max(places, 0), roundedTo(value, -places)];
  if (places > 6 && Math.abs(size) < 1e-4) {
    return size ? withMinusSigns(size.toExponential(places + powerOf(size))) : "0";
  }
  if (size === 0) return (0).toFixed(decimals);
  return withMinusSigns(Math.abs(size) >= 1e4 ? grouped(size, decimals) : size.toFixed(decimals));
}

// What an interval supports -----------------------------------------------------------------------

/** Decimals that show two significant digits of the half-width of an interval. */
const decimalsOf = (half) => 1 - powerOf(half, 1);

/** Decimals of a number that its interval supports; null without a finite interval. */
function supportedDecimals([value, low, high]) {
  const mayRound = !value || value < low || value > high || (low < 0 && high > 0);
  const half = Math.min((high - low) / 2, mayRound ? Infinity : 10 * Math.abs(value));
  const size = Math.max(Math.abs(low), Math.abs(high), Number.isFinite(value) ? Math.abs(value) : 0);
  const isUsable = Number.isFinite(half) && half > Math.max(NOISE * size, SMALLEST) && size < LARGEST_PLAIN;
  return isUsable ? decimalsOf(half) : null;
}

const readsAsZero = (text) => !/[^−0.,]/.test(text);

/**
 * A number and the bounds of its interval, rounded to what the interval supports; a bound that this
 * would round to zero, and so hide on which side of zero it is, keeps a digit.
 */
function measured(interval) {
  const places = supportedDecimals(interval);
  const least = 1e-9 * (interval[2] - interval[1]); // a bound that is nearer to zero may be zero
  return interval.map((value, i) => {
    const text = places === null ? short(value) : fixed(value, places);
    return i && readsAsZero(text) && Math.abs(value) > least ? plain(value, 1) : text;
  });
}

/** The same for a column of numbers, with aligned decimal points. */
function measuredColumn(intervals) {
  const decimals = intervals.map(supportedDecimals);
  const first = decimals.find((places) => places !== null);
  if (first === undefined) return intervals.map(measured);
  // rows that need one decimal more or fewer use those of the first row, so that the column is uniform
  const shownDecimals = decimals.map((places) => (places === null || Math.abs(places - first) <= 1 ? first : places));
  const widest = Math.max(0, ...shownDecimals);
  return intervals.map((interval, i) => {
    const missing = widest - Math.max(shownDecimals[i], 0);
    const missingPoint = Number(missing > 0 && shownDecimals[i] <= 0);
    return interval.map((value) => fixed(value, shownDecimals[i]) + PAD.repeat(missing + missingPoint));
  });
}

/** A number, or zero if it is rounding error beside numbers of this scale. */
const withoutNoise = (value, scale) => (Math.abs(value) <= NOISE * Math.abs(scale) ? 0 : value);

/** The bounds of an interval from their texts, or a dash if there is no interval. */
const boundsText = ([, low, high], [, lowText, highText]) =>
  Number.isFinite(low) && Number.isFinite(high) ? `${lowText} to ${highText}` : "–";
const intervalText = (interval) => (interval ? boundsText(interval, measured(interval)) : "–");

// Shares ------------------------------------------------------------------------------------------

/** A proportion, with this many significant digits of it or of its distance to one. */
function proportionText(share, digits = 3) {
  const rest = Math.min(share, 1 - share);
  if (!(rest > SMALLEST && share > 0.5)) return short(share, digits);
  const places = Math.min(digits - 1 - powerOf(rest, digits - 1), 15);
  return fixed(share, places).replace(/\.?0+$/, "");
}

/** A stated share in percent; 0 % and 100 % are written only if they are exact. */
function percent(share) {
  if (!Number.isFinite(share)) return short(share);
  if (share > 0 && share < 0.001) return "< 0.1 %";
  if (share > 0.999 && share < 1) return "> 99.9 %";
  return `${short(100 * share, 3)} %`;
}

/** An estimated share in whole percent; 0 % and 100 % are written only if they are exact. */
function wholePercent(share) {
  if (!Number.isFinite(share)) return short(share);
  if (share > 0 && share < 0.01) return "< 1 %";
  if (share > 0.99 && share < 1) return "> 99 %";
  return `${fixed(100 * share, 0)} %`;
}

/** A part of a total, with a digit more below one percent. */
const partText = (share) =>
  !(share > 0 && share < 0.0095) ? wholePercent(share) : share < 0.0005 ? "< 0.1 %" : `${fixed(100 * share, 1)} %`;

/** An estimated probability: no sample can show that it is exactly 0 or 1. */
const chanceText = (share) => wholePercent(Math.min(Math.max(share, 1e-9), 1 - 1e-9));
