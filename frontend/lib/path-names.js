/** Names of annotation paths. As names may contain slashes, not every beginning of a path is a path. */

import { groupBy } from './totals.js';

/**
 * The longest of some paths that encloses a path; empty without one.
 * @param {string} path
 * @param {Set<string>} paths
 */
export function outerPath(path, paths) {
  let outer = path;
  do outer = outer.slice(0, Math.max(0, outer.lastIndexOf('/')));
  while (outer && !paths.has(outer));
  return outer;
}

/**
 * The last name of a path: the path without the longest of some paths that encloses it.
 * @param {string} path
 * @param {Set<string>} paths
 */
export function ownName(path, paths) {
  const outer = outerPath(path, paths);
  return outer ? path.slice(outer.length + 1) : path;
}

/**
 * The shortest ending of each path that is unique among the paths, in whole names: `shard_map/reduce`.
 * @param {Iterable<string|null>} paths null: no annotation
 * @param {Set<string>} annotations paths of all annotations
 * @returns {Map<string, string>} by path
 */
export function shortPathNames(paths, annotations) {
  /** @type {Map<string, string>} */
  const names = new Map();
  let ambiguous = [...new Set(paths)].flatMap((path) =>
    path === null ? [] : { path, outer: outerPath(path, annotations) },
  );
  while (ambiguous.length) {
    const groups = groupBy(ambiguous, ({ path, outer }) => (outer ? path.slice(outer.length + 1) : path));
    ambiguous = [];
    for (const [name, group] of groups) {
      if (group.length === 1) names.set(group[0].path, name);
      else ambiguous.push(...group.map(({ path, outer }) => ({ path, outer: outerPath(outer, annotations) })));
    }
  }
  return names;
}
