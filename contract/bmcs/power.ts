/** Power of servers: its states, and the acts that change it. */
import * as z from 'zod/mini'
import { operation, type Words } from '../operation.ts'
import { begun } from '../operations.ts'
import { no, type Verdict, yes } from '../rule.ts'
import { type PowerKind, powerKinds, type PowerTarget, powerTargets } from './order.ts'
import { powerStates } from './state.ts'

export const serverPower = operation('serverPower', 'POST /v1/nodes/{id}/power', 'power:write', {
  summary:
    "Switch a server on or off, or off and on again, through its BMC. Refused if the power isn't as it was seen, if an operation runs on the server, or if etcd of its cluster would lose its majority.",
  body: z.strictObject({
    to: z.enum(powerTargets),
    kind: z._default(z.enum(powerKinds), 'graceful'),
    seen: z.enum(powerStates),
    override: z.optional(
      z.strictObject({
        name: z.string().check(z.trim(), z.maxLength(64)),
        reason: z
          .string()
          .check(
            z.trim(),
            z.minLength(1, 'Enter the reason'),
            z.maxLength(500, 'The reason has at most 500 characters'),
          ),
      }),
    ),
  }),
  answer: begun,
  errors: [
    'operation_running',
    'power_changed',
    'power_refused',
    'bmc_not_ready',
    'transition_refused',
  ],
})

export const serverIdentify = operation(
  'serverIdentify',
  'POST /v1/nodes/{id}/identify',
  'power:write',
  {
    summary: 'Switch the light that finds a server in its rack on or off, and read it back.',
    kept: true,
    body: z.strictObject({ lit: z.boolean() }),
    answer: z.object({ lit: z.boolean() }),
    errors: ['bmc_not_ready', 'bmc_unreachable', 'bmc_refused'],
  },
)

/** Whether the order makes sense for a power that was seen. */
export function canOrder(to: PowerTarget, seen: (typeof powerStates)[number]): Verdict {
  if (to === 'on' && seen === 'on') return no('The server is on already')
  if (to !== 'on' && seen === 'off')
    return no(to === 'off' ? 'The server is off already' : 'The server is off: switch it on')
  return yes
}

/** What is lost, for the confirmation of an act; null if nothing is. */
export const powerLoss = (to: PowerTarget, kind: PowerKind): string | null =>
  to === 'on'
    ? null
    : kind === 'hard'
      ? 'What runs on the server ends at once, and what it has not written to its disks is lost.'
      : 'What runs on the server is asked to end first.'

/** "Switch on", "Shut down", "Power off", … */
export const powerTitle = (to: PowerTarget, kind: PowerKind): string =>
  to === 'on'
    ? 'Power on'
    : to === 'off'
      ? kind === 'hard'
        ? 'Power off now'
        : 'Shut down'
      : kind === 'hard'
        ? 'Power cycle now'
        : 'Power cycle'

/** Words for the API documentation. */
export const words: Words = {
  fields: {
    lit: 'True: the light blinks. False: it is off.',
    override:
      'Only for admins: the name of the server and a reason, for an act that would take the majority of etcd away.',
    'serverPower.reason': 'Why the server is switched against the majority of etcd.',
    'serverPower.to': '`on`, `off`, or `cycle`: off and on again.',
    'serverPower.kind':
      '`graceful`: the server is asked to shut down and ends by itself. `hard`: its power is cut.',
    'serverPower.seen': 'The power that the caller saw. If it is another by now, nothing is done.',
  },
  bodies: {
    serverPower: { to: 'off', kind: 'graceful', seen: 'on' },
    serverIdentify: { lit: true },
  },
}
