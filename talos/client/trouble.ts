import type { CallOptions } from './calls.ts'
import type { TalosClient } from './client.ts'
import { text } from './text.ts'

const tailLines = 40

/**
 * What the machine said last of a task that fails or is tried again, in its own words; null where its newest lines tell of none. It stands in the log of
 * machined, which is gone with the next restart (Talos `v1alpha1_controller.go`: `task …: failed: …`; go-retry: `retrying error: …`). Throws TalosError.
 */
export async function readTrouble(client: TalosClient, options: CallOptions = {}): Promise<string | null> {
  const parts = await Array.fromAsync(client.logs({ service: 'machined', tail: tailLines }, options))
  return troubleIn(Buffer.concat(parts).toString('utf8'))
}

export function troubleIn(log: string): string | null {
  const found = log
    .split('\n')
    .map((line) => /(?:retrying error|task [\w-]+ \(\d+\/\d+\): failed): (.+)$/.exec(line)?.[1])
    .findLast((reason) => reason !== undefined)
  return found === undefined ? null : text(found.trim())
}
