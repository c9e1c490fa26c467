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
 * The shortest ending of each path, in whole names, that no other of the paths has: `shard_map/reduce`; the whole path
 * if another one ends with it.
 * @param {Iterable<string|null>} paths null: no annotation
 * @param {Set<string>} annotations paths of all annotations
 * @returns {Map<string, string>} by path
 */
export function shortPathNames(paths, annotations) {
  const endings = [...new Set(paths)].flatMap((path) => (path === null ? [] : [endingsOf(path, annotations)]));
  const groups = groupBy(endings.flat(), String);
  return new Map(
    endings.map((ofPath) => {
      const path = ofPath[ofPath.length - 1];
      return [path, ofPath.find((ending) => groups.get(ending)?.length === 1) ?? path];
    }),
  );
}

/** The endings of a path in whole names, the path itself last. @param {string} path @param {Set<string>} annotations */
function endingsOf(path, annotations) {
  const endings = [];
  let outer = path;
  do {
    outer = outerPath(outer, annotations);
    endings.push(outer ? path.slice(outer.length + 1) : path);
  } while (outer);
  return endings;
}
