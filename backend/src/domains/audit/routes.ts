import type { FastifyInstance } from 'fastify'
import { auditList } from '#contract/audit.ts'
import { serve } from '../../http/serve.ts'
import type { Audit } from './audit.ts'

export function auditRoutes(app: FastifyInstance, audit: Audit): void {
  serve(app)(auditList, ({ query }) => audit.list(query))
}
