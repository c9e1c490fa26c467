/** Short names of annotation paths. */

import { groupBy } from './totals.js';

/**
 * The shortest ending of each path that is unique among the paths, in whole segments: `shard_map/reduce`.
 * @param {Iterable<string|null>} paths null: no annotation
 * @returns {Map<string, string>} by path
 */
export function shortPathNames(paths) {
  /** @type {Map<string, string>} */
  const names = new Map();
  let ambiguous = [...new Set(paths)].flatMap((path) => (path === null ? [] : { path, segments: path.split('/') }));
  for (let length = 1; ambiguous.length; length += 1) {
    const groups = groupBy(ambiguous, ({ segments }) => segments.slice(-length).join('/'));
    ambiguous = [];
    for (const [name, group] of groups) {
      if (group.length === 1) names.set(group[0].path, name);
      else ambiguous.push(...group);
    }
  }
  return names;
}
