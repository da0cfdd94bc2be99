import { randomUUID } from 'node:crypto'
import type { ServerDocument } from '#contract/apply/documents.ts'
import {
  canMoveServer,
  canRenameServer,
  type Server,
  serverUpdate,
} from '#contract/servers/servers.ts'
import type { Placed } from '../files.ts'
import {
  type Change,
  demandDatacenter,
  labelChangesOf,
  labelsIn,
  planner,
  type Planning,
  ranks,
  refuse,
} from '../plan.ts'
import { isFreed, matcher, orderRenames, twins } from '../servers.ts'

/** A registered server with the document that describes it. */
interface Pair {
  readonly placed: Placed<ServerDocument>
  readonly server: Server
  readonly changes: readonly Change[]
}

const nameOf = ({ name, uuid, serial }: ServerDocument): string => name ?? uuid ?? serial ?? ''

const documentOf = ({
  name,
  identity: { uuid, serial },
  datacenter,
  labels = {},
}: Server): ServerDocument => ({
  kind: 'server',
  ...(uuid !== null && { uuid }),
  ...(serial !== null && serial !== '' && { serial }),
  name,
  datacenter: datacenter?.code ?? null,
  ...(Object.keys(labels).length > 0 && { labels }),
})

/** The changes that the document asks for; null if a rule forbids one of them. */
async function changesOf(
  planning: Planning,
  placed: Placed<ServerDocument>,
  server: Server,
): Promise<Change[] | null> {
  const { name, datacenter } = placed.document
  const changes: Change[] = []
  if (name !== undefined && name !== server.name)
    changes.push({ field: 'name', before: server.name, after: name })
  const code = server.datacenter?.code ?? null
  if (datacenter !== undefined && datacenter !== code)
    changes.push({ field: 'datacenter', before: code, after: datacenter })
  changes.push(...labelChangesOf(server.labels, placed.document.labels))
  if (typeof datacenter === 'string' && !(await demandDatacenter(planning, placed, datacenter)))
    return null
  if (isFreed(planning, server)) return changes
  const rules = new Map([
    ['name', canRenameServer],
    ['datacenter', canMoveServer],
  ])
  const refused = changes.flatMap(({ field }) => {
    const verdict = rules.get(field)?.(server)
    return verdict?.ok === false ? [{ field, reason: verdict.reason }] : []
  })
  for (const { field, reason } of refused)
    refuse(planning, placed, `${server.name}: ${reason}`, field)
  return refused.length === 0 ? changes : null
}

/** Adds a problem for each new name that a server has which keeps its name. */
function demandFreeNames(
  planning: Planning,
  pairs: readonly Pair[],
  servers: readonly Server[],
): void {
  const leaving = new Set(
    pairs
      .filter(({ changes }) => changes.some((c) => c.field === 'name'))
      .map(({ server }) => server.id),
  )
  const holder = new Map(servers.map((server) => [server.name, server]))
  for (const { placed, server, changes } of pairs) {
    const { name } = placed.document
    const other =
      name === undefined || !changes.some((c) => c.field === 'name') ? undefined : holder.get(name)
    if (other && other.id !== server.id && !leaving.has(other.id))
      refuse(
        planning,
        placed,
        `Another server is called ${name}, with the system UUID ${other.identity.uuid ?? 'unknown'}`,
        'name',
      )
  }
}

function addSteps(planning: Planning, pairs: readonly Pair[]): void {
  const byId = new Map(pairs.map((pair) => [pair.server.id, pair]))
  const renames = pairs.flatMap(({ server, changes }) => {
    const to = changes.find((c) => c.field === 'name')?.after
    return typeof to === 'string' ? [{ id: server.id, from: server.name, to }] : []
  })
  const ordered = orderRenames(renames, () => `moving-${randomUUID().slice(0, 8)}`)
  const versions = new Map<string, number>()
  const step = ({ placed, server }: Pair, changes: readonly Change[], note?: string) =>
    void planning.plan.steps.push({
      does: 'update',
      kind: 'server',
      name: server.name,
      changes,
      ...(note !== undefined && { note }),
      placed,
      rank: ranks.server,
      async run(run) {
        const to = Object.fromEntries(changes.map(({ field, after }) => [field, after])) as {
          name?: string
          datacenter?: string | null
        }
        const labels = labelsIn(changes)
        const body = {
          ...(labels && { labels }),
          ...(to.name !== undefined && { name: to.name }),
          ...(to.datacenter !== undefined && {
            datacenter_id:
              to.datacenter === null ? null : await run.idOf('datacenter', to.datacenter),
          }),
        }
        const { version } = await run.call(
          serverUpdate,
          { params: { id: server.id }, body },
          versions.get(server.id) ?? server.version,
        )
        versions.set(server.id, version)
        if (to.name !== undefined) run.made('server', to.name, server.id)
      },
    })
  for (const pair of pairs)
    if (pair.changes.length > 0 && !pair.changes.some((c) => c.field === 'name'))
      step(pair, pair.changes)
  for (const { id, from, to } of ordered) {
    const pair = byId.get(id)!
    const isLast = pair.placed.document.name === to
    const others = isLast ? pair.changes.filter((c) => c.field !== 'name') : []
    step(
      pair,
      [{ field: 'name', before: from, after: to }, ...others],
      isLast ? undefined : 'to free the name for another server',
    )
  }
}

export const servers = planner<ServerDocument>({
  kind: 'server',
  appliedKind: null,
  nameOf,

  async plan(planning, placed) {
    const { plan, world } = planning
    const all = await world.servers()
    const match = matcher(all)
    const repeated = twins(placed, match)
    const pairs: Pair[] = []
    for (const one of placed) {
      const { document } = one
      const earlier = repeated.get(one)
      const found = match(document)
      if (earlier)
        refuse(planning, one, `${earlier.file}:${earlier.line} describes the same server`)
      else if ('problem' in found) refuse(planning, one, found.problem, found.field)
      else if ('waiting' in found)
        plan.waiting.push({
          kind: 'server',
          name: nameOf(document),
          placed: one,
          reason: found.waiting,
        })
      else {
        const changes = await changesOf(planning, one, found.server)
        if (changes === null) continue
        pairs.push({ placed: one, server: found.server, changes })
        if (changes.length === 0) plan.unchanged++
      }
    }
    demandFreeNames(planning, pairs, all)
    addSteps(planning, pairs)
  },

  prune: async () => undefined,

  async export(world, tell) {
    const all = (await world.servers()).toSorted((a, b) => a.name.localeCompare(b.name))
    const unknown = all.filter(({ identity }) => identity.uuid === null && !identity.serial)
    for (const { name } of unknown)
      tell(`The server ${name} is left out, because it has not reported its identity yet`)
    const match = matcher(all)
    const documents: ServerDocument[] = []
    for (const server of all) {
      if (unknown.includes(server)) continue
      const document = documentOf(server)
      if ('server' in match(document)) documents.push(document)
      else
        tell(
          `The server ${server.name} is left out, because its system UUID and serial number do not tell it apart from others`,
        )
    }
    return documents
  },
})
