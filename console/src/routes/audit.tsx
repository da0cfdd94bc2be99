import { auditList } from '#contract/audit.ts'
import type { Load } from '../api/page.ts'
import { allowed } from '../api/session.ts'
import { auditQuery } from '../features/audit/audit-queries.ts'

// Not awaited: the page shows placeholders while its data loads, and errors in their place.
export const load: Load<'/audit'> = async ({ search, client }) => {
  if (allowed(auditList).ok) void client.prefetchQuery(auditQuery(search))
}

export { AuditPage as Page } from '../features/audit/AuditPage.tsx'
