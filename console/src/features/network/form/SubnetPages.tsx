import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { datacenterCreate } from '#contract/datacenters.ts'
import type { Subnet } from '#contract/network/subnets.ts'
import { everyDatacenter } from '../../../api/every.ts'
import { allowed } from '../../../api/session.ts'
import { paths } from '../../../lib/paths.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Empty, ErrorState, SkeletonRows } from '../../../ui/feedback/States.tsx'
import { subnetOne } from '../network-queries.ts'
import { draftOf, sameDraft } from './subnet-form.ts'
import { SubnetForm } from './SubnetForm.tsx'

export function AddSubnet({ datacenter }: { datacenter: string | undefined }) {
  const { data, error, refetch } = useQuery(everyDatacenter)
  if (data === undefined)
    return error ? (
      <ErrorState boxed error={error} onRetry={() => void refetch()} />
    ) : (
      <SkeletonRows rows={8} />
    )
  if (data.items.length === 0)
    return (
      <Empty
        boxed
        title="No datacenters yet"
        text="Add a datacenter first. A subnet is routed to the servers of a datacenter."
        actions={
          allowed(datacenterCreate).ok && (
            <ActionButton label="Datacenters" kind="primary" to={paths.datacenters()} />
          )
        }
      />
    )
  return <SubnetForm subnet={null} datacenters={data.items} preset={datacenter} />
}

/**
 * Edits the subnet as it was when the page opened, so that a newer version doesn't discard typed
 * input. A notice reports the newer version.
 */
export function EditSubnet({ id }: { id: string }) {
  const { data: newest, error, refetch } = useQuery(subnetOne(id))
  const { data: datacenters } = useQuery(everyDatacenter)
  const [held, setHeld] = useState<Subnet | undefined>(newest)
  // If only the subnet's clusters have changed, the newer version silently replaces the edited one.
  const same =
    held !== undefined && newest !== undefined && sameDraft(draftOf(held), draftOf(newest))
  if (newest !== undefined && (held === undefined || (same && newest.version !== held.version)))
    setHeld(newest)
  const subnet = held ?? newest
  if (subnet === undefined)
    return error ? (
      <ErrorState boxed error={error} onRetry={() => void refetch()} />
    ) : (
      <SkeletonRows rows={8} />
    )
  const newer = newest !== undefined && newest.version > subnet.version ? newest : null
  return (
    <SubnetForm
      subnet={subnet}
      newer={newer}
      onNewest={setHeld}
      datacenters={datacenters?.items ?? []}
    />
  )
}
