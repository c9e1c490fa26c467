/** Makes `frontend/packed/` of the page in `frontend/`: `npm run pack`.
 *
 * With Rolldown, because it puts all that the first view takes into one script: the first load is 25 kB with Brotli in
 * 2
 * requests. With esbuild it is 28 kB in 7, and one round trip more, because what scripts share gets scripts of its own.
 */

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';

const PAGE = join(import.meta.dirname, 'frontend');
const PACKED = join(PAGE, 'packed');

/** Of the page's own files, as `page/packed.py` takes it to see whether what is packed is of them. */
function digestOfSources() {
  const names = readdirSync(PAGE, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll('\\', '/'));
  const digest = createHash('sha256');
  for (const name of names.filter((file) => /\.(js|css)$/.test(file) && !/^packed\/|(^|\/)\./.test(file)).sort()) {
    const content = readFileSync(join(PAGE, name));
    digest.update(`${name}\0${content.length}\0`).update(content);
  }
  return digest.digest('hex');
}

/**
 * The entry with all that is shared, and a chunk per view, named as its folder. Their maps lead to the modules beside
 * them.
 */
async function scripts() {
  const bundle = await rolldown({ input: join(PAGE, 'index.js'), preserveEntrySignatures: 'allow-extension' });
  const { output } = await bundle.generate({
    dir: PACKED, minify: true, sourcemap: true, sourcemapExcludeSources: true,
    chunkFileNames: ({ facadeModuleId, name }) => `${facadeModuleId ? basename(dirname(facadeModuleId)) : name}.js`,
  });
  // What is sent is the project's own, and no notice of somebody else's licence is due.
  const rest = output
    .flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))
    .filter((id) => !id.startsWith(PAGE));
  if (rest.length) throw new Error(`what is packed is not of ${PAGE} alone: ${rest.join(', ')}`);
  return output.map((file) => [file.fileName, file.type === 'chunk' ? file.code : file.source]);
}

/** A style sheet with those that it imports. */
function sheet(name) {
  return readFileSync(join(PAGE, name), 'utf8').replace(/^@import '\.\/(.+)';$/gm, (_, imported) => sheet(imported));
}

/** In one step, because a server may be reading it. */
function write(name, content) {
  const half = join(PACKED, `.${name}.${process.pid}`);
  writeFileSync(half, content);
  renameSync(half, join(PACKED, name));
}

const digest = digestOfSources();
const files = [...await scripts(), ['index.css', sheet('index.css')]];
mkdirSync(PACKED, { recursive: true });
const written = files.flatMap(([name, text]) => {
  // Maps are for who looks into the page, through gzip as everybody takes it.
  const encodings = name.endsWith('.map') ? { gzip: gzipSync } : { gzip: gzipSync, br: brotliCompressSync };
  return Object.entries(encodings).map(([encoding, compress]) => {
    write(`${name}.${encoding}`, compress(text, { level: 9 }));
    return `${name}.${encoding}`;
  });
});
for (const name of readdirSync(PACKED)) {
  if (!name.startsWith('.') && !written.includes(name)) rmSync(join(PACKED, name), { force: true });
}
write('sources.sha256', digest);
