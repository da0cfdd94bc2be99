/** Words and shapes of BMCs' statuses and of power. */
import type { BmcStatus, PowerState } from '#contract/bmcs/state.ts'
import type { Tone } from '../../ui/feedback/tone.ts'

interface Said {
  readonly tone: Tone
  readonly word: string
}

export const bmcStates: Readonly<Record<BmcStatus, Said>> = {
  unconfirmed: { tone: 'warn', word: 'To confirm' },
  ready: { tone: 'ok', word: 'Ready' },
  unreachable: { tone: 'danger', word: 'Unreachable' },
  denied: { tone: 'danger', word: 'Password refused' },
  changed: { tone: 'danger', word: 'Another one answers' },
  unsupported: { tone: 'off', word: 'Not usable' },
}

export const powerStates: Readonly<Record<PowerState, Said>> = {
  on: { tone: 'ok', word: 'On' },
  off: { tone: 'off', word: 'Off' },
  turning_on: { tone: 'busy', word: 'Turning on' },
  turning_off: { tone: 'busy', word: 'Turning off' },
  unknown: { tone: 'warn', word: 'Unknown' },
}
