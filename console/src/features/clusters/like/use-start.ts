import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { clusterGet } from '#contract/clusters/clusters.ts'
import { clusterTemplate, definitionOf, templateGet } from '#contract/templates/templates.ts'
import { query } from '../../../api/query.ts'
import type { Start } from './start.ts'

/** The id of a template, or of a cluster that the new one is like; of both the template counts. */
export interface Source {
  readonly template?: string | undefined
  readonly like?: string | undefined
}

/** Reads the template, or the cluster and what a template of it would hold. */
export function useStart({ template, like }: Source): {
  data: Start | undefined
  error: unknown
  refetch: () => unknown
} {
  const saved = useQuery({
    ...query(templateGet, { params: { id: template ?? '' } }),
    enabled: template !== undefined,
  })
  const isLike = template === undefined && like !== undefined
  const asked = { params: { id: like ?? '' } }
  const cluster = useQuery({ ...query(clusterGet, asked), enabled: isLike })
  const similar = useQuery({ ...query(clusterTemplate, asked), enabled: isLike })
  const data = useMemo((): Start | undefined => {
    if (saved.data)
      return {
        id: saved.data.id,
        of: 'template',
        name: saved.data.name,
        template: definitionOf(saved.data),
        leftOut: [],
        datacenterId: null,
      }
    if (!cluster.data || !similar.data) return undefined
    return {
      id: cluster.data.id,
      of: 'cluster',
      name: cluster.data.name,
      template: similar.data.template,
      leftOut: similar.data.left_out,
      datacenterId: cluster.data.datacenter.id,
    }
  }, [saved.data, cluster.data, similar.data])
  return {
    data,
    error: saved.error ?? cluster.error ?? similar.error,
    refetch: () => (isLike ? Promise.all([cluster.refetch(), similar.refetch()]) : saved.refetch()),
  }
}
