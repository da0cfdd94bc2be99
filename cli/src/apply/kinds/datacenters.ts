import type { DatacenterDocument } from '#contract/apply/documents.ts'
import {
  type Datacenter,
  datacenterCreate,
  datacenterRemove,
  datacenterUpdate,
} from '#contract/datacenters.ts'
import {
  bodyOf,
  changesOf,
  fieldsOf,
  keyOf,
  planner,
  planRemoval,
  planUpdate,
  ranks,
} from '../plan.ts'

/** The fields as the API stores them: an empty text is no text. */
const stored = ({ kind: _kind, code: _code, ...fields }: DatacenterDocument) => ({
  ...fields,
  facility: fields.facility || null,
  address: fields.address || null,
  notes: fields.notes || null,
})

/** `PL-POZ-1` → country, city and index. */
function partsOf(code: string): { country_code: string; city_code: string; index: number } {
  const [country_code = '', city_code = '', index = ''] = code.split('-')
  return { country_code, city_code, index: Number(index) }
}

const documentOf = (d: Datacenter): DatacenterDocument => ({
  kind: 'datacenter',
  code: d.code,
  city_name: d.city_name,
  tier: d.tier,
  certifications: d.certifications,
  latitude: d.latitude,
  longitude: d.longitude,
  facility: d.facility,
  address: d.address,
  power_capacity_kw: d.power_capacity_kw,
  rack_capacity: d.rack_capacity,
  notes: d.notes,
})

export const datacenters = planner<DatacenterDocument>({
  kind: 'datacenter',
  appliedKind: 'datacenter',
  nameOf: ({ code }) => code,

  async plan(planning, placed) {
    const now = new Map((await planning.world.datacenters()).map((d) => [d.code, d]))
    for (const one of placed) {
      const { document } = one
      const { code } = document
      const wanted = stored(document)
      const known = now.get(code)
      const step = { kind: 'datacenter', name: code, placed: one, rank: ranks.datacenter } as const
      if (!known) {
        planning.plan.steps.push({
          ...step,
          does: 'create',
          changes: fieldsOf(document),
          run: async (run) =>
            run.made(
              'datacenter',
              code,
              (await run.call(datacenterCreate, { body: { ...partsOf(code), ...wanted } })).id,
            ),
        })
        continue
      }
      planning.described.add(keyOf('datacenter', known.id))
      const changes = changesOf({ ...known }, wanted)
      // The API takes both coordinates or neither.
      const both = changes.some(({ field }) => field === 'latitude' || field === 'longitude')
        ? { latitude: wanted.latitude, longitude: wanted.longitude }
        : {}
      planUpdate(planning, { ...step, changes }, async (run) => {
        await run.call(
          datacenterUpdate,
          { params: { id: known.id }, body: { ...bodyOf(changes), ...both } },
          known.version,
        )
      })
    }
  },

  async prune(planning, applied) {
    const now = new Map((await planning.world.datacenters()).map((d) => [d.id, d]))
    for (const { id } of applied) {
      const known = now.get(id)
      if (known)
        planRemoval(planning, {
          kind: 'datacenter',
          name: known.code,
          rank: ranks.datacenterRemove,
          run: async (run) => run.call(datacenterRemove, { params: { id } }),
        })
    }
  },

  export: async (world) =>
    (await world.datacenters()).toSorted((a, b) => a.code.localeCompare(b.code)).map(documentOf),
})
