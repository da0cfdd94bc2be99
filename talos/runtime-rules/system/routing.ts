/** BGP instances of Talos 1.14, which fit together or none of them runs. */
import type { Report } from '../../config/report.ts'
import type { Configuration, Hit, RuntimeRule } from '../rule.ts'

const none = 'Talos runs no BGP at all then'

/** Names of the instances whose routes an instance imports. */
const importsOf = (document: Report) =>
  document.items('importRoutes').map(({ path }) => ({
    path: [...path, 'bgpInstance'],
    text: document.text(...path, 'bgpInstance'),
  }))

/** Whether an instance gets routes of another one, over others too. */
function reaches(from: string, to: string, byName: ReadonlyMap<string, Report>): boolean {
  const seen = new Set<string>()
  const open = [from]
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (name === to) return true
    if (seen.has(name)) continue
    seen.add(name)
    const document = byName.get(name)
    if (document !== undefined) open.push(...importsOf(document).map(({ text }) => text))
  }
  return false
}

function* problems(config: Configuration): Generator<Hit> {
  const instances = config.of('BGPInstanceConfig')
  const byName = new Map(instances.map((one) => [one.text('name'), one]))
  const domains = new Map<string, string>()
  const vrfs = new Set(config.of('VRFConfig').map((one) => one.text('name')))
  for (const document of instances) {
    const [name, vrf] = [document.text('name'), document.text('vrf')]
    const other = domains.get(vrf)
    if (other !== undefined)
      yield {
        document,
        path: ['vrf'],
        sentence: `The BGP instances ${other} and ${name} are both in ${vrf === '' ? 'the default routing domain' : `the VRF ${vrf}`}: ${none}`,
      }
    domains.set(vrf, name)
    if (vrf !== '' && !vrfs.has(vrf))
      yield {
        document,
        path: ['vrf'],
        sentence: `No VRFConfig has the name ${vrf} of the BGP instance ${name}: ${none}`,
      }
    for (const { path, text } of importsOf(document)) {
      if (text === '' || text === name) continue
      if (!byName.has(text))
        yield {
          document,
          path,
          sentence: `There is no BGP instance ${text}, whose routes ${name} imports: ${none}`,
        }
      else if (reaches(text, name, byName))
        yield {
          document,
          path,
          sentence: `The BGP instances ${name} and ${text} import routes of each other: ${none}`,
        }
    }
  }
}

export const routingRules: readonly RuntimeRule[] = [
  {
    id: 'bgp-instances',
    source:
      'Talos internal/app/machined/pkg/controllers/network/bgp_instance_config.go (v1.14.1), renderBGPInstanceConfigs: one error, and no instance is rendered',
    level: 'refuse',
    find: problems,
  },
]
