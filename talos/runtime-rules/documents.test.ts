import { describe, expect, it, test } from 'vitest'
import { longTests, spread } from '../../tools/testing/length.ts'
import { mergePatches } from '../config/merge.ts'
import { ConfigError } from '../config/problem.ts'
import { formOf, moveToDocuments } from '../move/move.ts'
import { config } from '../testing/generated.ts'
import { runtimeFindings, runtimeRules } from './runtime-rules.ts'
import { cases } from './testing/cases.ts'
import { casesOfDocuments } from './testing/cases-of-documents.ts'
import { casesOfSystem } from './testing/cases-of-system.ts'

const talosVersion = '1.14'
const layer = (body: string) => [{ name: 'mine', body }]
const merged = (on: string, body: string) =>
  mergePatches(on, layer(body), { talosVersion }).documents
const find = (yaml: string) =>
  runtimeFindings(mergePatches(yaml, [], { talosVersion }).documents, { talosVersion })

const roles = ['control_plane', 'worker'] as const
const old = roles.map((role) => config({ role }))
const fresh = roles.map((role) =>
  config({
    role,
    talosVersion,
    kubernetesVersion: '1.37.0',
    installImage: 'factory.talos.dev/metal-installer/a:v1.14.1',
  }),
)
const inDocuments = (role: number, body: string) =>
  runtimeFindings(merged(fresh[role]!, body), { talosVersion })

const moved = (before: string): string | null => {
  try {
    return moveToDocuments(before).yaml
  } catch (error) {
    if (error instanceof ConfigError) return null
    throw error
  }
}

/** A plugin without manifests is no plugin in documents. */
const ofMainAlone = new Set([
  ...Object.keys(casesOfDocuments),
  ...Object.keys(casesOfSystem),
  'custom-network-plugin',
  ...runtimeRules
    .filter(({ minors }) => minors?.includes(talosVersion) === false)
    .map(({ id }) => id),
])
const moving = Object.entries(cases).filter(([rule]) => !ofMainAlone.has(rule))

describe('rules hold for documents of Talos 1.14', () => {
  // A third of the rules: each is tried itself in `runtime-rules.test.ts`, and moving in `move.test.ts`.
  it.each(spread(moving, Math.ceil(moving.length / 3)))(
    '%s is found after the move',
    (rule, { bad, good, on }) => {
      const base = old[on === 'worker' ? 1 : 0]!
      for (const [bodies, isBad] of [
        [bad, true],
        [good, false],
      ] as const)
        for (const body of bodies.slice(0, longTests ? 2 : 1)) {
          const before = mergePatches(base, layer(body), { talosVersion }).yaml
          // Some cases aren't valid, and are here for their rule alone.
          const yaml = moved(before)
          if (yaml === null) continue
          const found = find(yaml).some((one) => one.rule === rule)
          expect({ body, found }).toEqual({ body, found: isBad })
        }
    },
  )

  it('finds nothing in what Steelyard generates', () => {
    for (const yaml of fresh) expect(find(yaml)).toEqual([])
  })
})

test('a value in a document has its place there', () => {
  const found = inDocuments(
    0,
    'apiVersion: v1alpha1\nkind: KubeAdmissionControlConfig\nname: PodSecurity\nconfiguration:\n  exemptions:\n    namespaces:\n      - rook-ceph\n      - kube-system\n',
  )
  expect(found).toMatchObject([
    {
      rule: 'pod-security-unique',
      layer: 'mine',
      line: 8,
      path: 'configuration.exemptions.namespaces.2',
    },
  ])
})

test('files of documents are judged like those of the main document', () => {
  const found = inDocuments(
    0,
    'apiVersion: v1alpha1\nkind: EtcFileConfig\nname: nfsmount.conf\nmode: 644\ncontents: x\n---\napiVersion: v1alpha1\nkind: CRICustomizationConfig\nname: mine\ncontent: no toml\n',
  )
  expect(found.map(({ rule, path }) => ({ rule, path }))).toEqual([
    { rule: 'file-permissions', path: 'mode' },
    { rule: 'file-customization-toml', path: 'content' },
  ])
  expect(formOf(fresh[0]!).form).toBe('moved')
})
