import { X509Certificate } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { compareConfigs } from '../config/compare.ts'
import { generateConfig } from '../config/generate.ts'
import { createAuthority } from '../pki/certificates.ts'
import { readyKeys } from '../testing/keys.ts'
import { generateSecrets, secretsOfControlPlane, type SecretsBundle } from './bundle.ts'
import {
  type Form,
  inForm,
  rotatable,
  type Rotatable,
  rotatedSecrets,
  type Rotation,
} from './rotation.ts'

const forms: readonly Form[] = ['old', 'accepts_both', 'switched', 'new']
const now = new Date()
let from: SecretsBundle

beforeAll(async () => {
  from = await generateSecrets({ now, keys: await readyKeys() })
})

const rotationOf = async (what: Rotatable): Promise<Rotation> => ({
  what,
  from,
  to: await rotatedSecrets(from, what, now),
})
const configOf = (role: 'control_plane' | 'worker') =>
  generateConfig({
    role,
    clusterName: 'web',
    endpoint: 'https://10.0.0.1:6443',
    talosVersion: 'v1.13.9',
    kubernetesVersion: '1.36.3',
    secrets: from,
    installDisk: '/dev/sda',
    installImage: 'ghcr.io/siderolabs/installer:v1.13.9',
  })

type Section = { ca: { crt: string; key: string }; acceptedCAs?: { crt: string }[] }
const sectionOf = (config: string, name: 'machine' | 'cluster') =>
  (parse(config.split('---\n')[0]!) as Record<string, Section>)[name]!
const pem = (base64: string) => Buffer.from(base64, 'base64').toString('utf8')

describe.each(rotatable)('%s', (what) => {
  test('a configuration gets the wanted form from every other form, and the form `old` changes nothing', async () => {
    const rotation = await rotationOf(what)
    for (const role of ['control_plane', 'worker'] as const) {
      const config = configOf(role)
      const of = (text: string, form: Form) =>
        inForm(text, role === 'control_plane', rotation, form)
      expect(compareConfigs(config, of(config, 'old')).same).toBe(true)
      for (const first of forms)
        for (const second of forms) expect(of(of(config, first), second)).toBe(of(config, second))
    }
  })

  test('at the end a control plane has the new bundle, and the rest of its configuration is unchanged', async () => {
    const rotation = await rotationOf(what)
    const config = configOf('control_plane')
    const end = inForm(config, true, rotation, 'new')
    expect(secretsOfControlPlane(end)).toEqual(rotation.to)
    expect(compareConfigs(inForm(end, true, rotation, 'old'), config).same).toBe(true)
  })
})

test.each([
  ['talos_ca', 'machine'],
  ['kubernetes_ca', 'cluster'],
] as const)(
  'during a rotation of %s both authorities are accepted, and workers never get a key',
  async (what, name) => {
    const rotation = await rotationOf(what)
    const pairOf = ({ certs }: SecretsBundle) => (what === 'talos_ca' ? certs.os : certs.k8s)
    for (const [form, issuing, other] of [
      ['accepts_both', pairOf(from), pairOf(rotation.to)],
      ['switched', pairOf(rotation.to), pairOf(from)],
    ] as const) {
      const controlPlane = sectionOf(inForm(configOf('control_plane'), true, rotation, form), name)
      expect([pem(controlPlane.ca.crt), pem(controlPlane.ca.key)]).toEqual([
        issuing.crt,
        issuing.key,
      ])
      expect(controlPlane.acceptedCAs!.map((one) => pem(one.crt))).toEqual([other.crt])
      const worker = sectionOf(inForm(configOf('worker'), false, rotation, form), name)
      expect([pem(worker.ca.crt), worker.ca.key]).toEqual([issuing.crt, ''])
      expect(worker.acceptedCAs!.map((one) => pem(one.crt))).toEqual([other.crt])
    }
  },
)

test('accepted authorities that were added without Steelyard stay accepted', async () => {
  const rotation = await rotationOf('talos_ca')
  const theirs = Buffer.from(
    (await createAuthority({ kind: 'ed25519', subject: { organizations: ['theirs'] }, now })).crt,
  ).toString('base64')
  const [main, ...rest] = configOf('worker').split('---\n')
  const changed = parse(main!) as { machine: Section }
  changed.machine.acceptedCAs = [{ crt: theirs }]
  const config = [stringify(changed), ...rest].join('---\n')
  for (const form of forms)
    expect(
      sectionOf(inForm(config, false, rotation, form), 'machine').acceptedCAs!.map(
        (one) => one.crt,
      ),
    ).toContain(theirs)
})

test('a new authority has a new key, so that old certificates are refused', async () => {
  const { to } = await rotationOf('talos_ca')
  expect(to.certs.os.key).not.toBe(from.certs.os.key)
  expect(
    new X509Certificate(to.certs.os.crt).verify(new X509Certificate(from.certs.os.crt).publicKey),
  ).toBe(false)
})
