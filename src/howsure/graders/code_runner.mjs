// The process in which one check of a dataset's own JavaScript runs: the request is on stdin, and the last line of
// stdout is what the code returned. What the code prints goes to stderr.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const given = JSON.parse(readFileSync(0, 'utf8'));
console.log = console.info = console.debug = console.error;

// One line is an expression, which may follow declarations; more lines are the body of a function.
function bodyOf(code) {
  if (code.includes('\n')) return code;
  const line = code.trim().replace(/;+$/, '');
  const end = /^(const|let|var)\s/.test(line) ? line.lastIndexOf(';') + 1 : 0;
  return `${line.slice(0, end)} return ${line.slice(end)}`;
}

async function load() {
  if (!given.file) return new Function('output', 'context', 'process', bodyOf(given.code));
  const loaded = await import(pathToFileURL(resolve(given.file)).href);
  const found = given.function ? (loaded[given.function] ?? loaded.default?.[given.function]) : loaded.default;
  return found?.default ?? found;
}

const check = await load();
const returned = await check(given.output, given.context, process);
process.stdout.write(`\n${JSON.stringify(returned ?? null)}\n`);
