/** A double holds every whole number of so many digits. */
export const exactDigits = 15;

const powersOfTen = Array.from({ length: exactDigits + 1 }, (_, power) => Number(`1e${power}`));

const zero = 0x30;

/**
 * A number that is written with few digits and no exponent, whose fraction lies from `start` to `end`, behind a whole
 * part of `count` digits that is `whole`. Both its digits and the power of ten are exact in a double, so their quotient
 * is the double nearest to the text, as `Number` gives it, without a string to be made for it. Undefined for other
 * numbers.
 */
export function shortFraction(
  bytes: Uint8Array,
  start: number,
  end: number,
  whole: number,
  count: number,
): number | undefined {
  if (count + end - start > exactDigits) return undefined;
  let digits = whole;
  for (let at = start; at < end; at++) {
    const digit = (bytes[at] ?? 0) - zero;
    if (digit < 0 || digit > 9) return undefined;
    digits = digits * 10 + digit;
  }
  return digits / (powersOfTen[end - start] ?? Number.NaN);
}
