/** What files export and nobody uses, read from the text of the imports. */
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { isTest } from './imports.ts'

/** Values that only tests use, and why they stand among the sources all the same. */
const forTests: ReadonlySet<string> = new Set([
  // An engine and a clock that a test holds; what they hold is private to the files beside them.
  'backend/src/engine/manual.ts manualEngine',
  'backend/src/clock.ts testClock',
  // The reading side of what is written: the escrow is opened without Steelyard (docs/open-escrow.mjs), JSON patches are compared with, never taken.
  'backend/src/vault/escrow.ts openEscrow',
  'talos/config/json-patch.ts applyJsonPatch',
])

const comments = /\/\*[\s\S]*?\*\/|(?<![:'"`])\/\/.*$/gm
const exported = /^export (?:async )?(?:const|let|function\*?|class) ([\w$]+)/gm
const imported = /\b(?:import|export)\s*(?:type\s+)?\{([^}]*)\}\s*from\s*['"]([^'"]+)['"]/g
/** `import * as x from` and `import('…')`: all of it counts as used. */
const whole = /\bimport\s*\*\s*as\s+\w+\s+from\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/g

/**
 * Functions, classes and constants that are exported and imported nowhere, or that only tests know: each as `file name`. Types are left out, since
 * one that a function's signature names is worth a name. Generated files, what tests export to each other and the tools are not looked at.
 */
export function deadExports(files: readonly string[], read = (file: string) => readFileSync(file, 'utf8')): string[] {
  const texts = new Map(files.map((file) => [file, read(file).replaceAll(comments, '')]))
  const users = new Map<string, Set<string>>()
  const wholeOf = new Set<string>()
  for (const [file, text] of texts) {
    const target = (specifier: string) => (specifier.startsWith('.') ? normalize(join(dirname(file), specifier)) : specifier.replace(/^#/, ''))
    for (const [, names = '', from = ''] of text.matchAll(imported))
      for (const name of names.split(',').map(
        (n) =>
          n
            .replace(/\btype\b/, '')
            .trim()
            .split(/\s+as\s+/)[0]!,
      )) {
        const key = `${target(from)} ${name}`
        users.set(key, (users.get(key) ?? new Set()).add(file))
      }
    for (const [, all, dynamic] of text.matchAll(whole)) wholeOf.add(target(all ?? dynamic ?? ''))
  }
  return [...texts].flatMap(([file, text]) => {
    if (/\/gen\/|^(?:e2e|tools|conformance)\//.test(file) || wholeOf.has(file) || isTest(file)) return []
    return [...text.matchAll(exported)].flatMap(([, name = '']) => {
      const key = `${file} ${name}`
      const by = [...(users.get(key) ?? [])]
      // One that only tests import is alive if its own file uses it as well.
      const atHome = [...text.matchAll(new RegExp(String.raw`(?<![\w$.])${name.replaceAll('$', String.raw`\$`)}(?![\w$])`, 'g'))].length > 1
      return by.length === 0 || (by.every(isTest) && !atHome && !forTests.has(key)) ? [key] : []
    })
  })
}
