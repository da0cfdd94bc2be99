import type { CallOptions } from './calls.ts'
import type { TalosClient } from './client.ts'
import { text } from './text.ts'

const tailLines = 40
/** Characters of a line; the log of an installer repeats whole requests. */
const lineLength = 300

/** The last lines of machined's log, and what in them is told of a task that fails. */
export interface Trouble {
  /** In the machine's own words; null where its newest lines tell of none. */
  readonly reason: string | null
  /** Oldest first, safe to show. */
  readonly lines: readonly string[]
}

/**
 * What the machine said last, and of a task that fails or is tried again. It stands in the log of machined, which is gone with the next restart
 * (Talos `v1alpha1_controller.go`: `task …: failed: …`; go-retry: `retrying error: …`). Throws TalosError.
 */
export async function readTrouble(client: TalosClient, options: CallOptions = {}): Promise<Trouble> {
  const parts = await Array.fromAsync(client.logs({ service: 'machined', tail: tailLines }, options))
  return troubleIn(Buffer.concat(parts).toString('utf8'))
}

export function troubleIn(log: string): Trouble {
  const lines = log.split('\n').filter((line) => line.trim() !== '')
  const found = lines.map((line) => /(?:retrying error|task [\w-]+ \(\d+\/\d+\): failed): ([^]+)/.exec(line)?.[1]).findLast((reason) => reason !== undefined)
  return { reason: found === undefined ? null : text(found.trim()), lines: lines.slice(-tailLines).map((line) => text(line.trimEnd(), lineLength)) }
}
