import type { FastifyInstance } from 'fastify'
import { datacenterCreate, datacenterGet, datacenterList, datacenterRemove, datacenterUpdate } from '#contract/datacenters.ts'
import { serve } from '../../http/serve.ts'
import type { Datacenters } from './datacenters.ts'

export function datacenterRoutes(app: FastifyInstance, datacenters: Datacenters): void {
  const on = serve(app)
  on(datacenterList, ({ query }) => datacenters.list(query))
  on(datacenterGet, ({ params }) => datacenters.get(params.id))
  on(datacenterCreate, ({ caller, body }) => datacenters.create(caller, body))
  on(datacenterUpdate, ({ caller, params, body, ifMatch }) => datacenters.update(caller, params.id, body, ifMatch))
  on(datacenterRemove, ({ caller, params, ifMatch }) => datacenters.remove(caller, params.id, ifMatch).then(() => undefined))
}
