/**
 * Datacenters: the sites of servers, clusters and subnets.
 * Codes are ISO 3166-1 country, UN/LOCODE place, running index: PL-POZ-1.
 */
import type { Words } from './operation.ts'
import * as z from 'zod/mini'
import { LeftOut } from './bounds/rows.ts'
import { codeText } from './bounds/fields.ts'
import { list } from './list.ts'
import { seen } from './names.ts'
import { callsOf } from './object-calls.ts'
import { changed, wholeIn } from './page.ts'
import { type Limit, no, type Verdict, yes } from './rule.ts'
import { count, counted } from './words.ts'

const countryLetters = z
  .string()
  .check(
    z.maxLength(2, 'Country code must be two letters (ISO 3166)'),
    z.regex(/^[A-Z]{2}$/, 'Country code must be two letters (ISO 3166)'),
  )
/**
 * The two-letter countries of ISO 3166-1, and XK, the user-assigned code for Kosovo. Listed here
 * because browsers and Node.js differ in which further regions they know (ZZ, EU, codes of former
 * countries).
 */
const countries = new Set(
  (
    'AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM ' +
    'CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY ' +
    'HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF ' +
    'MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE ' +
    'RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ ' +
    'VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW'
  ).split(' '),
)
/**
 * Checked only on input, so that codes that were stored before this list existed are still shown.
 */
const countryCode = countryLetters.check(
  z.refine((code) => countries.has(code), 'No country has this code (ISO 3166)'),
)
/** UN/LOCODE place: letters and the digits 2 to 9. */
const cityCode = z
  .string()
  .check(
    z.maxLength(3, 'City code must be 3 characters: letters or 2-9 (UN/LOCODE)'),
    z.regex(/^[A-Z2-9]{3}$/, 'City code must be 3 characters: letters or 2-9 (UN/LOCODE)'),
  )
const numberIn = (low: number, high: number, sentence: string) =>
  z.number(sentence).check(z.gte(low, sentence), z.lte(high, sentence))
const textUpTo = (length: number, name: string) =>
  z
    .string()
    .check(
      z.trim(),
      z.maxLength(length, `${name} must be no more than ${length} characters`),
      seen(),
    )
const latitude = numberIn(-90, 90, 'Latitude must be a number from -90 to 90')
const longitude = numberIn(-180, 180, 'Longitude must be a number from -180 to 180')

export const lastIndex = 999
const index = wholeIn(1, lastIndex, `Index must be a whole number from 1 to ${lastIndex}`)

const declared = z.strictObject({
  country_code: countryLetters,
  city_code: cityCode,
  city_name: textUpTo(64, 'City').check(z.minLength(1, 'City is required')),
  /** The provider's own claim (Uptime Institute tiers), unverified. */
  tier: z.nullable(z.literal([1, 2, 3, 4])),
  certifications: z
    .array(textUpTo(40, 'A certification').check(z.minLength(1, 'A certification needs a name')))
    .check(z.maxLength(20, 'At most 20 certifications')),
  latitude: z.nullable(latitude),
  longitude: z.nullable(longitude),
  /** Name of the building or its operator, and its address. */
  facility: z.nullable(textUpTo(50, 'Facility')),
  address: z.nullable(textUpTo(200, 'Address')),
  power_capacity_kw: z.nullable(
    numberIn(0, 1_000_000, `Power capacity must be a number of kW from 0 to ${count(1_000_000)}`),
  ),
  rack_capacity: z.nullable(
    wholeIn(0, 100_000, `Rack capacity must be a whole number from 0 to ${count(100_000)}`),
  ),
  notes: z.nullable(textUpTo(2000, 'Notes')),
})

/**
 * Country, city and index form the code. They may change while the datacenter is empty. If the city
 * changes, the default index is the city's next one.
 */
const change = z.extend(z.partial(declared), {
  country_code: z.optional(countryCode),
  index: z.optional(index),
})

export const Datacenter = z.extend(declared, {
  id: z.uuid(),
  code: codeText,
  /** Number of servers, computed. Servers with unknown hardware add nothing to `compute_units`. */
  servers: z.int(),
  clusters: z.int(),
  subnets: z.int(),
  compute_units: z.object({ total: z.int(), free: z.int() }),
  /** Only in a list: names of the fields that it has left out (`bounds/rows.ts`). */
  left_out: LeftOut,
  ...changed,
})
export type Datacenter = z.infer<typeof Datacenter>
export type DatacenterInput = z.infer<typeof DatacenterInput>
export type DatacenterChange = z.infer<typeof change>

