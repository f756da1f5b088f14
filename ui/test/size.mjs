// What a first visit loads before the board shows: the scripts the page names,
// and everything those import statically. Fails above the budget.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

const budget = 200 * 1024
const dist = new URL('../dist/', import.meta.url).pathname
const page = readFileSync(join(dist, 'index.html'), 'utf8')
const seen = new Map()

function add(path) {
  if (seen.has(path)) return
  const text = readFileSync(join(dist, path), 'utf8')
  seen.set(path, gzipSync(text).length)
  for (const [, name] of text.matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g))
    add(`assets/${name}`)
}

for (const [, path] of page.matchAll(/"\/(assets\/[^"]+\.js)"/g)) add(path)
const total = [...seen.values()].reduce((sum, size) => sum + size, 0)
console.log(
  `initial scripts: ${seen.size} files, ${(total / 1024).toFixed(1)} kB gz of ${budget / 1024}`,
)
if (seen.size === 0 || total > budget) process.exit(1)
