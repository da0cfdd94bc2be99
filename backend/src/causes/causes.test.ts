import { DatabaseError } from 'pg'
import { describe, expect, test } from 'vitest'
import { ConfigError } from '#talos/config/problem.ts'
import { TalosError, type TalosErrorKind } from '#talos/client/errors.ts'
import { Problem } from '#contract/errors.ts'
import { BackupRefused } from '../backup/sealed.ts'
import { CommitUnknown, DatabaseAway, DatabaseSilent } from '../db/away.ts'
import { NoServer } from '../db/find.ts'
import { FactoryError } from '../domains/images/factory-call.ts'
import { StoreError } from '../domains/stores/object-store.ts'
import { EndpointRefused } from '../endpoints/policy.ts'
import { sentenceFor } from '../engine/trouble.ts'
import { asProblem } from '../http/errors.ts'
import { KubernetesError } from '../kubernetes/answers.ts'
import { SealBroken } from '../vault/cipher.ts'
import { type Cause, causeOf, isDatabaseAway, isDatabaseTrouble } from './causes.ts'

const told = (code: string) =>
  Object.assign(new DatabaseError('told by the database', 20, 'error'), { code })
const socket = (code: string) =>
  Object.assign(new Error(`connect ${code} 10.0.0.1:50000`), { code, syscall: 'connect' })
const file = Object.assign(new Error('ENOENT: no such file'), {
  code: 'ENOENT',
  syscall: 'open',
  path: '/data/key',
})
const away = new DatabaseAway('connect ECONNREFUSED', { cause: socket('ECONNREFUSED') })
const named = (name: string) => Object.assign(new Error(name), { name })

/**
 * Each error that the program can meet: its cause, the status of a request that ends with it, and
 * whether a run that ends with it counts as failed.
 */
const met: readonly (readonly [string, unknown, Cause, number, boolean])[] = [
  // Database
  ['no connection', away, 'database_away', 503, false],
  [
    'no host of several',
    new NoServer('a does not answer', { cause: away, isReadOnly: false }),
    'database_away',
    503,
    false,
  ],
  [
    'only standbys',
    new NoServer('a is a standby', { cause: new Error('standby'), isReadOnly: true }),
    'database_away',
    503,
    false,
  ],
  ['a pool without a free connection', new DatabaseSilent('late'), 'database_silent', 503, false],
  ['a lost commit', new CommitUnknown('lost', { cause: away }), 'database_unsure', 503, false],
  ...['57P01', '57P02', '57P03', '57P05', '08006', '08P01', '53300', '25006', '25P03'].map(
    (code) => [`SQLSTATE ${code}`, told(code), 'database_away', 503, false] as const,
  ),
  ...['53200', '53400', '57014', '55P03', '40001', '40P01', '58030'].map(
    (code) => [`SQLSTATE ${code}`, told(code), 'database_busy', 503, true] as const,
  ),
  ['SQLSTATE 53100', told('53100'), 'database_full', 503, true],
  ...['42P01', '23505', '22P02', 'XX000'].map(
    (code) => [`SQLSTATE ${code}`, told(code), 'database_refused', 500, true] as const,
  ),
  // Machines
  ...(['unreachable', 'timeout', 'unavailable'] satisfies TalosErrorKind[]).map(
    (kind) => [`Talos ${kind}`, new TalosError(kind, kind), 'peer_silent', 503, true] as const,
  ),
  ...(['refused', 'certificate', 'invalid_argument', 'other'] satisfies TalosErrorKind[]).map(
    (kind) => [`Talos ${kind}`, new TalosError(kind, kind), 'peer_refused', 500, true] as const,
  ),
  ['Talos cancelled', new TalosError('cancelled', 'cancelled'), 'stopped', 500, true],
  // Kubernetes, stores, factory
  ['a silent Kubernetes API', new KubernetesError('no route'), 'peer_silent', 503, true],
  ['an ill Kubernetes API', new KubernetesError('status 500', 500), 'peer_silent', 503, true],
  ['a refusal of Kubernetes', new KubernetesError('forbidden', 403), 'peer_refused', 500, true],
  ['a refusal of a store', new StoreError('no bucket'), 'peer_refused', 500, true],
  ['a silent store', new StoreError('late', { meaning: 'peer_silent' }), 'peer_silent', 503, true],
  ['a silent factory', new FactoryError('unreachable', 'late'), 'peer_silent', 503, true],
  ['a refusal of the factory', new FactoryError('refused', 'no'), 'peer_refused', 500, true],
  // Channels, the identity provider and all others, before somebody has given them a type
  ...['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENOTFOUND', 'EAI_AGAIN'].map(
    (code) => [`socket ${code}`, socket(code), 'peer_silent', 503, true] as const,
  ),
  ['a limit of time', named('TimeoutError'), 'peer_silent', 503, true],
  ['an abort', named('AbortError'), 'stopped', 500, true],
  // Rules and own files
  ['an endpoint that is not allowed', new EndpointRefused('no'), 'refused', 500, true],
  ['a file that is no backup', new BackupRefused('no backup'), 'refused', 500, true],
  ['a secret that was changed', new SealBroken('broken'), 'refused', 500, true],
  ['a patch that is refused', new ConfigError([]), 'refused', 500, true],
  ['a rule', new Problem('conflict', 'no'), 'refused', 409, true],
  ['a missing file', file, 'bug', 500, true],
  ['a fault of the program', new TypeError('x is no function'), 'bug', 500, true],
  ['something that is no error', 'text', 'bug', 500, true],
]

describe.each(met)('%s', (_, error, cause, status, counts) => {
  test('has its cause, also wrapped in errors without a type', () => {
    expect(causeOf(error)).toBe(cause)
    if (!(error instanceof Error)) return
    expect(causeOf(new Error('wrapped', { cause: error }))).toBe(cause)
    expect(causeOf(new AggregateError([new Error('other'), error]))).toBe(cause)
    expect(causeOf(new Error('twice', { cause: new AggregateError([error]) }))).toBe(cause)
  })

  test('is answered as what it is', () => {
    const problem = asProblem(error, () => 0)
    expect(problem === undefined ? 500 : problem.code === 'conflict' ? 409 : 503).toBe(status)
    expect(problem?.message ?? '').not.toMatch(/ECONN|SQLSTATE|undefined/)
    if (status !== 503) return
    expect(problem?.code).toBe('unavailable')
    expect(isDatabaseTrouble(error)).toBe(cause.startsWith('database_'))
  })

  test('is a failed run unless only the database was away', () => {
    expect(!isDatabaseAway(error)).toBe(counts)
    expect(sentenceFor(error)).not.toMatch(/undefined|\n/)
  })
})

test('a lost database decides, whatever its error was wrapped in', () => {
  expect(causeOf(new StoreError('The file was not read', { cause: away }))).toBe('database_away')
  expect(causeOf(new AggregateError([new TalosError('timeout', 'late'), away]))).toBe(
    'database_away',
  )
  // A Problem is an answer already.
  expect(causeOf(Object.assign(new Problem('conflict', 'no'), { cause: away }))).toBe('refused')
})

test('an error that wraps itself has a cause', () => {
  const round = new Error('round')
  round.cause = round
  expect(causeOf(round)).toBe('bug')
})

test('the sentences of errors for people are shown, and those of others are marked', () => {
  expect(sentenceFor(new EndpointRefused('The endpoint is not allowed'))).toBe(
    'The endpoint is not allowed',
  )
  expect(sentenceFor(new Error('wild'))).toMatch(/^An unexpected error/)
  expect(sentenceFor(told('57014'))).toBe('The database is too busy; Steelyard tries again')
})
