/** States of BMCs and of the power of servers. */
export const powerStates = ['on', 'off', 'turning_on', 'turning_off', 'unknown'] as const
export type PowerState = (typeof powerStates)[number]

/**
 * `unconfirmed`: its certificate was seen, and nothing secret was sent. `denied`: it refused the
 * password once, which isn't repeated, because each try counts toward a lock-out. `changed`: another
 * certificate or other hardware answered. `unsupported`: it speaks no Redfish that can be used.
 */
export const bmcStatuses = [
  'unconfirmed',
  'ready',
  'unreachable',
  'denied',
  'changed',
  'unsupported',
] as const
export type BmcStatus = (typeof bmcStatuses)[number]

/** What of a server and of a BMC can agree. */
export const bmcMarks = ['uuid', 'serial', 'mac'] as const
export type BmcMark = (typeof bmcMarks)[number]
