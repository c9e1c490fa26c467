/** A treemap: rectangles whose areas are values, as square as possible. */

/** @typedef {{x: number, y: number, width: number, height: number}} Rectangle */

/**
 * Divides a rectangle among values (Bruls, Huizing and van Wijk, Squarified Treemaps, 2000): rows along the shorter
 * side, each as long as that makes its rectangles more square.
 * @param {number[]} values positive, the largest first
 * @param {Rectangle} whole
 * @returns {Rectangle[]} in the order of the values
 */
export function squarify(values, whole) {
  /** @type {Rectangle[]} */
  const result = [];
  let free = { ...whole };
  let rest = values.reduce((sum, value) => sum + value, 0);
  for (let first = 0; first < values.length;) {
    const [long, short] = [Math.max(free.width, free.height), Math.min(free.width, free.height)];
    /** The long side over the short one of a value in a row. @param {number} sum of the row @param {number} value */
    const flatness = (sum, value) => {
      const depth = (sum / rest) * long;
      const length = (value / sum) * short;
      return Math.max(depth / length, length / depth);
    };
    let end = first + 1;
    let sum = values[first];
    for (; end < values.length; end += 1) {
      const longer = sum + values[end];
      const worst = Math.max(flatness(sum, values[first]), flatness(sum, values[end - 1]));
      if (Math.max(flatness(longer, values[first]), flatness(longer, values[end])) > worst) break;
      sum = longer;
    }
    const isColumn = free.width >= free.height;
    const depth = (sum / rest) * long;
    let at = 0;
    for (const value of values.slice(first, end)) {
      const length = (value / sum) * short;
      result.push(isColumn
        ? { x: free.x, y: free.y + at, width: depth, height: length }
        : { x: free.x + at, y: free.y, width: length, height: depth });
      at += length;
    }
    free = isColumn
      ? { ...free, x: free.x + depth, width: free.width - depth }
      : { ...free, y: free.y + depth, height: free.height - depth };
    rest -= sum;
    first = end;
  }
  return result;
}
