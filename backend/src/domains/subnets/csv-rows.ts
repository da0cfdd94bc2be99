/** Converts subnets to CSV rows, and a CSV row to a wanted subnet. */
import * as z from 'zod/mini'
import { nameOf } from '#contract/names.ts'
import { formatCidr, parseCidr } from '#contract/network/addresses.ts'
import { readExclusions, subnetProblems } from '#contract/network/subnet-rules.ts'
import { csvColumns, subnetPurposes, wrongVlan } from '#contract/network/subnets.ts'
import type { CsvRecord } from '../../csv/csv.ts'
import { cellsOf, type Columns, entrySeparator, type Trouble } from '../../csv/table.ts'
import type { SubnetRow } from './store-read.ts'
import { canonical, type Wanted } from './present.ts'

type Column = (typeof csvColumns)[number]

const clustersOf = (row: Pick<SubnetRow, 'clusters'>): string =>
  row.clusters.map((c) => c.name).join(entrySeparator)

const cellOf: Readonly<Record<Column, (row: SubnetRow) => string>> = {
  id: (row) => row.id,
  version: (row) => String(row.version),
  name: (row) => row.name,
  cidr: (row) => row.cidr,
  gateway: (row) => row.gateway ?? '',
  vlan: (row) => String(row.vlan_id ?? ''),
  exclude: (row) => row.exclude.join(entrySeparator),
  first_and_last: (row) => String(row.first_and_last),
  purpose: (row) => row.purpose,
  datacenter: (row) => row.datacenter_code,
  cluster: clustersOf,
}

export const tableOf = (rows: readonly SubnetRow[]): string[][] => [
  [...csvColumns],
  ...rows.map((row) => csvColumns.map((column) => cellOf[column](row))),
]

/** The columns of a file of subnets. */
export const subnetColumns: Columns<Column> = {
  columns: csvColumns,
  required: ['name', 'cidr', 'datacenter'],
}

/** Existing objects that rows may refer to. */
export interface Known {
  readonly subnets: ReadonlyMap<string, SubnetRow>
  /** Ids of datacenters, by code. */
  readonly datacenters: ReadonlyMap<string, string>
}

export interface ReadRow {
  readonly line: number
  readonly before: SubnetRow | null
  /** Null if the row has an error. */
  readonly wanted: Wanted | null
  /**
   * `name` and `place` are compared with other rows, even if the row has other errors. Null if the
   * value itself is invalid, or if the row has an error and would change an existing subnet, which
   * then stays unchanged.
   */
  readonly name: string | null
  readonly place: { readonly cidr: string; readonly datacenter_id: string } | null
  readonly troubles: readonly Trouble<Column>[]
}

const name = nameOf('Subnet')
const booleans: Readonly<Record<string, boolean>> = { '': false, false: false, true: true }

