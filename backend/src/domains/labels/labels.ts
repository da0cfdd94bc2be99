/** Which labels servers and clusters have. Their domains change them. */
import { clusterLabels, serverLabels } from '#contract/labels/known.ts'
import { serve } from '../../http/serve.ts'
import type { Domain, Platform } from '../../platform.ts'
import { knownLabels } from './store.ts'

export const labels = ({ db }: Pick<Platform, 'db'>): Domain => ({
  name: 'labels',
  routes(app) {
    const on = serve(app)
    on(serverLabels, () => knownLabels(db, 'server'))
    on(clusterLabels, () => knownLabels(db, 'cluster'))
  },
})
