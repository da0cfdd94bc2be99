/**
 * Racks of a datacenter, and where in them its servers stand. A placement is data: it sends nothing
 * to a server.
 */
import * as z from 'zod/mini'
import { LeftOut } from '../bounds/rows.ts'
import { codeText, nameText } from '../bounds/fields.ts'
import { WorstFinding } from '../findings/findings.ts'
import { list } from '../list.ts'
import { seen } from '../names.ts'
import { callsOf } from '../object-calls.ts'
import { operation, type Words } from '../operation.ts'
import { byId, changed, wholeIn } from '../page.ts'
import { type Limit, no, type Verdict, yes } from '../rule.ts'
import { Server } from '../servers/server.ts'
import { counted } from '../words.ts'
import { mostUnits, NewPlacement } from './placing.ts'

/** People name racks by what is printed on them: `A-07`, `Row 3 / 12`. */
const rackName = z
  .string()
  .check(
    z.trim(),
    z.minLength(1, 'Enter the name of the rack'),
    z.maxLength(40, 'The name of a rack has at most 40 characters'),
    z.regex(/^[^\r\n\t]*$/, 'The name of a rack is one line'),
    seen(),
    z.normalize('NFC'),
  )
const units = wholeIn(1, mostUnits, `A rack has 1 to ${mostUnits} units`)
export const usualUnits = 42

export const Rack = z.object({
  id: z.uuid(),
  name: nameText,
  datacenter: z.object({ id: z.uuid(), code: codeText }),
  /** Height of the rack. Units are counted from below. */
  units: z.int(),
  /** Number of servers in it, computed. */
  servers: z.int(),
  /** Units of which nothing is taken, computed. */
  free_units: z.int(),
  /** The worst open finding of its servers. */
  finding: z.nullable(WorstFinding),
  /** Clusters that have several control planes in this rack: they stand or fall with it. */
  shared_by: z.array(z.object({ id: z.uuid(), name: nameText, control_planes: z.int() })),
  /** Only in a list: names of the fields that it has left out (`bounds/rows.ts`). */
  left_out: LeftOut,
  ...changed,
})
export type Rack = z.infer<typeof Rack>

export const NewRack = z.strictObject({
  datacenter_id: z.uuid('Choose a datacenter'),
  name: rackName,
  units: z._default(units, usualUnits),
})
export type NewRack = z.infer<typeof NewRack>
/** A rack stays in its datacenter. */
export const RackChange = z.strictObject({
  name: z.optional(rackName),
  units: z.optional(units),
})
export type RackChange = z.infer<typeof RackChange>

export const rackNameTaken = 'This datacenter has a rack of this name already'

const racks = list<Rack>()({
  nouns: ['rack', 'racks'],
  large: { shared_by: [] },
  columns: {
    name: { label: 'Name', sort: true, value: (r: Rack) => r.name },
    datacenter: { label: 'Datacenter', sort: true, value: (r: Rack) => r.datacenter.code },
    status: {
      label: 'Status',
      help: 'The worst finding of its servers, or a cluster with several control planes in it',
      sort: true,
    },
    servers: { label: 'Servers', kind: 'number', sort: true, value: (r: Rack) => r.servers },
    free: {
      label: 'Free units',
      kind: 'number',
      sort: true,
      value: (r: Rack) => r.free_units,
    },
    units: { label: 'Units', kind: 'number', sort: true, value: (r: Rack) => r.units },
  },
  filters: {
    datacenter: {
      label: 'Datacenter',
      help: 'Only racks in this datacenter, by code or id',
      placeholder: 'CODE',
    },
  },
  order: 'name',
})

const calls = callsOf('rack', '/v1/racks', { read: 'servers:read', write: 'servers:write' }, Rack)
export const rackLimit: Limit = {
  most: 10_000,
  nouns: 'racks',
  remedy: 'remove racks that are empty',
}

export const rackList = calls.list(
  racks,
  'Racks, with how full they are and what is wrong in them. `serverList` with the filter `rack` has the servers of one.',
)
export const rackGet = calls.get('One rack.')
export const rackCreate = calls.create({
  summary: 'Add a rack to a datacenter.',
  body: NewRack,
  errors: ['not_found', 'name_taken'],
})
export const rackUpdate = calls.update({
  summary:
    'Rename a rack or change its number of units. Its servers keep their places; none may end up outside of it.',
  body: RackChange,
  errors: ['name_taken', 'conflict', 'stale'],
})
export const rackRemove = calls.remove('Remove an empty rack.', ['conflict', 'stale'])

export const serverPlace = operation(
  'serverPlace',
  'PUT /v1/nodes/{id}/placement',
  'servers:write',
  {
    summary:
      'Record where a server stands: rack, lowest unit, height, face, and its bay if it shares a chassis with other servers. Nothing is sent to the server. A place that another server takes is refused, except another bay of the same chassis.',
    params: byId,
    body: NewPlacement,
    answer: Server,
    errors: ['not_found', 'conflict', 'stale'],
  },
)
export const serverUnplace = operation(
  'serverUnplace',
  'DELETE /v1/nodes/{id}/placement',
  'servers:write',
  {
    summary: 'Record that a server stands in no rack.',
    params: byId,
    errors: ['conflict', 'stale'],
  },
)

export function canRemoveRack(rack: Pick<Rack, 'servers'>): Verdict {
  return rack.servers === 0
    ? yes
    : no(`${counted(rack.servers, 'server')} in this rack. Take them out of it first`)
}

/** "2 control planes of shop-01 are in this rack", for each cluster. */
export const sharedSaid = ({ shared_by }: Pick<Rack, 'shared_by'>): string[] =>
  shared_by.map(
    ({ name, control_planes }) =>
      `${counted(control_planes, 'control plane')} of ${name} are in this rack`,
  )

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    Rack: [Rack, 'A rack of a datacenter. Its units are counted from below.'],
  },
  fields: {
    'rackCreate.name': 'Name, as it is printed on the rack; unique in its datacenter.',
    'rackUpdate.name': 'Name, as it is printed on the rack; unique in its datacenter.',
    rack_id: 'Id of a rack in the datacenter of the server.',
    unit: 'The lowest unit that the server takes, counted from below.',
    units: 'Number of units.',
    height: 'Number of units that the server takes.',
    face: '`both`: the server takes the whole depth. `front`, `rear`: half of it.',
    bay: 'Position in a chassis with several servers, such as `1`, `A` or `left`: 1 to 16 letters, digits, spaces or any of `. _ / -`. The servers of one chassis have rack, unit, height and face in common, and a bay each; case makes no difference. Null if the server stands alone.',
  },
  bodies: {
    rackCreate: { datacenter_id: '00000000-0000-4000-8000-000000000001', name: 'A-07', units: 42 },
    rackUpdate: { name: 'B-07' },
    serverPlace: { rack_id: '00000000-0000-4000-8000-000000000009', unit: 12, height: 2 },
  },
}
