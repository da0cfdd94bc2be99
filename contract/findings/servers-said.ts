/** What stands beside the word of a cluster: how many of its servers are not well. Pure. */
import { counted } from '../words.ts'
import type { Said, ServersSaid } from './findings.ts'

/** What "1 of 4 servers" is, for words that don't read well behind it. */
const predicates: Readonly<Record<string, string>> = {
  'Node NotReady': 'not Ready',
  'In doubt': 'in doubt',
  'Disk missing': 'without a disk',
  'etcd failed': 'without etcd',
}
const predicate = (word: string): string => predicates[word] ?? word.toLowerCase()

/**
 * The servers of a cluster that are not well, which stand beside its word: "1 of 4 servers failed",
 * "3 of 7 servers not well: 2 unreachable, 1 failed". Null if all are well.
 */
export function serversSaid(
  words: ServersSaid | undefined,
  total: number,
): (Pick<Said, 'severity'> & { text: string; count: number; of: string }) | null {
  if (words === undefined || words.length === 0) return null
  const count = words.reduce((n, one) => n + one.count, 0)
  const all = counted(Math.max(total, count), 'server')
  const [first] = words
  const of =
    words.length === 1
      ? `of ${all} ${predicate(first!.word)}`
      : `of ${all} not well: ${words.map((one) => `${one.count} ${predicate(one.word)}`).join(', ')}`
  return { severity: first!.severity, count, of, text: `${count} ${of}` }
}
