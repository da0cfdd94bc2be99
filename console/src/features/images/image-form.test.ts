import { expect, test } from 'vitest'
import * as z from 'zod/mini'
import type { Image } from '#contract/images.ts'
import type { JoinToken } from '#contract/join-tokens.ts'
import {
  argsOf,
  atFields,
  blank,
  choicesOf,
  Draft,
  draftOf,
  noToken,
  readDraft,
  withDatacenter,
  withToken,
} from './image-form.ts'
import { earlyDraftOf } from './early-form.ts'

const [poz, fra] = [
  { id: '0b6f2a4e-58a1-4c07-9a6c-6f1d6a1c0001', code: 'PL-POZ-1' },
  { id: '0b6f2a4e-58a1-4c07-9a6c-6f1d6a1c0002', code: 'DE-FRA-1' },
]
const token = (id: string, status: JoinToken['status'], datacenter: JoinToken['datacenter']) => ({
  id,
  name: `t-${id.at(-1)}`,
  status,
  datacenter,
})
const tokens = [
  token('7c9e6679-7425-40de-944b-e07fc1f90001', 'usable', poz),
  token('7c9e6679-7425-40de-944b-e07fc1f90002', 'usable', null),
  token('7c9e6679-7425-40de-944b-e07fc1f90003', 'revoked', poz),
]
const known = { newest: 'v1.13.9', tokens, datacenters: [poz, fra] }
const pem = '-----BEGIN CERTIFICATE-----\nTUlJQg==\n-----END CERTIFICATE-----'
const draft = { ...blank, token: tokens[0]!.id, datacenter: poz.id }

test('the request has the newest version by default, sorted extensions and one kernel argument per line', () => {
  expect(
    readDraft(
      {
        ...draft,
        extensions: ['siderolabs/gvisor', 'siderolabs/amd-ucode'],
        kernelArgs: ' console=ttyS0,115200 \n\n-selinux\n',
      },
      known,
    ),
  ).toEqual({
    ok: true,
    body: {
      talos_version: 'v1.13.9',
      arch: 'amd64',
      secureboot: false,
      extensions: ['siderolabs/amd-ucode', 'siderolabs/gvisor'],
      kernel_args: ['console=ttyS0,115200', '-selinux'],
      format: 'iso',
      datacenter_id: poz.id,
      token_id: tokens[0]!.id,
      early: null,
    },
  })
})

test('what servers know before they join is read as typed, and filled in again from the image', () => {
  const typed = {
    ...draft,
    reach: 'static' as const,
    addresses:
      'MAC,address,gateway\n00-1A-2B-3C-4D-5E, 10.0.0.5/24, 10.0.0.1\n00:1a:2b:3c:4d:5f 10.0.0.6/24\n',
    nameServers: '10.0.0.1, 10.0.0.2',
    trustedRoots: `${pem}\n${pem}\n`,
    timeServers: 'ntp.example',
    mirrors: 'ghcr.io=https://a.example,https://b.example\n',
  }
  const read = readDraft(typed, known)
  const early = {
    trusted_roots: [pem, pem],
    network: {
      static_addresses: [
        { mac: '00:1a:2b:3c:4d:5e', address: '10.0.0.5/24', gateway: '10.0.0.1' },
        { mac: '00:1a:2b:3c:4d:5f', address: '10.0.0.6/24', gateway: null },
      ],
      name_servers: ['10.0.0.1', '10.0.0.2'],
      documents: '',
    },
    time_servers: ['ntp.example'],
    registry_mirrors: [
      { registry: 'ghcr.io', endpoints: ['https://a.example', 'https://b.example'] },
    ],
  }
  expect(read).toMatchObject({ ok: true, body: { early } })
  const again = readDraft({ ...draft, ...earlyDraftOf(early) }, known)
  expect(again).toEqual(read)
})

test.each([
  [{ reach: 'static', addresses: '00:1a 10.0.0.5/24' }, 'addresses', 'Row 1: Enter a MAC address'],
  [
    { reach: 'static', addresses: '00:1a:2b:3c:4d:5e 10.0.0.5' },
    'addresses',
    'such as 10.0.0.5/24',
  ],
  [
    { reach: 'static', addresses: '00:1a:2b:3c:4d:5e 10.0.0.5/24 10.0.1.1' },
    'addresses',
    'Row 1: The gateway 10.0.1.1 is not in the network of 10.0.0.5/24',
  ],
  [{ trustedRoots: pem.replaceAll('CERTIFICATE', 'PRIVATE KEY') }, 'trustedRoots', 'a private key'],
  [
    { mirrors: 'ghcr.io=https://me:secret@a.example' },
    'mirrors',
    'with a password is not possible',
  ],
] as const)('what can’t be in an image is refused at its field: %#', (typed, field, sentence) => {
  const read = readDraft({ ...draft, ...typed }, known)
  expect(read.ok ? {} : read.fields).toMatchObject({
    [field]: expect.stringContaining(sentence) as string,
  })
})

