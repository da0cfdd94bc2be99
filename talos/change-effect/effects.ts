/** What a change of a configuration does to a running machine, by the table. */
import { readDocuments, textsOf } from '../config/tree.ts'
import { isSince } from '../versions.ts'
import { type Documents, type ObjectChanges, objectChanges } from './objects.ts'
import { type Component, documents, type Row, sections } from './table.ts'
import { differ, map, text, type Values } from './values.ts'

export interface ChangeEffects extends ObjectChanges {
  /** What changes that takes effect only with a reboot: `machine.files`, `VolumeConfig STATE`. */
  readonly restarts: readonly string[]
  /** What changes that only an installation or an upgrade reads. */
  readonly atInstallation: readonly string[]
  /** The section of etcd changes, which etcd reads when it starts. */
  readonly isOfEtcd: boolean
  /** What Talos starts again. */
  readonly starts: readonly Component[]
  /** What changes on a worker although only control planes read it. */
  readonly unread: readonly string[]
}

export const noEffects: ChangeEffects = {
  restarts: [],
  atInstallation: [],
  isOfEtcd: false,
  starts: [],
  unread: [],
  atKubernetesUpgrade: [],
  left: [],
}

/** Sections whose parts have rows of their own. */
const divided = new Set([
  'machine',
  'cluster',
  'cluster.network',
  'machine.features',
  'machine.controlPlane',
])

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

/** What a worker runs. */
const ofWorkers: ReadonlySet<Component> = new Set(['kubelet', 'containerd'])

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

/** The main document, and the others by kind and name. */
const readAll = (config: string): Documents => {
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
  const isWorker = text(map(now.main['machine'])['type']) === 'worker'
  const all = [
    ...changedSections(then.main, now.main).map((path) => ({ path, rows: [rowOf(path)] })),
    ...differ(then.others, now.others).map((path) => ({
      path,
      rows: rowsOf(path, map(then.others[path]), map(now.others[path])),
    })),
  ]
  const isUnread = ({ rows }: (typeof all)[number]): boolean =>
    isWorker && rows.every((row) => row.isOfControlPlanes === true)
  const changed = all
    .filter((one) => !isUnread(one))
    .map(({ path, rows }) => ({
      path,
      starts: rows.flatMap((row) => row.starts),
      whens: rows.map((row) => whenOf(row, talosVersion)),
    }))
  const paths = (when: Row['when']) =>
    changed.filter(({ whens }) => whens.includes(when)).map(({ path }) => path)
  const starts = changed.flatMap(({ whens, starts }) => (whens.includes('at_once') ? starts : []))
  return {
    restarts: paths('reboot'),
    atInstallation: paths('installation'),
    isOfEtcd: changed.some(({ path }) => path === 'cluster.etcd'),
    starts: [...new Set(starts)].filter((one) => !isWorker || ofWorkers.has(one)),
    unread: all.filter(isUnread).map(({ path }) => path),
    ...(isWorker ? { atKubernetesUpgrade: [], left: [] } : objectChanges(then, now)),
  }
}
