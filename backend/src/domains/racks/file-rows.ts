/** Converts places of servers to rows of CSV, and a row to the wanted place. */
import { counted } from '#contract/words.ts'
import { rackColumns } from '#contract/racks/files.ts'
import { type Place, placeSaid, type RackFace, rackFaces } from '#contract/racks/placement.ts'
import { bayName, byBay, mostUnits, naturalKey } from '#contract/racks/placing.ts'
import { NewRack, usualUnits } from '#contract/racks/racks.ts'
import type { CsvRecord } from '../../csv/csv.ts'
import { cellsOf, type Columns, type Trouble } from '../../csv/table.ts'
import type { Standing } from '../servers/api.ts'
import type { RackRow } from './store.ts'

type Column = (typeof rackColumns)[number]
interface Datacenter {
  readonly id: string
  readonly code: string
}

export const fileColumns: Columns<Column> = { columns: rackColumns, required: ['rack'] }

const idColumns = ['id', 'server', 'serial'] as const

/** The servers of each rack from above, racks without servers, then servers in no rack. */
export function tableOf(
  racks: readonly RackRow[],
  servers: readonly Standing[],
  datacenters: readonly Datacenter[],
): string[][] {
  const codes = new Map(datacenters.map(({ id, code }) => [id, code]))
  const within = Map.groupBy(servers, ({ placement }) => placement?.rack.id ?? null)
  const serverCells = ({ id, name, serial }: Standing) => [id, name, serial ?? '']
  const inOrder = racks.toSorted((a, b) =>
    `${a.datacenter_code} ${naturalKey(a.name)}` < `${b.datacenter_code} ${naturalKey(b.name)}`
      ? -1
      : 1,
  )
  return [
    [...rackColumns],
    ...inOrder.flatMap((rack) => {
      const rackCells = [rack.datacenter_code, rack.name, String(rack.units)]
      const placed = (within.get(rack.id) ?? []).toSorted(
        (a, b) => b.placement!.unit - a.placement!.unit || byBay(a.placement!, b.placement!),
      )
      return placed.length === 0
        ? [['', '', '', ...rackCells, '', '', '', '']]
        : placed.map((server) => [
            ...serverCells(server),
            ...rackCells,
            String(server.placement!.unit),
            String(server.placement!.height),
            server.placement!.face,
            server.placement!.bay ?? '',
          ])
    }),
    ...(within.get(null) ?? [])
      .toSorted((a, b) => (naturalKey(a.name) < naturalKey(b.name) ? -1 : 1))
      .map((server) => [
        ...serverCells(server),
        codes.get(server.datacenter_id ?? '') ?? '',
        ...Array<string>(6).fill(''),
      ]),
  ]
}

/** A rack that a file names. It has no id if the file adds it. */
export interface NamedRack {
  readonly id: string | null
  readonly name: string
  readonly units: number
  readonly datacenter_id: string
  readonly datacenter_code: string
  /** The line that adds it. */
  readonly line: number | null
}

/** Names of racks are unique in a datacenter, whatever their case. */
export const rackKey = (datacenterId: string, name: string): string =>
  `${datacenterId} ${name.toLowerCase()}`

export interface FileRow {
  readonly line: number
  readonly name: string
  readonly server: Standing | null
  readonly rack: NamedRack | null
  /** Null if the row is about an empty rack, or takes the server out of its rack. */
  readonly place: Place | null
  readonly troubles: readonly Trouble<Column>[]
}

/** "A-07, unit 12", "no rack", or "42 units" of a rack in which the row puts no server. */
export const placeText = ({ server, rack, place }: FileRow): string =>
  rack === null || place === null
    ? server === null && rack !== null
      ? counted(rack.units, 'unit')
      : 'no rack'
    : `${rack.name}, ${placeSaid(place)}`

export interface Known {
  readonly servers: readonly Standing[]
  /** By `rackKey`. Rows add those that they name first. */
  readonly racks: Map<string, NamedRack>
  readonly datacenters: readonly Datacenter[]
}

