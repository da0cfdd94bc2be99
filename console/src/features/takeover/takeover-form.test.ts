import { expect, test, vi } from 'vitest'
import {
  blank,
  previewCommand,
  readForm,
  readProof,
  replacedSentence,
  replacing,
  standsInTheWay,
} from './takeover-form.ts'

const datacenterId = '0198c0de-0000-7000-8000-000000000001'

test('the form requires an address with a secrets bundle, but not with a talosconfig', () => {
  expect(readForm({ ...blank, secrets: 'cluster: {}', datacenter_id: datacenterId })).toEqual({
    ok: false,
    fields: { addresses: 'Enter the address of a control plane' },
  })
  expect(
    readForm({
      ...blank,
      secrets: 'cluster: {}',
      addresses: '10.0.0.1, 10.0.0.2\n10.0.0.3',
      datacenter_id: datacenterId,
    }),
  ).toEqual({
    ok: true,
    body: {
      secrets: 'cluster: {}',
      addresses: ['10.0.0.1', '10.0.0.2', '10.0.0.3'],
      datacenter_id: datacenterId,
    },
  })
  expect(
    readForm({
      ...blank,
      kind: 'talosconfig',
      talosconfig: 'context: a',
      kubeconfig: 'kind: Config',
      name: 'ours',
      datacenter_id: datacenterId,
    }),
  ).toEqual({
    ok: true,
    body: {
      talosconfig: 'context: a',
      kubeconfig: 'kind: Config',
      name: 'ours',
      addresses: [],
      datacenter_id: datacenterId,
    },
  })
})

test('a missing value is reported at its field, and only the selected kind of file is used', () => {
  expect(readForm(blank)).toMatchObject({
    ok: false,
    fields: { secrets: 'Choose or paste the secrets bundle', datacenter_id: 'Choose a datacenter' },
  })
  expect(readProof({ ...blank, kind: 'talosconfig', secrets: 'typed before' })).toMatchObject({
    ok: false,
    fields: { talosconfig: 'Choose or paste the talosconfig' },
  })
})

test("a machine that can't be taken over is named with the reason", () => {
  const server = {
    name: 'a',
    address: null,
    role: null,
    uuid: null,
    serial: null,
    product: null,
    talos_version: null,
    known: null,
    problem: null,
  }
  const checks = [{ check: 'machines', ok: false, message: '1 machine did not answer' }]
  expect(
    standsInTheWay({
      servers: [server, { ...server, name: 'b', problem: 'connection refused' }],
      checks,
    }),
  ).toBe('b: connection refused')
  expect(standsInTheWay({ servers: [server], checks })).toBe('1 machine did not answer')
  expect(standsInTheWay({ servers: [server], checks: [] })).toBeNull()
})

test('a takeover replaces only what was chosen, and says what is lost', () => {
  expect(replacing({ name: 'theirs' }, [])).toEqual({})
  expect(replacing({ name: 'theirs' }, ['cluster_key'])).toEqual({
    replace: ['cluster_key'],
    confirm: 'theirs',
  })
  expect(replacedSentence(['cluster_key'])).toBe(
    "Its cluster key is deleted and made anew. The offers that use the present key, also those of another Steelyard, can't be proved any more.",
  )
  expect(replacedSentence(['operator_binding'])).toBe(
    'Its role binding of operators is deleted and made anew. Whoever has access by the present binding loses it.',
  )
})

test('the curl command has the name and the kubeconfig of the form, and no secret', () => {
  vi.stubGlobal('location', { origin: 'https://steelyard.example' })
  const read = readForm({
    ...blank,
    kind: 'talosconfig',
    talosconfig: 'the key',
    kubeconfig: 'the token',
    addresses: '10.0.0.1',
    datacenter_id: datacenterId,
    name: "shop's",
  })
  if (!read.ok) throw new Error('The form is valid')
  const command = previewCommand(read.body)
  expect(command.split('\n', 1)[0]).toBe(
    `jq -n --rawfile file talosconfig --rawfile kubeconfig kubeconfig --argjson rest '{"name":"shop'\\''s","addresses":["10.0.0.1"],"datacenter_id":"${datacenterId}"}' '$rest + {talosconfig: $file, kubeconfig: $kubeconfig}' |`,
  )
  expect(command).toContain('/v1/')
  expect(command).not.toMatch(/the key|the token/)
})
