/** What a user can do about a step that did not end in its time. */
import type { ChangeKindName } from '#contract/clusters/changes/changes.ts'
import { prefixOf } from '../frame.ts'

const settle = 'Solve this problem, then retry'

const startAgain =
  'Its log on the server says more. Remove the setting that prevents its start from the patches, then retry'

const adviceFor: Readonly<Record<string, string>> = {
  drain: 'Let these pods be moved, or end them yourself, then retry',
  upgrade:
    'Look at the console of the server, and power it off and on if it hangs. Then retry, or roll Talos back on it',
  ...Object.fromEntries(
    ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'].map((pod) => [pod, startAgain]),
  ),
  kubelet: startAgain,
  'etcd-healthy': 'Bring these members back, then retry',
  'etcd-back': 'Bring these members back, then retry',
}

const takingBack: Partial<Record<ChangeKindName, string>> = {
  configure: 'Take the change back, or solve this problem and retry',
  endpoint: 'Change the endpoint back, or solve this problem and retry',
  extensions: 'Roll Talos back on this server, or solve this problem and retry',
  grow: 'Remove the new server again, or solve this problem and retry',
  replace: 'Remove the new server again, or solve this problem and retry',
  role: 'Change the role back, or solve this problem and retry',
  rotate:
    'Solve this problem, then retry. A cancel of the retry takes the rotation back, as long as no server refuses the old authority',
  upgradeKubernetes: startAgain,
  upgradeTalos: 'Roll Talos back on this server, or solve this problem and retry',
}

/** How a change that left a control plane ill is taken back. */
export const takeBack = (kind: ChangeKindName): string => takingBack[kind] ?? settle

/** The changes after which a server can be rolled back to its former Talos. */
const replacesTalos: ReadonlySet<ChangeKindName> = new Set(['upgradeTalos', 'extensions'])

function adviceOn(prefix: string, kind: ChangeKindName): string {
  if (prefix === 'node-ready' && replacesTalos.has(kind))
    return `${settle}. Talos can also be rolled back on the server`
  return adviceFor[prefix] ?? settle
}

/** `Not done after 21 min. cp-2 is not Ready: … Solve this problem, then retry` */
export const overdue = (
  { key, kind }: { key: string; kind: ChangeKindName },
  waited: string,
  reason: string,
): string =>
  `Not done after ${waited}. ${reason.replace(/\.$/, '')}. ${adviceOn(prefixOf(key), kind)}`
