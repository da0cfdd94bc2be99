import type { SubnetDocument } from '#contract/apply/documents.ts'
import { formatAddress, formatCidr, parseAddress } from '#contract/network/addresses.ts'
import {
  canonicalExclusions,
  readSubnetCidr,
  subnetProblems,
} from '#contract/network/subnet-rules.ts'
import {
  canChangeCidr,
  canChangePurpose,
  type Subnet,
  subnetCreate,
  subnetRemove,
  subnetUpdate,
} from '#contract/network/subnets.ts'
import {
  bodyOf,
  changesOf,
  demandDatacenter,
  fieldsOf,
  keyOf,
  planner,
  type Planning,
  planRemoval,
  planUpdate,
  ranks,
  refuse,
} from '../plan.ts'
import type { Placed } from '../files.ts'

/**
 * The fields in the spelling in which the API returns them. The document has passed
 * `subnetProblems`.
 */
function canonical({
  kind: _kind,
  name: _name,
  datacenter: _datacenter,
  ...fields
}: SubnetDocument) {
  const read = readSubnetCidr(fields.cidr)
  if (!read.ok) throw new Error(read.reason)
  const gateway = fields.gateway === null ? null : parseAddress(fields.gateway)
  return {
    ...fields,
    cidr: formatCidr(read.cidr),
    gateway: gateway && formatAddress(gateway),
    exclude: canonicalExclusions(fields.exclude, read.cidr),
  }
}

const documentOf = (s: Subnet): SubnetDocument => ({
  kind: 'subnet',
  name: s.name,
  datacenter: s.datacenter.code,
  cidr: s.cidr,
  gateway: s.gateway,
  vlan_id: s.vlan_id,
  exclude: s.exclude,
  first_and_last: s.first_and_last,
  purpose: s.purpose,
})

/** Adds the problems of the subnet itself. Resolves to whether there are none. */
async function isValid(planning: Planning, placed: Placed<SubnetDocument>): Promise<boolean> {
  const { fields } = subnetProblems(placed.document)
  for (const [field, sentence] of Object.entries(fields)) refuse(planning, placed, sentence, field)
  const isKnown = await demandDatacenter(planning, placed, placed.document.datacenter)
  return Object.keys(fields).length === 0 && isKnown
}

export const subnets = planner<SubnetDocument>({
  kind: 'subnet',
  appliedKind: 'subnet',
  nameOf: ({ name }) => name,

  async plan(planning, placed) {
    const now = new Map((await planning.world.subnets()).map((s) => [s.name, s]))
    for (const one of placed) {
      const { document } = one
      if (!(await isValid(planning, one))) continue
      const { name, datacenter } = document
      const wanted = canonical(document)
      const known = now.get(name)
      const step = { kind: 'subnet', name, placed: one, rank: ranks.subnet } as const
      if (!known) {
        planning.plan.steps.push({
          ...step,
          does: 'create',
          changes: fieldsOf(document),
          async run(run) {
            const datacenter_id = await run.idOf('datacenter', datacenter)
            run.made(
              'subnet',
              name,
              (await run.call(subnetCreate, { body: { name, datacenter_id, ...wanted } })).id,
            )
          },
        })
        continue
      }
      planning.described.add(keyOf('subnet', known.id))
      if (known.datacenter.code !== datacenter) {
        refuse(
          planning,
          one,
          `The subnet ${name} is in ${known.datacenter.code}, and a subnet cannot be moved to another datacenter`,
          'datacenter',
        )
        continue
      }
      const changes = changesOf({ ...known }, wanted)
      const rules = { cidr: canChangeCidr, purpose: canChangePurpose } as const
      const refused = Object.entries(rules).flatMap(([field, rule]) => {
        const verdict = rule(known)
        return verdict.ok || !changes.some((c) => c.field === field)
          ? []
          : [{ field, reason: verdict.reason }]
      })
      for (const { field, reason } of refused) refuse(planning, one, `${name}: ${reason}`, field)
      if (refused.length === 0)
        planUpdate(planning, { ...step, changes }, async (run) => {
          await run.call(
            subnetUpdate,
            { params: { id: known.id }, body: bodyOf(changes) },
            known.version,
          )
        })
    }
  },

  async prune(planning, applied) {
    const now = new Map((await planning.world.subnets()).map((s) => [s.id, s]))
    for (const { id } of applied) {
      const known = now.get(id)
      if (known)
        planRemoval(planning, {
          kind: 'subnet',
          name: known.name,
          rank: ranks.subnetRemove,
          run: async (run) => run.call(subnetRemove, { params: { id } }),
        })
    }
  },

  export: async (world) =>
    (await world.subnets()).toSorted((a, b) => a.name.localeCompare(b.name)).map(documentOf),
})
