/** Every kind of change that gives servers another configuration holds it against the same rules. */
import { glob, readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import type { ChangeKindName } from '#contract/clusters/changes/changes.ts'

/** What the plan of a kind asks, or why there is nothing to hold against the rules. */
const holding = {
  configure: { file: 'configure/configure.ts', asks: ['configurations.rehearse('] },
  grow: { file: 'members/grow.ts', asks: ['judgeJoining(', 'reserve('] },
  replace: { file: 'members/replace.ts', asks: ['judgeJoining(', 'reserve('] },
  restore: { file: 'snapshots/on-new-servers.ts', asks: ['judgeJoining(', 'reserve('] },
  role: { file: 'members/role.ts', asks: ['judgePatches(', 'reachedAfter('] },
  documents: { file: 'configure/documents.ts', asks: ['configurations.rehearseMove('] },
  endpoint: { file: 'configure/endpoint.ts', asks: ['checkConfigurations('] },
  upgradeTalos: { file: 'talos-upgrade/upgrade-talos.ts', asks: ['checkConfigurations('] },
  rollbackTalos: { file: 'talos-upgrade/rollback-talos.ts', asks: ['checkConfigurations('] },
  upgradeKubernetes: { file: 'kubernetes-upgrade/upgrade.ts', asks: ['checkConfigurations('] },
  extensions: 'only the image changes, whose arguments the schema of the change checks',
  rotate: 'only secrets change',
  disks: 'no configuration is sent',
  shrink: 'a server that leaves is reset',
  defragment: 'no configuration is sent',
  snapshot: 'no configuration is sent',
} satisfies Record<
  ChangeKindName,
  string | { readonly file: string; readonly asks: readonly string[] }
>

const held = Object.entries(holding).flatMap(([kind, how]) =>
  typeof how === 'string' ? [] : [{ kind, ...how }],
)

test.each(held)(
  'the plan of $kind holds configurations against the rules',
  async ({ file, asks }) => {
    const text = await readFile(new URL(file, import.meta.url), 'utf8')
    for (const call of asks) expect(text).toContain(call)
  },
)

/** Calls that store a configuration for sending, and the files that make them. */
const storing = /\b(?:renderAgain|renderFirst|configurations\.prepare|kept\.store)\(/
const known = [
  'changes/configure/endpoint.ts',
  'changes/configure/servers.ts',
  'changes/kubernetes-upgrade/components.ts',
  // Only secrets and images change.
  'changes/rotate/give.ts',
  'changes/talos-upgrade/follow.ts',
  'clusters/takeover/secrets-import.ts',
  // Joining servers, whose patches were held when the change or creation began.
  'clusters/member/reconcile.ts',
  'configurations/composing/composing.ts',
  'configurations/drift/drift.ts',
  // Images that others have changed.
  'configurations/sending/configuring.ts',
  'configurations/sending/changing.ts',
]

test('only known files store a configuration for sending', async () => {
  const domains = new URL('../', import.meta.url)
  const found: string[] = []
  for await (const file of glob('**/*.ts', { cwd: domains })) {
    const isTest = /(?:\.test|\/testing)(?:\.ts|\/)/.test(file)
    if (isTest) continue
    const text = await readFile(new URL(file, domains), 'utf8')
    if (storing.test(text.replaceAll(/^\s*(?:\/\/|\*).*$/gm, ''))) found.push(file)
  }
  expect(found.toSorted()).toEqual(known.toSorted())
})
