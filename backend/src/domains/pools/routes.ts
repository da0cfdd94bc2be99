import type { FastifyInstance } from 'fastify'
import { clusterSubnets, clusterSubnetsAssign, clusterSubnetsPreview } from '#contract/network/subnets.ts'
import { serve } from '../../http/serve.ts'
import type { Pools } from './pools.ts'

export function poolRoutes(app: FastifyInstance, pools: Pools): void {
  const on = serve(app)
  on(clusterSubnets, ({ params }) => pools.list(params.id))
  on(clusterSubnetsPreview, ({ params, body, signal }) => pools.preview(params.id, body.subnet_ids, signal))
  on(clusterSubnetsAssign, ({ caller, params, body, ifMatch }) => pools.assign(caller, params.id, body, ifMatch))
}
