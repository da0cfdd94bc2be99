/** What a change of a configuration does to a running machine, by the table. */
import { isDeepStrictEqual } from 'node:util'
import { readDocuments, textsOf } from '../config/tree.ts'
import { isSince } from '../versions.ts'
import { type Component, documents, type Row, sections } from './table.ts'

type Values = { readonly [key: string]: unknown }

export interface ChangeEffects {
  /** What changes that takes effect only with a reboot: `machine.files`, `VolumeConfig STATE`. */
  readonly restarts: readonly string[]
  /** What changes that only an installation or an upgrade reads. */
  readonly atInstallation: readonly string[]
  /** The section of etcd changes, which etcd reads when it starts. */
  readonly isOfEtcd: boolean
  /** What Talos starts again. */
  readonly starts: readonly Component[]
}

export const map = (value: unknown): Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Values) : {}

/** Without what Talos doesn't tell from an unset field. */
export const tidy = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(tidy)
  if (typeof value !== 'object' || value === null)
    return value === '' || value === 'false' ? undefined : value
  const entries = Object.entries(value)
    .map(([key, one]) => [key, tidy(one)] as const)
    .filter(([, one]) => one !== undefined)
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

export const differ = (a: Values, b: Values, keys?: readonly string[]): string[] =>
  (keys ?? [...new Set([...Object.keys(a), ...Object.keys(b)])]).filter(
    (key) => !isDeepStrictEqual(tidy(a[key]), tidy(b[key])),
  )

/** Sections whose parts have rows of their own. */
const divided = new Set(['machine', 'cluster', 'machine.features', 'machine.controlPlane'])

function changedSections(before: Values, after: Values, above = ''): string[] {
  return differ(before, after).flatMap((key) => {
    const path = above === '' ? key : `${above}.${key}`
    return divided.has(path) ? changedSections(map(before[key]), map(after[key]), path) : [path]
  })
}

function rowOf(path: string): Row {
  for (let at = path; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('.'))))
    if (Object.hasOwn(sections, at)) return sections[at]!
  return { when: 'reboot', starts: [] }
}

const isHead = (key: string): boolean => ['apiVersion', 'kind', 'name'].includes(key)

/** The rows of a document: those of its changed fields. */
function rowsOf(path: string, before: Values, after: Values): readonly Row[] {
  const row = documents[path.split(' ', 1)[0]!] ?? { when: 'at_once', starts: [] }
  if (row.fields === undefined) return [row]
  const fields = differ(before, after).filter((key) => !isHead(key))
  return [...new Set(fields.map((key) => row.fields?.[key] ?? row))]
}

function whenOf(row: Row, talosVersion: string | undefined): Row['when'] {
  if (row.atOnceSince && !isSince(talosVersion, row.atOnceSince)) return 'reboot'
  if (row.rebootSince && !isSince(talosVersion, row.rebootSince)) return 'at_once'
  return row.when
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The main document, and the others by kind and name. */
const readAll = (config: string) => {
  const all = readDocuments(config, '').map((root) => map(textsOf(root)))
  const others = all.filter((entry) => 'kind' in entry)
  return {
    main: all.find((entry) => !('kind' in entry)) ?? {},
    others: Object.fromEntries(
      others.map((entry) => [`${text(entry['kind'])} ${text(entry['name'])}`.trim(), entry]),
    ),
  }
}

/**
 * The effects of a change on a machine that runs.
 * @throws ConfigError for a text that isn't read
 */
export function changeEffects(
  before: string,
  after: string,
  talosVersion: string | undefined,
): ChangeEffects {
  const [then, now] = [readAll(before), readAll(after)]
  const changed = [
    ...changedSections(then.main, now.main).map((path) => ({ path, rows: [rowOf(path)] })),
    ...differ(then.others, now.others).map((path) => ({
      path,
      rows: rowsOf(path, map(then.others[path]), map(now.others[path])),
    })),
  ].map(({ path, rows }) => ({
    path,
    starts: rows.flatMap((row) => row.starts),
    whens: rows.map((row) => whenOf(row, talosVersion)),
  }))
  const paths = (when: Row['when']) =>
    changed.filter(({ whens }) => whens.includes(when)).map(({ path }) => path)
  return {
    restarts: paths('reboot'),
    atInstallation: paths('installation'),
    isOfEtcd: changed.some(({ path }) => path === 'cluster.etcd'),
    starts: [
      ...new Set(changed.flatMap(({ whens, starts }) => (whens.includes('at_once') ? starts : []))),
    ],
  }
}