/** Reads a row and makes all checks that need no other row. */
export function readRow(record: CsvRecord, columns: readonly Column[], known: Known): ReadRow {
  const troubles: Trouble<Column>[] = []
  const wrong = (column: Column | null, message: string) => void troubles.push({ column, message })
  const { line } = record
  const given = cellsOf(record, columns, subnetColumns)
  if (typeof given === 'string') {
    wrong(null, given)
    return { line, before: null, wanted: null, name: null, place: null, troubles }
  }
  const before = identify(given, known, wrong)
  /** A missing column keeps the stored value; a new subnet gets the default. */
  const cell = <T>(
    column: Column,
    kept: T | undefined,
    fallback: T,
    read: (text: string) => T,
  ): T => {
    const text = given.get(column)
    return text === undefined ? (kept ?? fallback) : read(text)
  }

  const named = z.safeParse(name, given.get('name'))
  if (!named.success) wrong('name', named.error.issues[0]!.message)
  const code = given.get('datacenter')!
  const datacenterId = known.datacenters.get(code)
  if (code === '') wrong('datacenter', 'Datacenter is required')
  else if (datacenterId === undefined)
    wrong('datacenter', `There is no datacenter ${code.slice(0, 40)}`)
  else if (before && before.datacenter_id !== datacenterId)
    wrong('datacenter', `The datacenter of a subnet is fixed: it is in ${before.datacenter_code}`)
  checkCluster(given.get('cluster'), before, wrong)

  const wanted: Wanted = {
    name: named.success ? named.data : '',
    datacenter_id: datacenterId ?? '',
    cidr: given.get('cidr')!,
    gateway: cell('gateway', before?.gateway, null, (text) => (text === '' ? null : text)),
    vlan_id: cell('vlan', before?.vlan_id, null, (text) => {
      if (text === '') return null
      if (/^[1-9]\d{0,3}$/.test(text) && Number(text) <= 4094) return Number(text)
      wrong('vlan', wrongVlan)
      return null
    }),
    exclude: cell('exclude', before?.exclude, [], (text) => text.split(entrySeparator)),
    first_and_last: cell('first_and_last', before?.first_and_last, false, (text) => {
      const value = booleans[text.toLowerCase()]
      if (value === undefined) wrong('first_and_last', 'Enter true or false')
      return value ?? false
    }),
    purpose: cell('purpose', before?.purpose, 'workload', (text) => {
      const value = text === '' ? 'workload' : subnetPurposes.find((p) => p === text)
      if (value === undefined) wrong('purpose', `Enter ${subnetPurposes.join(' or ')}`)
      return value ?? 'workload'
    }),
  }
  const { fields } = subnetProblems(wanted)
  for (const [field, message] of Object.entries(fields))
    wrong(field as Column, field === 'exclude' ? exclusionTrouble(wanted) : message)
  const isCompared = before === null || troubles.length === 0
  const isPlaced = isCompared && datacenterId !== undefined && fields['cidr'] === undefined
  return {
    line,
    before,
    wanted: troubles.length === 0 ? canonical(wanted) : null,
    name: isCompared && named.success ? named.data : null,
    place: isPlaced
      ? { cidr: formatCidr(parseCidr(wanted.cidr)!), datacenter_id: datacenterId }
      : null,
    troubles,
  }
}

/**
 * Why exclusions are invalid. The message has no line number, because a cell's entries have no
 * lines of their own.
 */
function exclusionTrouble({ exclude, cidr }: Wanted): string {
  const read = readExclusions(exclude, parseCidr(cidr.trim()))
  return read.ok ? 'No usable addresses remain after exclusions' : read.what
}

type Wrong = (column: Column | null, message: string) => void

/** The subnet that a row changes; null if the row creates a subnet or has an invalid id. */
function identify(
  given: ReadonlyMap<Column, string>,
  known: Known,
  wrong: Wrong,
): SubnetRow | null {
  const id = (given.get('id') ?? '').toLowerCase()
  const version = given.get('version') ?? ''
  if (id === '') {
    if (version !== '') wrong('version', 'Only a row with an id may have a version')
    return null
  }
  const before = known.subnets.get(id)
  if (!before) {
    wrong(
      'id',
      `There is no subnet with the id ${id.slice(0, 40)}. Leave the id empty to add a subnet`,
    )
    return null
  }
  if (version === '')
    wrong('version', 'A row with an id needs the version that it was exported with')
  else if (version !== String(before.version))
    wrong('version', `Changed by ${before.updated_by} since it was exported. Export it again`)
  return before
}

/** The cluster column can't change anything; its value must match the current clusters. */
function checkCluster(text: string | undefined, before: SubnetRow | null, wrong: Wrong): void {
  if (text === undefined) return
  const inOrder = (names: readonly string[]) => names.toSorted().join(entrySeparator)
  const named = text.split(entrySeparator).flatMap((n) => n.trim() || [])
  if (inOrder(named) === inOrder(before?.clusters.map((c) => c.name) ?? [])) return
  const now =
    before && before.clusters.length > 0
      ? `the subnet is assigned to ${clustersOf(before)}`
      : 'the subnet is not assigned'
  wrong(
    'cluster',
    before
      ? `An import does not change the cluster: ${now}. Use Assign Subnets`
      : 'A new subnet has no cluster. Use Assign Subnets after it is added',
  )
}