/** Reads rows of a file one after another: a later row may use the rack that an earlier one adds. */
export function rowReader({ servers, racks, datacenters }: Known) {
  const by = {
    id: new Map(servers.map((server) => [server.id, [server]])),
    server: Map.groupBy(servers, ({ name }) => name),
    serial: Map.groupBy(servers, ({ serial }) => serial ?? ''),
  }
  const codes = new Map(datacenters.map(({ id, code }) => [id, code]))

  return (record: CsvRecord, columns: readonly Column[]): FileRow => {
    const { line } = record
    const troubles: Trouble<Column>[] = []
    const wrong = (column: Column | null, message: string) =>
      void troubles.push({ column, message })
    const given = cellsOf(record, columns, fileColumns)
    if (typeof given === 'string') {
      wrong(null, given)
      return { line, name: '', server: null, rack: null, place: null, troubles }
    }
    const cell = (column: Column): string => given.get(column) ?? ''
    const hasBays = given.has('bay')

    const server = serverOf()
    const rack = rackOf(server)
    const place = server && rack ? placeOf(server) : null
    if (place === null)
      for (const column of ['unit', 'height', 'face', 'bay'] as const)
        if (cell(column) !== '' && troubles.length === 0)
          wrong(
            column,
            server === null
              ? `A row without a server has no ${column}`
              : `A server in no rack has no ${column}. Name its rack, or leave the cell empty`,
          )
    return { line, name: server?.name ?? cell('rack'), server, rack, place, troubles }

    /** The server of the row. Whatever of id, name and serial is given must be of one server. */
    function serverOf(): Standing | null {
      const [first, ...others] = idColumns.filter((column) => cell(column) !== '')
      if (first === undefined) {
        if (cell('rack') === '') wrong(null, 'Name a server or a rack')
        return null
      }
      const text = cell(first)
      const said = text.slice(0, 60)
      const found = by[first].get(first === 'id' ? text.toLowerCase() : text) ?? []
      if (found.length === 0) wrong(first, `There is no server with the ${word[first]} ${said}`)
      if (found.length > 1)
        wrong(first, `${found.length} servers have the ${word[first]} ${said}: give the id`)
      if (found.length !== 1) return null
      const [one] = found
      for (const column of others) {
        const value = column === 'server' ? one!.name : (one!.serial ?? '')
        if (value !== cell(column))
          wrong(
            column,
            `The server with the ${word[first]} ${said} has the ${word[column]} ${value || '–'}`,
          )
      }
      return troubles.length === 0 ? one! : null
    }

    function rackOf(standing: Standing | null): NamedRack | null {
      if (cell('rack') === '' || troubles.length > 0) return null
      const code = cell('datacenter')
      const own = standing?.datacenter_id ?? null
      const asked = datacenters.find((d) => d.code === code)
      if (code !== '' && asked === undefined)
        return none('datacenter', `There is no datacenter ${code.slice(0, 40)}`)
      if (standing && own === null)
        return none('rack', `${standing.name} is in no datacenter: assign it to one first`)
      if (standing && asked && asked.id !== own)
        return none(
          'datacenter',
          `${standing.name} is in ${codes.get(own!)}: an import moves no server to another datacenter`,
        )
      const datacenterId = asked?.id ?? own
      if (datacenterId === null)
        return none('datacenter', 'A rack without a server needs its datacenter')
      const named = NewRack.shape.name.safeParse(cell('rack'))
      if (!named.success) return none('rack', named.error.issues[0]!.message)
      const units = whole('rack_units', `A rack has 1 to ${mostUnits} units`)
      if (units === false) return null
      const key = rackKey(datacenterId, named.data)
      const there = racks.get(key)
      if (there) {
        if (units !== null && units !== there.units)
          return none(
            'rack_units',
            `${there.name} has ${there.units} units. Edit the rack to change that`,
          )
        return there
      }
      const added: NamedRack = {
        id: null,
        name: named.data,
        units: units ?? usualUnits,
        datacenter_id: datacenterId,
        datacenter_code: codes.get(datacenterId)!,
        line,
      }
      racks.set(key, added)
      return added
    }

    function placeOf({ placement }: Standing): Place | null {
      const unit = whole('unit', `Unit must be a whole number from 1 to ${mostUnits}`)
      const height = whole('height', `Height must be a whole number of units, 1 to ${mostUnits}`)
      const text = cell('face').toLowerCase()
      const face: RackFace | undefined =
        text === '' ? (placement?.face ?? 'both') : rackFaces.find((one) => one === text)
      if (face === undefined) wrong('face', `Enter ${rackFaces.join(', ')}`)
      const bay = bayOf(placement?.bay ?? null)
      if (unit === null) wrong('unit', 'Enter the lowest unit that the server takes')
      return typeof unit === 'number' && height !== false && face !== undefined && bay !== false
        ? { unit, height: height ?? placement?.height ?? 1, face, bay }
        : null
    }

    /** An empty cell is no bay. A file without the column leaves bays as they are. */
    function bayOf(now: string | null): string | null | false {
      const text = cell('bay')
      if (!hasBays) return now
      if (text === '') return null
      const read = bayName.safeParse(text)
      if (read.success) return read.data
      wrong('bay', read.error.issues[0]!.message)
      return false
    }

    /** A whole number from 1 to 60; null if the cell is empty, false after a problem. */
    function whole(column: Column, sentence: string): number | null | false {
      const text = cell(column)
      if (text === '') return null
      const number = /^[1-9]\d?$/.test(text) ? Number(text) : NaN
      if (number <= mostUnits) return number
      wrong(column, sentence)
      return false
    }

    function none(column: Column, message: string): null {
      wrong(column, message)
      return null
    }
  }
}

const word = { id: 'id', server: 'name', serial: 'serial number' } as const
