import type { FastifyInstance } from 'fastify'
import {
  importLimits,
  subnetAddresses,
  subnetCreate,
  subnetExport,
  subnetGet,
  subnetImport,
  subnetList,
  subnetMap,
  subnetRemove,
  subnetUpdate,
} from '#contract/network/subnets.ts'
import { asJson, serve } from '../../http/serve.ts'
import type { Subnets } from './subnets.ts'

/** In JSON a line break or a quote takes two bytes. */
const largestImport = 2 * importLimits.bytes + 64 * 1024

export function subnetRoutes(app: FastifyInstance, subnets: Subnets): void {
  const on = serve(app)
  on(subnetList, ({ query }) => subnets.list(query))
  serve(app, { isVolatile: true })(subnetGet, ({ params }) => subnets.get(params.id))
  on(subnetCreate, ({ caller, body }) => subnets.create(caller, body))
  on(subnetUpdate, ({ caller, params, body, ifMatch }) => subnets.update(caller, params.id, body, ifMatch))
  on(subnetRemove, ({ caller, params, ifMatch }) => subnets.remove(caller, params.id, ifMatch).then(() => undefined))
  on(subnetAddresses, async ({ params }) => asJson(await subnets.addresses(params.id)))
  on(subnetMap, ({ params }) => subnets.map(params.id))
  on(subnetExport, async ({ query, saveAs }) => {
    const text = await subnets.export(query)
    saveAs('subnets.csv')
    return text
  })
  serve(app, { largestBody: largestImport })(subnetImport, ({ caller, body }) => subnets.import(caller, body))
}
