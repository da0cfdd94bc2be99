/** What a user can do about a step that did not end in its time. */
import { prefixOf } from '../frame.ts'

const settle = 'Solve this problem, then retry'

const adviceFor: Readonly<Record<string, string>> = {
  drain: 'Let these pods be moved, or end them yourself, then retry',
  upgrade: 'Look at the console of the server, and power it off and on if it hangs. Then retry, or roll Talos back on it',
  'node-ready': `${settle}. After an upgrade, Talos can also be rolled back on the server`,
  'etcd-healthy': 'Bring these members back, then retry',
  'etcd-back': 'Bring these members back, then retry',
}

/** `Not done after 21 min. cp-2 is not Ready: … Solve this problem, then retry` */
export const overdue = (key: string, waited: string, reason: string): string =>
  `Not done after ${waited}. ${reason.replace(/\.$/, '')}. ${adviceFor[prefixOf(key)] ?? settle}`
