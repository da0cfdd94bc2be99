import {
  type Datacenter,
  datacenterCreate,
  datacenterGet,
  datacenterList,
  datacenterRemove,
  datacenterUpdate,
} from '#contract/datacenters.ts'
import {
  command,
  type Command,
  given,
  type Given,
  listCommand,
  objectCommand,
  type Operands,
} from '../command.ts'
import { CliError } from '../exit.ts'
import * as noun from '../nouns.ts'
import { facts } from '../table.ts'
import type { Terminal } from '../terminal.ts'
import { oneLine } from '../text.ts'

const datacenterText = (terminal: Terminal, d: Datacenter): string =>
  facts(terminal, [
    ['Code', d.code],
    ['Id', d.id],
    ['City', `${d.city_name}, ${d.country_code}`],
    ['Tier, declared', d.tier],
    ['Certifications', d.certifications.join(', ')],
    ['Coordinates', d.latitude === null ? null : `${d.latitude}, ${d.longitude}`],
    ['Facility', d.facility],
    ['Address', d.address],
    ['Power', d.power_capacity_kw === null ? null : `${d.power_capacity_kw} kW`],
    ['Racks', d.rack_capacity],
    ['Servers', d.servers],
    ['Clusters', d.clusters],
    ['Subnets', d.subnets],
    ['Compute units', `${d.compute_units.free} of ${d.compute_units.total} free`],
    ['Notes', d.notes],
  ])

const noteOptions = {
  tier: { kind: 'number', value: 'N', help: 'Tier that the provider declares, 1 to 4' },
  certification: {
    kind: 'text',
    value: 'NAME',
    help: 'Certification, such as "ISO 27001"',
    many: true,
    whole: true,
  },
  latitude: {
    kind: 'number',
    decimal: true,
    value: 'DEGREES',
    help: 'Degrees north, with --longitude; south is negative: --latitude=-33.9',
  },
  longitude: {
    kind: 'number',
    decimal: true,
    value: 'DEGREES',
    help: 'Degrees east, with --latitude; west is negative: --longitude=-0.1',
  },
  facility: { kind: 'text', value: 'NAME', help: 'Building or its operator' },
  address: { kind: 'text', value: 'TEXT', help: 'Street address' },
  'power-kw': { kind: 'number', decimal: true, value: 'KW', help: 'Power capacity' },
  racks: { kind: 'number', value: 'N', help: 'Number of racks that the site has room for' },
  notes: { kind: 'text', value: 'TEXT', help: 'Notes' },
} as const

/**
 * The request body, with only the fields that were given as options. The API validates the tier.
 */
const noted = (o: Given<Operands, typeof noteOptions>['options']) =>
  given({
    tier: o.tier as Datacenter['tier'] | undefined,
    certifications: o.certification.length > 0 ? o.certification : undefined,
    latitude: o.latitude,
    longitude: o.longitude,
    facility: o.facility,
    address: o.address,
    power_capacity_kw: o['power-kw'],
    rack_capacity: o.racks,
    notes: o.notes,
  })

export const datacenterCommands: Command[] = [
  listCommand({
    name: 'datacenter list',
    summary: 'The datacenters, with what each contains. CU: compute units.',
    examples: ['datacenter list', 'datacenter list --sort=-free'],
    operation: datacenterList,
    shown: [
      'code',
      'city_name',
      'country',
      'tier',
      'servers',
      'clusters',
      'subnets',
      'free',
      'total_cu',
    ],
    cells: { total_cu: { text: (d) => String(d.compute_units.total), right: true } },
  }),
  objectCommand({
    name: 'datacenter show',
    of: noun.datacenter,
    operation: datacenterGet,
    say: (d, _name, { terminal }) => datacenterText(terminal, d),
  }),
  command({
    name: 'datacenter add',
    summary: 'Add a datacenter; its code is made from country, city and a running number.',
    options: {
      country: { kind: 'text', value: 'CC', help: 'Country, two letters (ISO 3166)' },
      'city-code': { kind: 'text', value: 'CODE', help: 'City, three characters (UN/LOCODE)' },
      city: { kind: 'text', value: 'NAME', help: 'Name of the city' },
      index: {
        kind: 'number',
        value: 'N',
        help: 'Number in the code (default: the next number of the city)',
      },
      ...noteOptions,
    },
    examples: ['datacenter add --country PL --city-code POZ --city Poznań --tier 3'],
    async run({ api, show }, { options }) {
      const { country, 'city-code': cityCode, city, index } = options
      if (country === undefined || cityCode === undefined || city === undefined)
        throw new CliError('usage', 'Give --country, --city-code and --city')
      const body = {
        country_code: country.toUpperCase(),
        city_code: cityCode.toUpperCase(),
        city_name: city,
        ...given({ index }),
        ...noted(options),
      }
      show(await api.call(datacenterCreate, { body }), (d) => `${d.code} is added\n`)
    },
  }),
  objectCommand({
    name: 'datacenter edit',
    of: noun.datacenter,
    operation: datacenterUpdate,
    summary:
      'Change a datacenter. Its code can change only while nothing refers to the datacenter.',
    options: {
      'city-code': { kind: 'text', value: 'CODE', help: 'City, three characters (UN/LOCODE)' },
      city: { kind: 'text', value: 'NAME', help: 'Name of the city' },
      index: { kind: 'number', value: 'N', help: 'Number in the code' },
      ...noteOptions,
    },
    examples: ['datacenter edit PL-POZ-1 --tier 4 --certification ISO-27001'],
    async ask(_context, { options }) {
      const body = {
        ...given({
          city_code: options['city-code']?.toUpperCase(),
          city_name: options.city,
          index: options.index,
        }),
        ...noted(options),
      }
      if (Object.keys(body).length === 0) throw new CliError('usage', 'Specify what to change')
      return { body }
    },
    say: (d) => `${d.code} is changed\n`,
  }),
  objectCommand({
    name: 'datacenter remove',
    of: noun.datacenter,
    operation: datacenterRemove,
    say: (_none, code) => `${oneLine(code)} is removed\n`,
  }),
]