test('kernel arguments are separated by lines, or by a comma and a space; a comma within an argument does not split it', () => {
  expect(argsOf('a=1,2\n b ')).toEqual(['a=1,2', 'b'])
  expect(argsOf('console=tty0, console=ttyS0,115200,\n,quiet ,')).toEqual([
    'console=tty0',
    'console=ttyS0,115200',
    ',quiet',
  ])
})

test('"no token" is a valid choice; making no choice is an error', () => {
  expect(readDraft({ ...blank, token: noToken }, known)).toMatchObject({
    ok: true,
    body: { token_id: null, datacenter_id: null },
  })
  expect(readDraft(blank, known)).toEqual({
    ok: false,
    fields: { token: 'Choose a join token, or none' },
  })
})

test('a revoked or deleted token, or one of another datacenter, is refused with the reason', () => {
  const why = (change: Partial<typeof draft>) => {
    const read = readDraft({ ...draft, ...change }, known)
    return read.ok ? null : read.fields['token']
  }
  expect(why({ token: tokens[2]!.id })).toBe('The join token was revoked')
  expect(why({ token: '7c9e6679-7425-40de-944b-e07fc1f90009' })).toBe(
    'This join token no longer exists',
  )
  // Tokens that are not loaded yet are not gone.
  expect(readDraft(draft, { ...known, tokens: undefined }).ok).toBe(true)
  expect(why({ datacenter: fra.id })).toBe(
    'The join token t-1 puts servers in PL-POZ-1, not in DE-FRA-1: choose another token',
  )
})

test('an invalid kernel argument is reported by its line number in the text field', () => {
  const read = readDraft({ ...draft, kernelArgs: 'a=1\n\nb c\ntalos.config=http://x' }, known)
  expect(read).toEqual({
    ok: false,
    fields: { kernelArgs: 'Line 3: A kernel argument has no spaces and only ASCII characters' },
  })
  expect(atFields({ 'kernel_args.1': 'No.', token_id: 'Gone.', colour: '?' }, 'a\n\nb')).toEqual({
    kernelArgs: 'Line 3: No.',
    token: 'Gone.',
  })
  expect(atFields({ 'kernel_args.2': 'No.' }, 'a, b\nc')).toEqual({ kernelArgs: 'Line 2: No.' })
})

test('choosing a token also sets its datacenter, and choosing another datacenter clears the token', () => {
  expect(withToken(blank, tokens[0]!.id, tokens)).toEqual({
    token: tokens[0]!.id,
    datacenter: poz.id,
  })
  expect(withToken({ ...blank, datacenter: fra.id }, noToken, tokens)).toEqual({ token: noToken })
  expect(withDatacenter(draft, fra.id, tokens)).toEqual({ datacenter: fra.id, token: '' })
  expect(withDatacenter({ ...draft, token: noToken }, fra.id, tokens)).toEqual({
    datacenter: fra.id,
  })
  expect(choicesOf(tokens, '').fit.map((t) => t.name)).toEqual(['t-1', 't-2'])
  expect(choicesOf(tokens, poz.id)).toMatchObject({
    fit: [{ name: 't-1' }],
    others: [{ name: 't-2' }],
  })
})

const image: Image = {
  id: '7c9e6679-7425-40de-944b-e07fc1f90010',
  talos_version: 'v1.12.4',
  arch: 'arm64',
  secureboot: true,
  extensions: ['siderolabs/gvisor'],
  kernel_args: ['console=ttyS0', 'talos.config=http://s/join/sy-join-x?uuid=${uuid}'],
  format: 'raw',
  datacenter: poz,
  token: { id: tokens[0]!.id, name: 't-1', status: 'usable' },
  early: null,
  schematic_id: '',
  schematic: '',
  factory: { url: '', simulated: true, registered_at: null, reason: null },
  url: '',
  links: [],
  pxe_script: '',
  kernel_command_line: '',
  warnings: [],
  created_by: null,
  created_at: '2026-11-20T12:00:00Z',
  version: 1,
}

test('an earlier image fills the form without its talos.config argument and without a used-up token', () => {
  const filled = draftOf(image)
  expect(filled).toEqual({
    ...blank,
    version: 'v1.12.4',
    arch: 'arm64',
    secureboot: true,
    extensions: ['siderolabs/gvisor'],
    kernelArgs: 'console=ttyS0',
    format: 'raw',
    datacenter: poz.id,
    token: tokens[0]!.id,
  })
  expect(readDraft(filled, known).ok).toBe(true)
  expect(draftOf({ ...image, token: { ...image.token!, status: 'used_up' } }).token).toBe('')
  expect(draftOf({ ...image, token: null }).token).toBe(noToken)
})

test('only a stored draft that matches the schema is restored', () => {
  expect(z.safeParse(Draft, JSON.parse(JSON.stringify(draft))).data).toEqual(draft)
  expect(z.safeParse(Draft, { ...draft, arch: 'sparc' }).success).toBe(false)
  expect(z.safeParse(Draft, null).success).toBe(false)
})
