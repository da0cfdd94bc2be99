import type { FastifyInstance } from 'fastify'
import { clusterResume, operationResume, restorationGet } from '#contract/restoration.ts'
import { serve, signedIn } from '../../http/serve.ts'
import type { Restorations } from './restoration.ts'

export function restorationRoutes(app: FastifyInstance, restorations: Restorations): void {
  const on = serve(app)
  on(restorationGet, ({ caller }) => restorations.read(signedIn(caller)))
  on(clusterResume, ({ caller, params }) => restorations.resumeCluster(signedIn(caller), params.id))
  on(operationResume, ({ caller, params }) => restorations.resumeOperation(signedIn(caller), params.id))
}
