/** The arrows of docs/architecture.md, held from the imports themselves. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

export interface Import {
  file: string
  line: number
  /** Path in the repository that is imported, or the package's name. */
  to: string
  typeOnly: boolean
}

/** Rooms that a room's sources, and beside them its tests, may import. A path ending in a slash is that folder only. */
const doors: Readonly<Record<string, { source: readonly string[]; test: readonly string[] }>> = {
  contract: { source: [], test: [] },
  talos: { source: [], test: [] },
  conformance: { source: ['talos'], test: [] },
  backend: { source: ['contract', 'talos'], test: ['simulator'] },
  console: { source: ['contract'], test: [] },
  cli: { source: ['contract'], test: [] },
  simulator: { source: ['talos/proto/', 'talos/pki/'], test: ['talos'] },
  e2e: { source: ['contract', 'tools'], test: ['simulator'] },
  tools: { source: ['contract', 'talos', 'backend', 'simulator', 'cli', 'console', 'e2e'], test: [] },
}

/** Within the console: routes → features → ui, api, lib. */
const consoleLayers: Readonly<Record<string, readonly string[]>> = {
  lib: ['lib'],
  ui: ['ui', 'lib'],
  // Notices of calls (denied, session expired) are toasts.
  api: ['api', 'ui', 'lib'],
  // The layout's stores (modals, commands, running operations) are what features tell it.
  features: ['features', 'layout', 'ui', 'api', 'lib'],
}

export const isTest = (file: string): boolean => /\.(test|e2e)\.tsx?$|\/testing(\/|\.ts$)/.test(file)

export function sourceFiles(): string[] {
  return execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts', '*.tsx'], { encoding: 'utf8' })
    .split('\n')
    .filter((f) => f && existsSync(f))
}

function importsOf(file: string, text: string): Import[] {
  const found: Import[] = []
  const pattern = /^[ \t]*(?:import|export)\s+(type\s+)?(?:[^'"`;]*?\sfrom\s+)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm
  for (const match of text.matchAll(pattern)) {
    const specifier = match[2] ?? match[3]!
    const to = specifier.startsWith('.') ? normalize(join(dirname(file), specifier)) : specifier.replace(/^#/, '')
    found.push({ file, line: text.slice(0, match.index).split('\n').length, to, typeOnly: match[1] !== undefined })
  }
  return found
}

/** Every import that goes through no door, as a sentence with file and line. */
export function brokenDoors(files: readonly string[], read = (file: string) => readFileSync(file, 'utf8')): string[] {
  const broken: string[] = []
  for (const file of files) {
    const room = file.split('/')[0]!
    const door = doors[room]
    if (!door) continue
    for (const { line, to } of importsOf(file, read(file))) {
      const target = to.split('/')[0]!
      const say = (why: string) => broken.push(`${file}:${line} imports ${to}: ${why}`)
      if (doors[target] && target !== room) {
        const allowed = isTest(file) ? [...door.source, ...door.test] : door.source
        if (!allowed.some((a) => (a.endsWith('/') ? to.startsWith(a) : a === target))) say(`no door from ${room} to ${target}`)
      }
      if (!isTest(file) && room !== 'tools' && isTest(to)) say('a source may not import a test')
      if (room === 'console' && file.startsWith('console/src/') && to.startsWith('console/src/')) {
        const [from, into] = [file.split('/')[2]!, to.split('/')[2]!]
        const allowed = consoleLayers[from]
        if (allowed && !allowed.includes(into)) say(`${from} may import only ${allowed.join(', ')}`)
        if (from === 'features' && into === 'features' && file.split('/')[3] !== to.split('/')[3]) say('a feature may not import another feature')
      }
      if (file.startsWith('console/src/ui/') && /^@tanstack\/(react-router|react-query)/.test(to)) say('ui knows no router and no query')
    }
  }
  return broken
}
