import type { FastifyInstance } from 'fastify'
import {
  serverAdd,
  serverCommands,
  serverConfirm,
  serverEvents,
  serverGet,
  serverList,
  serverLogs,
  serverRemove,
  serverServices,
  serverTalosconfig,
  serverUpdate,
} from '#contract/servers/servers.ts'
import { machineCommandKinds } from '#contract/servers/machine-commands.ts'
import { asJson, serve, serveStream } from '../../http/serve.ts'
import type { Servers } from './servers.ts'

export function serverRoutes(app: FastifyInstance, servers: Servers): void {
  const on = serve(app)
  on(serverList, async ({ query }) => asJson(await servers.list(query)))
  on(serverGet, ({ params }) => servers.get(params.id))
  on(serverAdd, ({ caller, body }) => servers.add(caller, body))
  on(serverUpdate, ({ caller, params, body, ifMatch }) => servers.update(caller, params.id, body, ifMatch))
  on(serverConfirm, ({ caller, params, body, ifMatch }) => servers.confirm(caller, params.id, body, ifMatch))
  on(serverRemove, ({ caller, params, query, ifMatch, signal }) => servers.remove(caller, params.id, { force: query.force === 'true', ifMatch, signal }))
  for (const kind of machineCommandKinds) on(serverCommands[kind], ({ caller, params }) => servers.command(caller, params.id, kind))
  on(serverServices, ({ params }) => servers.services(params.id))
  on(serverEvents, ({ params }) => servers.events(params.id))
  on(serverTalosconfig, async ({ caller, params, ...call }) => {
    const { name, yaml } = await servers.talosconfig(caller, params.id)
    call.saveAs(name)
    return yaml
  })
  serveStream(app)(serverLogs, ({ params, query, signal }) => servers.logs(params.id, query, signal))
}
