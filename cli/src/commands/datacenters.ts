import { type Datacenter, datacenterList } from '#contract/datacenters.ts'
import { command, type Command, given, listOptions } from '../command.ts'
import { type Column, shownOf, table } from '../table.ts'

const columns: readonly Column<Datacenter>[] = [
  { title: 'CODE', text: (d) => d.code },
  { title: 'CITY', text: (d) => d.city_name },
  { title: 'COUNTRY', text: (d) => d.country_code },
  { title: 'TIER', text: (d) => (d.tier === null ? '-' : String(d.tier)), right: true },
  { title: 'SERVERS', text: (d) => String(d.servers), right: true },
  { title: 'CLUSTERS', text: (d) => String(d.clusters), right: true },
  { title: 'FREE CU', text: (d) => String(d.compute_units.free), right: true },
  { title: 'TOTAL CU', text: (d) => String(d.compute_units.total), right: true },
]

export const datacenterCommands: Command[] = [
  command({
    name: 'datacenter list',
    summary: 'The sites, with what stands in each. CU: compute units.',
    options: listOptions(['code', 'city_name', 'tier', 'servers', 'free']),
    examples: ['datacenter list', 'datacenter list --sort=-free'],
    async run({ terminal, api, show }, { options }) {
      const query = given({ q: options.search, sort: options.sort, page: options.page, per_page: options['per-page'] })
      show(await api.call(datacenterList, { query }), (page) => table(terminal, page.items, columns, 'No datacenters') + shownOf(page))
    },
  }),
]
