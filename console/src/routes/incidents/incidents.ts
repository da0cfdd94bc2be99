/** The pages of incidents, of their findings and of the history, in one file: its name is in the script of all pages. */
import type { PageModule } from '../../api/page.ts'
import { findingsQuery } from '../../features/findings/finding-queries.ts'
import { FindingsPage } from '../../features/findings/FindingsPage.tsx'
import { historyQuery } from '../../features/history/history-queries.ts'
import { HistoryPage } from '../../features/history/HistoryTable.tsx'
import { IncidentPage } from '../../features/incidents/IncidentPage.tsx'
import { IncidentsPage } from '../../features/incidents/IncidentsPage.tsx'
import { incidentQuery, incidentsQuery } from '../../layout/incidents/incident-queries.ts'

// Not awaited: the pages show placeholders while their data loads, and errors in their place.
export const list: PageModule<'/incidents'> = {
  load: async ({ search, client }) => void client.prefetchQuery(incidentsQuery(search)),
  Page: IncidentsPage,
}

export const one: PageModule<'/incidents/$id'> = {
  load: async ({ params, client }) => void client.prefetchQuery(incidentQuery(params.id)),
  Page: IncidentPage,
}

export const findings: PageModule<'/findings'> = {
  load: async ({ search, client }) => void client.prefetchQuery(findingsQuery(search)),
  Page: FindingsPage,
}

export const history: PageModule<'/history'> = {
  load: async ({ search, client }) => void client.prefetchQuery(historyQuery(search, {})),
  Page: HistoryPage,
}
