/** The calls about templates, for the Steelyard in memory. */
import { firstSettingsOf } from '#contract/templates/first-settings.ts'
import * as z from 'zod/mini'
import type { AppliedKind } from '#contract/apply/applied.ts'
import { NewCluster } from '#contract/clusters/clusters.ts'
import { chooseServers } from '#contract/templates/choose.ts'
import {
  clusterTemplate,
  definitionOf,
  NewTemplate,
  type Template,
  templateCreate,
  templateGet,
  type ListedTemplate,
  templateList,
  templatePlan,
  templateRemove,
  templateUpdate,
} from '#contract/templates/templates.ts'
import { devicePath } from '#contract/disks/disks.ts'
import { diskName } from '#contract/disks/wipe.ts'
import type { Server } from '#contract/servers/servers.ts'
import { Problem } from '#contract/errors.ts'
import type { TestApi } from './api.ts'
import { excerptOf, id, pageOf } from './things.ts'

const at = '2026-11-20T08:00:00.000Z'

interface Around {
  readonly servers: readonly Server[]
  readonly made: (kind: AppliedKind, id: string) => void
  readonly gone: (kind: AppliedKind, id: string) => void
}

/** @returns the saved templates */
export function serveTemplates(api: TestApi, { servers, made, gone }: Around): Template[] {
  const all: Template[] = []
  const one = (wanted: string): Template => {
    const found = all.find((t) => t.id === wanted)
    if (!found) throw new Problem('not_found', 'There is no such template')
    return found
  }
  const listed = (t: Template): ListedTemplate => {
    const role = <R extends Template['workers']>({ patch, ...rest }: R) => ({
      ...rest,
      ...(patch && { patch: { ...patch, body: excerptOf(patch.body) } }),
    })
    return { ...t, control_planes: role(t.control_planes), workers: role(t.workers) }
  }
  api.on(templateList, ({ query }) =>
    pageOf(all.filter((t) => t.name.includes(query.q ?? '')).map(listed)),
  )
  api.on(templateGet, ({ params }) => one(params.id))
  api.on(templateCreate, ({ body }) => {
    const template: Template = {
      ...body,
      id: id(5000 + all.length),
      revision: 1,
      created_by: 'ada@example.com',
      version: 1,
      created_at: at,
      updated_at: at,
    }
    all.push(template)
    made('template', template.id)
    return template
  })
  api.on(templateUpdate, ({ params, body }) => {
    const { revision, version } = one(params.id)
    const changed = { ...one(params.id), ...body, revision: revision + 1, version: version + 1 }
    all.splice(all.indexOf(one(params.id)), 1, changed)
    return changed
  })
  api.on(templateRemove, ({ params }) => {
    all.splice(all.indexOf(one(params.id)), 1)
    gone('template', params.id)
    return undefined
  })
  api.on(clusterTemplate, () => ({
    template: z.parse(NewTemplate, { name: 'web', labels: { like: 'web' } }),
    left_out: ['The patch keys of the workers holds a secret, or a value that may be one'],
  }))
  api.on(templatePlan, ({ body }) => {
    const saved = body.template ?? definitionOf(one(body.template_id!))
    const template = {
      ...saved,
      control_planes: {
        ...saved.control_planes,
        count: body.control_planes ?? saved.control_planes.count,
      },
      workers: { ...saved.workers, count: body.workers ?? saved.workers.count },
    }
    const choice = chooseServers(
      servers.filter((s) => !body.without.includes(s.id)),
      { control_plane: template.control_planes, worker: template.workers, isSpread: true },
      body.clusters.length,
    )
    const gone = template.talos_version === 'v1.2.3'
    const isWhole = choice.clusters !== null && !gone
    return {
      template,
      refusals: [
        ...(gone ? ["The versions of the template can't be had any more"] : []),
        ...(choice.refusal === null ? [] : [choice.refusal]),
      ],
      nearest: null,
      warnings: [],
      left: choice.left.map(({ reason, servers: those }) => ({
        reason,
        count: those.length,
        servers: those.map(({ id: serverId, name }) => ({ id: serverId, name })),
      })),
      clusters: isWhole
        ? choice.clusters.map((chosen, i) => ({
            name: body.clusters[i]!.name,
            servers: chosen.map(({ server, role, reasons, install_disk, install_reason }) => ({
              node_id: server.id,
              name: server.name,
              role,
              rack: null,
              reasons: [...reasons],
              install_disk: {
                device: devicePath(install_disk.id),
                disk: diskName(install_disk),
                size: install_disk.size ?? null,
                content: 'empty',
                reason: install_reason,
                wiped: true,
              },
              workload_disks: [],
            })),
            body: z.parse(NewCluster, {
              name: body.clusters[i]!.name,
              datacenter_id: body.datacenter_id,
              servers: chosen.map(({ server, role, install_disk }) => ({
                node_id: server.id,
                role,
                install_disk: devicePath(install_disk.id),
              })),
              confirmed_disks: chosen.map(({ install_disk }) => ({
                serial: install_disk.serial!,
                content: 'empty',
              })),
              ...firstSettingsOf(template, null),
            }),
            to_confirm: [],
            subnets: [],
          }))
        : null,
    }
  })
  return all
}
