import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useMemo } from 'react'
import { type Bmc, bmcGet } from '#contract/bmcs/bmcs.ts'
import type { PowerState } from '#contract/bmcs/state.ts'
import type { ListedServer } from '#contract/servers/servers.ts'
import { query } from '../../api/query.ts'
import { useCommands } from '../../layout/search/commands.ts'
import { ago, exact } from '../../lib/time/time.ts'
import { useNow } from '../../lib/time/use-now.ts'
import type { Action } from '../../ui/actions.ts'
import { StatusDot, type Tone } from '../../ui/feedback/Status.tsx'
import { powerActions } from './power-actions.ts'

const states: Readonly<Record<PowerState, { tone: Tone; word: string }>> = {
  on: { tone: 'ok', word: 'On' },
  off: { tone: 'off', word: 'Off' },
  turning_on: { tone: 'busy', word: 'Turning on' },
  turning_off: { tone: 'busy', word: 'Turning off' },
  unknown: { tone: 'warn', word: 'Power unknown' },
}

const bmcOf = (id: string) => query(bmcGet, { params: { id } })

export interface PowerOfServer {
  readonly chip: ReactNode
  readonly actions: readonly Action[]
}

/**
 * What the BMC of a server says of its power, and what can be done with it. Null for a server
 * without a BMC, and until the BMC is read.
 */
export function usePower(server: ListedServer): PowerOfServer | null {
  const id = server.power?.bmc_id
  const { data: bmc } = useQuery({ ...bmcOf(id ?? ''), enabled: id !== undefined })
  const actions = useMemo(() => (bmc === undefined ? [] : powerActions(server, bmc)), [server, bmc])
  useCommands(`Power of ${server.name}`, actions)
  return bmc === undefined ? null : { chip: <Chip bmc={bmc} />, actions }
}

/** "On, seen 12 s ago". */
function Chip({ bmc: { power, status, reason } }: { bmc: Bmc }) {
  const now = useNow(power.seen_at !== null)
  const { tone, word } = states[power.state]
  return (
    <StatusDot tone={tone} why={status === 'ready' ? null : reason} quiet>
      <span {...(power.seen_at !== null && { title: exact(power.seen_at) })}>
        {word}
        {power.seen_at !== null && `, seen ${ago(power.seen_at, now)}`}
      </span>
    </StatusDot>
  )
}