/**
 * The index is optional. Default: the next index in the city. The code of a removed datacenter is
 * never used again.
 */
export const DatacenterInput = z
  .extend(declared, {
    country_code: countryCode,
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
  .check(
    z.refine((d) => (d.latitude === null) === (d.longitude === null), {
      error: 'Enter both latitude and longitude, or neither',
      path: ['longitude'],
    }),
  )

const datacenters = list<Datacenter>()({
  nouns: ['datacenter', 'datacenters'],
  large: { certifications: [], address: null, notes: null },
  columns: {
    code: { label: 'Code', sort: true, value: (d: Datacenter) => d.code },
    country: { label: 'Country', value: (d: Datacenter) => d.country_code },
    city_name: { label: 'City', sort: true, value: (d: Datacenter) => d.city_name },
    tier: { label: 'Tier', kind: 'number', sort: true, value: (d: Datacenter) => d.tier },
    certifications: {
      label: 'Certifications',
      value: (d: Datacenter) => d.certifications.join(', ') || null,
    },
    servers: { label: 'Servers', kind: 'number', sort: true, value: (d: Datacenter) => d.servers },
    clusters: { label: 'Clusters', kind: 'number', value: (d: Datacenter) => d.clusters },
    subnets: { label: 'Subnets', kind: 'number', value: (d: Datacenter) => d.subnets },
    free: {
      label: 'Free CU',
      help: '1 compute unit (CU) is 1 physical core with 4 GiB of memory. Servers with unknown hardware are not counted.',
      kind: 'number',
      sort: true,
      value: (d: Datacenter) => d.compute_units.free,
    },
  },
  order: 'code',
})

const calls = callsOf(
  'datacenter',
  '/v1/datacenters',
  { read: 'datacenters:read', write: 'datacenters:write' },
  Datacenter,
)
export const datacenterLimit: Limit = {
  most: 1_000,
  nouns: 'datacenters',
  remedy: 'remove one that is empty',
}

export const datacenterList = calls.list(datacenters, 'The datacenters, with what each contains.')

export const datacenterGet = calls.get('One datacenter.')

export const datacenterCreate = calls.create({
  summary: 'Add a datacenter; its code is made from country, city and index.',
  body: DatacenterInput,
  errors: ['conflict'],
})

export const datacenterUpdate = calls.update({
  summary: 'Change a datacenter. Country, city and index cannot change while it contains anything.',
  body: change,
  errors: ['stale', 'datacenter_in_use', 'conflict'],
})

export const datacenterRemove = calls.remove('Remove an empty datacenter.', [
  'datacenter_in_use',
  'stale',
])

export function canRemoveDatacenter(
  d: Pick<Datacenter, 'servers' | 'clusters' | 'subnets'>,
): Verdict {
  const inside = [
    d.clusters > 0 && counted(d.clusters, 'cluster'),
    d.servers > 0 && counted(d.servers, 'server'),
    d.subnets > 0 && counted(d.subnets, 'subnet'),
  ].filter(Boolean)
  return inside.length === 0
    ? yes
    : no(`In this datacenter: ${inside.join(', ')}. Move or remove them first`)
}

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    Datacenter: [
      Datacenter,
      'A site with servers, clusters and subnets. Its code is made from country, city and index: PL-POZ-1.',
    ],
  },
  fields: {
    address: 'Street address.',
    certifications: 'Certifications that the site has.',
    city_code: 'The three characters of the UN/LOCODE place.',
    city_name: 'Displayed name of the city.',
    country_code: 'ISO 3166-1 country, two letters.',
    facility: 'Name of the building or of its operator.',
    index: 'Number at the end of the code. Default: the next number of the city.',
    latitude: 'Degrees north. Give both coordinates or neither.',
    longitude: 'Degrees east.',
    notes: 'Free text.',
    power_capacity_kw: 'Power of the site in kW.',
    rack_capacity: 'Number of racks that the site has room for.',
    tier: 'Tier that the provider declares (Uptime Institute); null if none is declared.',
  },
  bodies: {
    datacenterCreate: {
      country_code: 'PL',
      city_code: 'POZ',
      city_name: 'Poznań',
      tier: 3,
      certifications: ['ISO 27001'],
      latitude: 52.41,
      longitude: 16.93,
    },
    datacenterUpdate: { tier: 4, certifications: ['ISO 27001', 'SOC 2 Type II'] },
  },
}
