/** What the removal of a silence does and is called, which depends on whether it silences now. */
import { type Silence, silencedText, stateOf } from '#contract/alerts/silences.ts'
import { serverNow } from '../../lib/time/server-time.ts'

const removals = {
  active: {
    action: 'End now',
    title: 'End this silence now?',
    label: 'End silence',
    text: 'Findings that are still open are sent then.',
  },
  waiting: {
    action: 'Remove',
    title: 'Remove this silence?',
    label: 'Remove silence',
    text: 'It silences nothing now, and does not begin then.',
  },
  ended: {
    action: 'Remove',
    title: 'Remove this silence?',
    label: 'Remove silence',
    text: 'It has ended already: only its line in the list goes.',
  },
} as const

/** A silence begins and ends by the time alone: no event says so. `now` in ms since 1970. */
export const stateNow = (silence: Silence, now = serverNow()): Silence['state'] =>
  stateOf(silence, new Date(now))

/** `action`: its name in a menu. The others are those of the question before it. */
export function removalOf(silence: Silence, now = serverNow()) {
  const { text, ...words } = removals[stateNow(silence, now)]
  return { ...words, text: `${silencedText(silence)}. ${text}` }
}
