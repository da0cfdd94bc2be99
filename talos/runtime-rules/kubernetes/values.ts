/** Values of configurations that Talos only passes on, as Kubernetes's own validation has them. */
import { durationMs, isAddress } from '../../config/formats.ts'
import type { Report } from '../../config/report.ts'
import { prefixOf } from '../../network-effect/addresses.ts'
import { quoted } from '../rule.ts'

/** A place, and what is wrong there, as a part of a sentence. */
export type Wrong = readonly [path: readonly string[], problem: string]

/** A configuration of a program in a document. */
export interface Given {
  readonly document: Report
  readonly root: readonly string[]
}

export const at = ({ root }: Given, field: string): string[] => [...root, ...field.split('.')]
export const textAt = (given: Given, field: string): string =>
  given.document.text(...at(given, field))
/** Whether a field is written, also as an empty text. */
export function isSet(given: Given, field: string): boolean {
  const path = at(given, field)
  return given.document
    .entries(...path.slice(0, -1))
    .some(({ key, node }) => key === path.at(-1) && !(node.is === 'scalar' && node.value === null))
}

/** Whole numbers that must be from the least to the most. */
export function* ranges(
  given: Given,
  limits: Readonly<Record<string, readonly [least: number, most: number]>>,
): Generator<Wrong> {
  for (const [field, [least, most]] of Object.entries(limits)) {
    const value = given.document.number(...at(given, field))
    if (value !== undefined && (value < least || value > most))
      yield [
        at(given, field),
        `${field} is ${most === Infinity ? `at least ${least}` : `from ${least} to ${most}`}, not ${value}`,
      ]
  }
}

/** Time spans that can't be negative. */
export function* spans(given: Given, fields: readonly string[]): Generator<Wrong> {
  for (const field of fields)
    if ((durationMs(textAt(given, field)) ?? 0) < 0)
      yield [at(given, field), `${field} can’t be negative`]
}

/** Texts that must be one of some, or nothing. */
export function* oneOf(
  given: Given,
  choices: Readonly<Record<string, readonly string[]>>,
): Generator<Wrong> {
  for (const [field, allowed] of Object.entries(choices)) {
    const text = textAt(given, field)
    if (text !== '' && !allowed.includes(text))
      yield [at(given, field), `${field} is ${allowed.join(', ')}, not ${quoted(text)}`]
  }
}

/** Go's `netutils.ParseCIDRSloppy`: zeros in front of a number are allowed. */
export function isNetwork(text: string): boolean {
  const [, length] = text.split('/')
  return (
    /^\d{1,3}$/.test(length ?? '') &&
    prefixOf(text.replaceAll(/(^|\.)0+(?=\d)/g, '$1')) !== undefined
  )
}
export const isSloppyAddress = (text: string): boolean =>
  isAddress(text.replaceAll(/(^|\.)0+(?=\d)/g, '$1'))

/** What is wrong with the settings of logs (component-base `logs/api/v1/options.go`, Validate). */
export function* logProblems(given: Given): Generator<Wrong> {
  yield* oneOf(given, { 'logging.format': ['text', 'json'] })
  yield* ranges(given, { 'logging.verbosity': [0, 2 ** 31 - 1] })
  const modules = at(given, 'logging.vmodule')
  for (const { path } of given.document.items(...modules)) {
    const pattern = given.document.text(...path, 'filePattern')
    if (pattern === '') yield [path, 'a rule of logging.vmodule needs filePattern']
    else if (/[=,]/.test(pattern))
      yield [[...path, 'filePattern'], `filePattern ${quoted(pattern)} can’t have = or ,`]
  }
  const format = textAt(given, 'logging.format')
  if (given.document.has(...modules) && format !== '' && format !== 'text')
    yield [modules, 'logging.vmodule needs the format text']
}

/** client-go leader election (component-base `config/validation/validation.go`). */
export function* electionProblems(given: Given): Generator<Wrong> {
  const field = (name: string): string => `leaderElection.${name}`
  if (textAt(given, field('leaderElect')) === 'false') return
  const span = (name: string, otherwise: number): number =>
    durationMs(textAt(given, field(name))) || otherwise
  const [lease, renew, retry] = [
    span('leaseDuration', 15_000),
    span('renewDeadline', 10_000),
    span('retryPeriod', 2000),
  ]
  const set = ['leaseDuration', 'renewDeadline', 'retryPeriod'].find((name) =>
    isSet(given, field(name)),
  )
  const path = at(given, field(set ?? 'leaseDuration'))
  if ([lease, renew, retry].some((one) => one <= 0))
    yield [path, 'the times of leaderElection must be positive']
  else if (lease <= renew) yield [path, 'leaseDuration must be longer than renewDeadline']
  else if (renew <= retry * 1.2)
    yield [path, 'renewDeadline must be longer than 1.2 times retryPeriod']
  const lock = textAt(given, field('resourceLock'))
  if (lock !== '' && lock !== 'leases')
    yield [at(given, field('resourceLock')), `resourceLock is leases, not ${quoted(lock)}`]
}

/** `validation.IsQualifiedName` of apimachinery. */
export function isQualified(text: string): boolean {
  const [name = '', prefix, ...more] = text.split('/').toReversed()
  return (
    more.length === 0 &&
    name.length <= 63 &&
    /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(name) &&
    (prefix === undefined || isSubdomain(prefix))
  )
}

/** `validation.IsDNS1123Subdomain` of apimachinery. */
export const isSubdomain = (text: string): boolean =>
  text.length <= 253 &&
  text.split('.').every((label) => /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/.test(label))
