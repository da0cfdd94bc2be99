/**
 * Datacenters: the sites that servers, clusters and subnets stand in.
 * Codes are ISO 3166-1 country, UN/LOCODE place, running index: PL-POZ-1.
 */
import * as z from 'zod/mini'
import { operation } from './operation.ts'
import { byId, listQuery, pageOf, time } from './page.ts'
import { no, type Verdict, yes } from './rule.ts'
import { counted } from './words.ts'

const countryCode = z.string().check(z.regex(/^[A-Z]{2}$/, 'Country code must be two letters (ISO 3166)'))
/** UN/LOCODE place: letters, and 2 to 9 where letters ran out; 0 and 1 are never used. */
const cityCode = z.string().check(z.regex(/^[A-Z2-9]{3}$/, 'City code must be 3 characters: letters or 2-9 (UN/LOCODE)'))
const latitude = z.number().check(z.gte(-90), z.lte(90))
const longitude = z.number().check(z.gte(-180), z.lte(180))

const index = z.int().check(z.gte(1), z.lte(999))

const declared = z.strictObject({
  country_code: countryCode,
  city_code: cityCode,
  city_name: z.string().check(z.trim(), z.minLength(1), z.maxLength(64)),
  /** What the provider claims (Uptime Institute tiers); nobody has checked it. */
  tier: z.nullable(z.literal([1, 2, 3, 4])),
  certifications: z.array(z.string().check(z.trim(), z.minLength(1), z.maxLength(40))).check(z.maxLength(20)),
  latitude: z.nullable(latitude),
  longitude: z.nullable(longitude),
  /** Name of the building or of its operator, and where it stands. */
  facility: z.nullable(z.string().check(z.trim(), z.maxLength(50))),
  address: z.nullable(z.string().check(z.trim(), z.maxLength(200))),
  power_capacity_kw: z.nullable(z.number().check(z.gte(0), z.lte(1_000_000))),
  rack_capacity: z.nullable(z.int().check(z.gte(0), z.lte(100_000))),
  notes: z.nullable(z.string().check(z.maxLength(2000))),
})

/** The index may be changed while nothing refers to the datacenter. */
const change = z.extend(z.partial(declared), { index: z.optional(index) })

export const Datacenter = z.extend(declared, {
  id: z.uuid(),
  code: z.string(),
  /** Counted, never typed in. Compute units of servers whose hardware is unknown are left out. */
  servers: z.int(),
  clusters: z.int(),
  subnets: z.int(),
  compute_units: z.object({ total: z.int(), free: z.int() }),
  version: z.int(),
  created_at: time,
  updated_at: time,
})
export type Datacenter = z.infer<typeof Datacenter>
export type DatacenterInput = z.infer<typeof creation>
export type DatacenterChange = z.infer<typeof change>

/** The index may be given while the code is new; without it the city counts up, and a removed code never comes back. */
const creation = z
  .extend(declared, {
    index: z.optional(index),
    tier: z._default(declared.shape.tier, null),
    certifications: z._default(declared.shape.certifications, []),
    latitude: z._default(declared.shape.latitude, null),
    longitude: z._default(declared.shape.longitude, null),
    facility: z._default(declared.shape.facility, null),
    address: z._default(declared.shape.address, null),
    power_capacity_kw: z._default(declared.shape.power_capacity_kw, null),
    rack_capacity: z._default(declared.shape.rack_capacity, null),
    notes: z._default(declared.shape.notes, null),
  })
  .check(z.refine((d) => (d.latitude === null) === (d.longitude === null), { error: 'Enter both latitude and longitude, or neither', path: ['longitude'] }))

export const datacenterList = operation({
  name: 'datacenterList',
  summary: 'The datacenters, with what stands in each.',
  method: 'GET',
  path: '/v1/datacenters',
  scope: 'datacenters:read',
  query: z.strictObject(listQuery(['code', 'city_name', 'tier', 'servers', 'free'])),
  answer: pageOf(Datacenter),
})

export const datacenterGet = operation({
  name: 'datacenterGet',
  summary: 'One datacenter.',
  method: 'GET',
  path: '/v1/datacenters/{id}',
  scope: 'datacenters:read',
  params: byId,
  answer: Datacenter,
  errors: ['not_found'],
})

export const datacenterCreate = operation({
  name: 'datacenterCreate',
  summary: 'Add a datacenter; its code is made from country, city and index.',
  method: 'POST',
  path: '/v1/datacenters',
  scope: 'datacenters:write',
  body: creation,
  answer: Datacenter,
  status: 201,
  errors: ['conflict'],
})

export const datacenterUpdate = operation({
  name: 'datacenterUpdate',
  summary: 'Change a datacenter. Country and city are fixed while anything refers to it.',
  method: 'PATCH',
  path: '/v1/datacenters/{id}',
  scope: 'datacenters:write',
  params: byId,
  body: change,
  answer: Datacenter,
  errors: ['not_found', 'stale', 'datacenter_in_use', 'conflict'],
})

export const datacenterRemove = operation({
  name: 'datacenterRemove',
  summary: 'Remove a datacenter that nothing stands in.',
  method: 'DELETE',
  path: '/v1/datacenters/{id}',
  scope: 'datacenters:write',
  params: byId,
  status: 204,
  errors: ['not_found', 'datacenter_in_use', 'stale'],
})

export function canRemoveDatacenter(d: Pick<Datacenter, 'servers' | 'clusters' | 'subnets'>): Verdict {
  const inside = [
    d.clusters > 0 && counted(d.clusters, 'cluster'),
    d.servers > 0 && counted(d.servers, 'server'),
    d.subnets > 0 && counted(d.subnets, 'subnet'),
  ].filter(Boolean)
  return inside.length === 0 ? yes : no(`In this datacenter: ${inside.join(', ')}. Move or remove them first`)
}
